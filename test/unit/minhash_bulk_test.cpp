// Signatures of many sets are the same in rounds as one by one, also with a GPU.
#include "core/minhash/minhash_bulk.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "core/lsh/lsh_join.hpp"
#include "unit/cpu_devices.hpp"
#include "unit/drive.hpp"
#include "unit/fake_gpu.hpp"
#include "unit/random_sets.hpp"

namespace simjoin::test {
namespace {

using Signature = std::vector<uint8_t>;

// A device that computes on the CPU, or fails.
class FakeSigner final : public CpuSigner {
 public:
  FakeSigner(const SignatureHeader &header, int &work, const ErrorKind *fault)
      : CpuSigner(header), work_(work), fault_(fault) {}

  void sign(const SetArrays<uint32_t> &sets, WorkerPool &pool, uint32_t *values) override {
    begin();
    CpuSigner::sign(sets, pool, values);
  }
  void sign(const SetArrays<WeightedToken> &sets, WorkerPool &pool, uint32_t *values) override {
    begin();
    CpuSigner::sign(sets, pool, values);
  }
  std::string device() const override { return "Fake 100"; }

 private:
  void begin() {
    if (++work_ > 1 && fault_ != nullptr) fail_as(*fault_);
  }

  int &work_;
  const ErrorKind *fault_;
};

class FakeSignatureBackend final : public FakeGpu, public CpuSignatures {
 public:
  SignatureDevice *signatures() override { return this; }
  std::unique_ptr<DeviceSigner> make_signer(const SignatureHeader &header, size_t) override {
    return std::make_unique<FakeSigner>(header, work, fault);
  }
  // A failing sort fails after half of the keys.
  size_t sort(std::span<const SortKey> keys, std::span<SortKey> sorted, WorkerPool &pool,
              size_t limit) override {
    const size_t held = CpuSignatures::sort(keys, sorted, pool, limit);
    if (++sorts <= good_sorts) return held;
    std::fill(sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2), sorted.end(), SortKey{});
    fail_as(ErrorKind::device_failure);
  }

  const ErrorKind *fault = nullptr;  // of all work except the first
  int work = 0;
  int good_sorts = std::numeric_limits<int>::max();
  int sorts = 0;
};

class BulkSignerTest : public testing::Test {
 protected:
  void SetUp() override {
    std::mt19937_64 random(1);
    for (int i = 0; i < 300; ++i) {
      std::vector<uint32_t> set(random() % 40);
      std::vector<WeightedToken> weighted(random() % 40);
      for (uint32_t &hash : set) hash = static_cast<uint32_t>(random());
      for (WeightedToken &token : weighted) token = {random() % 50, static_cast<double>(random() % 4)};
      sets_.push_back(set);
      weighted_.push_back(weighted);
    }
  }

  static BulkSpec spec_of(SignatureFamily family, Device device) {
    BulkSpec spec;
    spec.family = family;
    spec.permutations = 50;
    spec.seed = 3;
    spec.threads = 2;
    spec.device = device;
    return spec;
  }

  // Signs all sets in rounds. Each round is begun while the one before is taken.
  std::vector<Signature> sign(const BulkSpec &spec, size_t sets_per_round, int *notices = nullptr) const {
    BulkSigner signer(spec);
    std::vector<Signature> signatures;
    const auto take = [&] {
      while (!signer.step(std::chrono::milliseconds(5))) {
      }
      if (signer.take_notice() && notices != nullptr) ++*notices;
      for (size_t i = 0; i < signer.sets(); ++i) {
        signatures.emplace_back(signer.signature_bytes(i));
        signer.write(i, signatures.back().data());
      }
    };
    bool begun = false;
    for (size_t i = 0; i < sets_.size(); ++i) {
      if (spec.family == SignatureFamily::minhash)
        signer.add(sets_[i]);
      else
        signer.add(weighted_[i]);
      if (signer.added() < sets_per_round && i + 1 < sets_.size()) continue;
      if (begun) take();
      signer.begin();
      begun = true;
    }
    take();
    return signatures;
  }

  std::vector<std::vector<uint32_t>> sets_;
  std::vector<std::vector<WeightedToken>> weighted_;
  FakeSignatureBackend backend_;
};

TEST_F(BulkSignerTest, RoundsGiveTheSignatureOfEachSet) {
  const MinHasher hasher(50, 3);
  std::vector<Signature> expected, expected_weighted;
  for (size_t i = 0; i < sets_.size(); ++i) {
    std::vector<uint32_t> values(50);
    hasher.start(values.data());
    hasher.add(sets_[i].data(), sets_[i].size(), values.data());
    SignatureHeader header{SignatureFamily::minhash, sets_[i].empty(), full_bits, 50, 3};
    write_signature(header, values.data(), expected.emplace_back(header.bytes()).data());

    std::vector<WeightedToken> scratch;
    const auto tokens = in_order(weighted_[i], scratch, StopFlag());
    WeightedSamples samples;
    samples.start(50);
    add_weighted(tokens.data(), tokens.size(), 3, samples);
    samples.write_values(values.data());
    header = {SignatureFamily::weighted, tokens.empty(), full_bits, 50, 3};
    write_signature(header, values.data(), expected_weighted.emplace_back(header.bytes()).data());
  }
  for (const size_t sets_per_round : {1, 7, 1000}) {
    EXPECT_EQ(sign(spec_of(SignatureFamily::minhash, Device::cpu), sets_per_round), expected);
    EXPECT_EQ(sign(spec_of(SignatureFamily::weighted, Device::cpu), sets_per_round), expected_weighted);
  }
}

TEST_F(BulkSignerTest, AGpuThatFailsIsReplaced) {
  for (const SignatureFamily family : {SignatureFamily::minhash, SignatureFamily::weighted}) {
    const std::vector<Signature> expected = sign(spec_of(family, Device::cpu), 50);
    for (const ErrorKind kind : {ErrorKind::device_failure, ErrorKind::limit_exceeded}) {
      backend_.repair();
      backend_.fault = nullptr;
      backend_.work = 0;
      EXPECT_EQ(sign(spec_of(family, Device::gpu), 50), expected);
      EXPECT_EQ(backend_.work, 6);

      backend_.fault = &kind;
      backend_.work = 0;
      EXPECT_THROW(sign(spec_of(family, Device::gpu), 50), Error);
      backend_.repair();
      BulkSpec spec = spec_of(family, Device::automatic);
      spec.threads = 1;
      spec.permutations = 2'000;
      const auto on_cpu = [&] {
        BulkSpec other = spec;
        other.device = Device::cpu;
        return sign(other, 50);
      }();
      backend_.work = 0;
      int notices = 0;
      EXPECT_EQ(sign(spec, 50, &notices), on_cpu);
      EXPECT_EQ(backend_.work, 2);
      EXPECT_EQ(notices, 1);
    }
  }
}

// The time that the CPU has spent counts, so that the setup of a GPU pays at some point.
TEST_F(BulkSignerTest, AGpuIsSetUpOnceThatPays) {
  backend_.is_started = false;
  BulkSpec spec = spec_of(SignatureFamily::weighted, Device::automatic);
  spec.threads = 1;
  spec.permutations = 5'000;
  sign(spec, 300);
  EXPECT_EQ(backend_.work, 0);
  spec.permutations = 20'000;
  sign(spec, 50);
  EXPECT_GT(backend_.work, 0);
  EXPECT_LT(backend_.work, 6);
}

class JoinByBandsBesideAGpu : public testing::Test {
 protected:
  void SetUp() override {
    spec_.threshold = 0.5;
    spec_.permutations = 32;
    spec_.plan = {8, 4};
    spec_.threads = 1;
  }

  struct Result {
    std::vector<Pair> pairs;
    JoinStats stats;
    int notices = 0;
  };
  Result run(const Input<int32_t> &input, Device device) {
    backend_.repair();
    backend_.work = backend_.sorts = 0;
    spec_.self_join = input.self_join;
    spec_.device = device;
    const auto engine = make_lsh_join(spec_);
    feed(*engine, input);
    Result result;
    result.pairs = pull(*engine);
    result.stats = engine->stats();
    result.notices = engine->take_notice() ? 1 : 0;
    return result;
  }

  LshSpec spec_;
  FakeSignatureBackend backend_;
};

TEST_F(JoinByBandsBesideAGpu, HasTheSamePairs) {
  const Input<int32_t> input = two_sided_input(all_shapes[3], 71);
  for (const bool verify : {true, false}) {
    spec_.verify = verify;
    backend_.fault = nullptr;
    const Result expected = run(input, Device::cpu);
    ASSERT_FALSE(expected.pairs.empty());
    EXPECT_EQ(expected.stats.device, "cpu");
    EXPECT_EQ(expected.stats.gpu_refused, "");
    EXPECT_EQ(expected.stats.device_memory_peak, 0u);
    const Result found = run(input, Device::gpu);
    EXPECT_EQ(found.pairs, expected.pairs);
    EXPECT_EQ(backend_.work, 2);
    EXPECT_EQ(found.stats.device, "Fake 100");
    EXPECT_EQ(found.stats.gpu_refused, "");
    EXPECT_EQ(found.stats.device_memory_peak, 4096u);
    constexpr ErrorKind kind = ErrorKind::limit_exceeded;
    backend_.fault = &kind;
    EXPECT_THROW(run(input, Device::gpu), Error);
  }
}

// If the CPU does the work, the figures say why.
TEST_F(JoinByBandsBesideAGpu, SaysWhyTheGpuIsNotUsed) {
  const auto refused = [&](const Input<int32_t> &input) {
    const Result result = run(input, Device::automatic);
    EXPECT_EQ(result.stats.device, "cpu");
    EXPECT_EQ(result.stats.device_memory_peak, 0u);
    return result.stats.gpu_refused;
  };
  Input<int32_t> input;
  input.self_join = true;
  input.left = {{1, 2}, {1, 2}};
  EXPECT_EQ(refused(input), "the CPU is estimated to be faster");
  spec_.permutations = 20'000;
  input.left.assign(200, {1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(run(input, Device::automatic).stats.device, "Fake 100");
  backend_.present = false;
  EXPECT_EQ(refused(input), "no driver");
  backend_.present = true;
  constexpr ErrorKind kind = ErrorKind::limit_exceeded;
  backend_.fault = &kind;
  input.self_join = false;  // each side is a piece of work
  input.right = input.left;
  EXPECT_EQ(refused(input), "injected");
}

// A sort that fails in the middle changes nothing: the CPU sorts the original keys.
TEST_F(JoinByBandsBesideAGpu, ASortThatFailsIsRepeatedOnTheCpu) {
  RandomSets random(72);
  Input<int32_t> input;
  input.self_join = true;
  for (int i = 0; i < 55'000; ++i)
    input.left.push_back(i % 5 == 1 ? input.left.back() : random.set(4, 1'000'000));
  const std::vector<Pair> expected = run(input, Device::cpu).pairs;
  ASSERT_GT(expected.size(), 10'000u);
  for (const int good_sorts : {0, 3, 8}) {
    backend_.good_sorts = good_sorts;
    const Result result = run(input, Device::automatic);
    EXPECT_EQ(result.pairs, expected);
    EXPECT_EQ(backend_.sorts, std::min(good_sorts + 1, 8));
    EXPECT_EQ(result.notices, good_sorts < 8 ? 1 : 0);
    EXPECT_EQ(result.stats.device, "Fake 100");  // which made the signatures
    EXPECT_EQ(result.stats.device_memory_peak, good_sorts > 0 ? 8192u : 4096u);
  }
}

}  // namespace
}  // namespace simjoin::test
