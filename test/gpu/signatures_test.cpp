// Signatures made on the device have the same bits as the CPU's, for any size.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>
#include <random>
#include <thread>

#include "core/base/error.hpp"
#include "core/device/gpu.hpp"
#include "core/lsh/lsh_join.hpp"
#include "core/minhash/minhash.hpp"
#include "core/minhash/weighted_minhash.hpp"
#include "cuda/engine/gpu_engine.hpp"
#include "cuda/minhash/signature_device.hpp"
#include "cuda/minhash/signer.hpp"
#include "gpu/gpu_drive.hpp"

namespace simjoin::test {
namespace {

using Values = std::vector<uint32_t>;

template <class Token>
struct Sets {
  std::vector<Token> tokens;
  std::vector<size_t> ends;

  void append(const std::vector<Token> &set) {
    tokens.insert(tokens.end(), set.begin(), set.end());
    ends.push_back(tokens.size());
  }
  SetArrays<Token> arrays() const { return {tokens, ends}; }
  std::span<const Token> of(size_t set) const {
    return std::span(tokens).subspan(arrays().begin(set), ends[set] - arrays().begin(set));
  }
};

// Sizes around the borders of warps, blocks of lanes and pieces.
const std::vector<size_t> sizes = {0,   1,   2,   31,  32,   33,   63,   64,   65,   100, 300, 500,
                                   511, 512, 513, 700, 1023, 1024, 1025, 1026, 5000, 0,   1,   40};

Sets<uint32_t> hashed_sets(uint64_t seed, size_t repeat) {
  std::mt19937_64 random(seed);
  Sets<uint32_t> sets;
  for (size_t i = 0; i < repeat; ++i)
    for (const size_t size : sizes) {
      std::vector<uint32_t> set(i % 3 == 2 ? size % 40 : size);
      for (uint32_t &hash : set) hash = static_cast<uint32_t>(random());
      sets.append(set);
    }
  return sets;
}

// Returns sets of tokens below `universe`, some repeated, with weights of all kinds.
Sets<WeightedToken> weighted_sets(uint64_t seed, uint64_t universe, size_t repeat) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Sets<WeightedToken> sets;
  for (size_t i = 0; i < repeat; ++i)
    for (const size_t size : sizes) {
      std::vector<WeightedToken> set(i % 3 == 2 ? size % 40 : size);
      for (WeightedToken &token : set) {
        token = {random() % universe * 0x9E3779B97F4A7C15u, std::exp(4 * normal(random))};
        switch (random() % 8) {
          case 0:
            token.weight = 0;
            break;
          case 1:
            token.weight = 1;
            break;
          case 2:
            token.weight = std::numeric_limits<float>::denorm_min() * static_cast<double>(1 + random() % 9);
            break;
          case 3:
            token.weight = std::numeric_limits<float>::max();
            break;
        }
        if (random() % 8 > 0) token.weight = static_cast<float>(token.weight);
      }
      // The device's mark of a free place is an identity, too.
      if (size == 33) set[5].identity = 0x9AE16A3B2F90404Fu;
      // Half of the sets are like most sets: in order, each token once.
      if (i % 2 == 0) {
        std::sort(set.begin(), set.end());
        set.resize(combine_equal(set.data(), set.size()));
      }
      sets.append(set);
    }
  return sets;
}

SignatureHeader header_of(SignatureFamily family, uint32_t permutations, uint64_t seed) {
  return {family, false, full_bits, static_cast<uint16_t>(permutations), seed};
}

Values expected_values(const Sets<uint32_t> &sets, const MinHasher &hasher) {
  Values values(sets.ends.size() * hasher.permutations());
  for (size_t set = 0; set < sets.ends.size(); ++set) {
    hasher.start(values.data() + set * hasher.permutations());
    hasher.add(sets.of(set).data(), sets.of(set).size(), values.data() + set * hasher.permutations());
  }
  return values;
}

Values expected_values(const Sets<WeightedToken> &sets, uint32_t samples, uint64_t seed) {
  Values values(sets.ends.size() * samples);
  std::vector<WeightedToken> scratch;
  WeightedSamples state;
  const StopFlag stop;
  for (size_t set = 0; set < sets.ends.size(); ++set) {
    const auto tokens = in_order(sets.of(set), scratch, stop);
    state.start(samples);
    add_weighted(tokens.data(), tokens.size(), seed, state);
    state.write_values(values.data() + set * samples);
  }
  return values;
}

// Describes the first difference of two arrays of values. Empty if they are equal.
std::string difference(const Values &expected, const Values &values, size_t permutations) {
  size_t wrong = 0, first = 0;
  for (size_t i = 0; i < expected.size(); ++i)
    if (values[i] != expected[i] && wrong++ == 0) first = i;
  if (wrong == 0) return {};
  return std::to_string(wrong) + " of " + std::to_string(expected.size()) + " values differ, first value " +
         std::to_string(first % permutations) + " of set " + std::to_string(first / permutations);
}

class GpuSignatures : public OnDevice<testing::Test> {
 protected:
  void TearDown() override { fail_device_call(0, false); }

  StopFlag stop_;
  WorkerPool pool_{3, stop_};
};

TEST_F(GpuSignatures, HashedSetsHaveTheValuesOfTheCpu) {
  std::mt19937_64 random(1);
  const Sets<uint32_t> sets = hashed_sets(random(), 6);
  for (const uint32_t permutations : {1, 2, 31, 32, 33, 64, 65, 100, 128, 129, 256, 333}) {
    const uint64_t seed = random();
    const Values expected = expected_values(sets, MinHasher(permutations, seed));
    for (const size_t round_tokens : {size_t{100}, size_t{3000}, size_t{1} << 22}) {
      gpu::Signer signer(header_of(SignatureFamily::minhash, permutations, seed), 0,
                         {round_tokens, size_t{1} << 20});
      for (int again = 0; again < 2; ++again) {
        Values values(expected.size(), 0xABCDEF01);
        signer.sign(sets.arrays(), pool_, values.data());
        ASSERT_EQ(difference(expected, values, permutations), "") << permutations << " permutations";
      }
    }
  }
}

// An object may be used on another thread than the one that made it, and destroyed on a third.
TEST_F(GpuSignatures, ThreadsMayChange) {
  const Sets<uint32_t> sets = hashed_sets(4, 2);
  const Values expected = expected_values(sets, MinHasher(64, 5));
  Values values(expected.size());
  auto signer = on_thread(
      [] { return std::make_unique<gpu::Signer>(header_of(SignatureFamily::minhash, 64, 5), 0); }, true);
  on_thread([&] { signer->sign(sets.arrays(), pool_, values.data()); });
  EXPECT_EQ(difference(expected, values, 64), "");
  on_thread([&] { signer.reset(); });
}

// Residues next to the modulus, which the kernel has to correct.
TEST_F(GpuSignatures, ResiduesNextToTheModulusAreExact) {
  std::mt19937_64 random(2);
  for (const size_t count : {3, 50, 200}) {
    const Sets<uint32_t> sets = hashed_sets(random(), 1);
    std::vector<Permutation> permutations(count);
    for (size_t p = 0; p < count; ++p) {
      const uint64_t a = 1 + random() % (mersenne61 - 1);
      const std::vector<uint64_t> residues = {mersenne61 - (uint64_t{1} << 32) + random() % 3,
                                              mersenne61 - 1 - random() % 3, random() % 3};
      const uint64_t product = residue({a, 0}, sets.tokens[random() % sets.tokens.size()]);
      permutations[p] = {a, (residues[p % residues.size()] + mersenne61 - product) % mersenne61};
    }
    const Values expected = expected_values(sets, MinHasher(permutations));
    gpu::Signer signer(header_of(SignatureFamily::minhash, static_cast<uint32_t>(count), 1), permutations, 0);
    Values values(expected.size());
    signer.sign(sets.arrays(), pool_, values.data());
    ASSERT_EQ(difference(expected, values, count), "");
  }
}

TEST_F(GpuSignatures, WeightedSetsHaveTheValuesOfTheCpu) {
  std::mt19937_64 random(3);
  for (const uint32_t samples : {1, 2, 31, 33, 64, 65, 100, 128, 130, 300}) {
    const Sets<WeightedToken> sets = weighted_sets(random(), samples % 2 == 0 ? 3000 : 1'000'000, 3);
    const uint64_t seed = random();
    const Values expected = expected_values(sets, samples, seed);
    for (const size_t round_tokens : {size_t{700}, size_t{1} << 22}) {
      gpu::Signer signer(header_of(SignatureFamily::weighted, samples, seed), 0,
                         {round_tokens, size_t{1} << 20});
      for (int again = 0; again < 2; ++again) {
        Values values(expected.size(), 0xABCDEF01);
        signer.sign(sets.arrays(), pool_, values.data());
        ASSERT_EQ(difference(expected, values, samples), "") << samples << " samples";
      }
    }
  }
}

// Tokens that do not fit in the table of random numbers, or are too many for it to pay.
TEST_F(GpuSignatures, TokensOutsideTheTableGiveTheSame) {
  const Sets<WeightedToken> sets = weighted_sets(4, 1'000'000, 9);
  const Values expected = expected_values(sets, 128, 5);
  for (const size_t megabytes : {16, 48}) {
    gpu::Signer signer(header_of(SignatureFamily::weighted, 128, 5), megabytes << 20,
                       {2000, size_t{1} << 16});
    Values values(expected.size());
    signer.sign(sets.arrays(), pool_, values.data());
    ASSERT_EQ(difference(expected, values, 128), "");
    EXPECT_GT(signer.cached_tokens(), 0u);
    EXPECT_LT(signer.cached_tokens(), sets.tokens.size() / 2);
  }
}

// A set of more tokens than the table holds within the memory limit. The kernel draws their numbers.
TEST_F(GpuSignatures, LittleMemoryIsEnoughWithoutATable) {
  std::mt19937_64 random(10);
  Sets<WeightedToken> sets;
  for (const size_t size : {3, 600'000, 40}) {
    std::vector<WeightedToken> set(size);
    for (size_t i = 0; i < size; ++i) set[i] = {i, 1.0 + static_cast<double>(random() % 1000)};
    sets.append(set);
  }
  const Values expected = expected_values(sets, 64, 5);
  gpu::Signer signer(header_of(SignatureFamily::weighted, 64, 5), size_t{32} << 20);
  for (int again = 0; again < 2; ++again) {
    Values values(expected.size());
    signer.sign(sets.arrays(), pool_, values.data());
    ASSERT_EQ(difference(expected, values, 64), "");
  }
  EXPECT_LT(signer.cached_tokens(), 600'000u);
  EXPECT_LE(signer.memory_peak(), size_t{32} << 20);
}

TEST_F(GpuSignatures, BandsHaveTheHashesOfTheCpu) {
  const Sets<uint32_t> sets = hashed_sets(6, 4);
  const SignatureHeader header = header_of(SignatureFamily::minhash, 128, 9);
  const Values values = expected_values(sets, MinHasher(128, 9));
  gpu::Signer signer(header, 0, {3000, size_t{1} << 20});
  for (const BandPlan plan : {BandPlan{9, 13}, BandPlan{1, 1}, BandPlan{128, 1}, BandPlan{1, 128}}) {
    std::vector<uint64_t> hashes(sets.ends.size() * plan.bands);
    signer.hash_bands(sets.arrays(), plan, pool_, hashes.data());
    for (size_t set = 0; set < sets.ends.size(); ++set)
      for (uint32_t band = 0; band < plan.bands; ++band)
        ASSERT_EQ(hashes[set * plan.bands + band],
                  band_hash(header, band, values.data() + set * 128 + band * plan.rows, plan.rows));
  }
}

std::vector<SortKey> random_keys(size_t count) {
  std::mt19937_64 random(7);
  std::vector<SortKey> keys(count);
  for (size_t i = 0; i < count; ++i) {
    keys[i].lo = i;
    keys[i].hi = random() % 3 == 0 ? random() % 100 : random();
  }
  return keys;
}

bool same_keys(const std::vector<SortKey> &a, const std::vector<SortKey> &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const SortKey &x, const SortKey &y) { return x.hi == y.hi && x.lo == y.lo; });
}

// The largest size takes more than two of the pieces in which keys are copied.
TEST_F(GpuSignatures, SortsKeysByTheirHashes) {
  for (const size_t count : {0, 1, 2, 1000, 300'000, 1'700'001}) {
    const std::vector<SortKey> keys = random_keys(count);
    std::vector<SortKey> expected = keys, sorted(count);
    std::stable_sort(expected.begin(), expected.end(),
                     [](const SortKey &a, const SortKey &b) { return a.hi < b.hi; });
    const size_t held = gpu::CudaSignatures().sort(keys, sorted, pool_, 0);
    EXPECT_GE(held, count * sizeof(SortKey));
    ASSERT_TRUE(same_keys(sorted, expected)) << count << " keys";
    ASSERT_TRUE(same_keys(keys, random_keys(count)));
  }
}

TEST_F(GpuSignatures, EveryCallOfASortCanFail) {
  const std::vector<SortKey> keys = random_keys(1'700'001);
  std::vector<SortKey> sorted(keys.size());
  fail_each_call(15, [&] { gpu::CudaSignatures().sort(keys, sorted, pool_, 0); });
  stop_.set();
  EXPECT_THROW(gpu::CudaSignatures().sort(keys, sorted, pool_, 0), Cancelled);
}

// A join by bands with enough rows for the device to sort their keys.
TEST_F(GpuSignatures, JoinsByBandsAreThoseOfTheCpu) {
  set_gpu_backend(&cuda_backend());
  std::mt19937_64 random(9);
  Input<int32_t> input;
  input.self_join = true;
  for (int i = 0; i < 60'000; ++i) {
    IntSet set(3 + random() % 20);
    for (int32_t &token : set) token = static_cast<int32_t>(random() % 2000);
    if (i % 4 == 1) set = input.left.back();
    if (i % 4 == 2) set.insert(set.end(), input.left.back().begin(), input.left.back().end());
    input.left.push_back(set);
  }
  for (const bool verify : {true, false}) {
    LshSpec spec;
    spec.self_join = true;
    spec.threshold = 0.5;
    spec.plan = {20, 6};
    spec.verify = verify;
    const auto run = [&](Device device) {
      spec.device = device;
      const auto engine = make_lsh_join(spec);
      feed(*engine, input);
      return pull(*engine);
    };
    const std::vector<Pair> expected = run(Device::cpu);
    EXPECT_GT(expected.size(), 10'000u);
    EXPECT_EQ(run(Device::gpu), expected);
    fail_device_call(20, false);
    EXPECT_THROW(run(Device::gpu), Error);
    fail_device_call(0, false);
    EXPECT_EQ(run(Device::gpu), expected);
  }
  set_gpu_backend(nullptr);
}

// Each device call fails in turn, with the right kind of error.
TEST_F(GpuSignatures, EveryCallCanFail) {
  const Sets<WeightedToken> sets = weighted_sets(8, 3000, 2);
  Values expected;
  const auto run = [&] {
    gpu::Signer signer(header_of(SignatureFamily::weighted, 100, 1), 0, {3000, size_t{1} << 20});
    Values values(sets.ends.size() * 100);
    signer.sign(sets.arrays(), pool_, values.data());
    if (expected.empty()) expected = values;
    EXPECT_EQ(values, expected);
  };
  run();
  fail_each_call(30, run);
  run();
}

// A signer stopped at any moment, in its longest kernels, ends soon.
TEST_F(GpuSignatures, StopsSoon) {
  Sets<WeightedToken> weighted;
  Sets<uint32_t> hashed;
  std::vector<WeightedToken> tokens(300'000);
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = {i, 1.5};
  weighted.append(tokens);
  std::vector<uint32_t> hashes(4'000'000);
  std::iota(hashes.begin(), hashes.end(), 0u);
  for (int i = 0; i < 4; ++i) hashed.append(hashes);
  Values values(size_t{4} * max_permutations);
  for (const bool weights : {true, false}) {
    for (const int wait : {0, 5, 50, 150}) {
      StopFlag stop;
      WorkerPool pool(2, stop);
      auto signer = std::make_unique<gpu::Signer>(
          header_of(weights ? SignatureFamily::weighted : SignatureFamily::minhash, max_permutations, 1), 0);
      std::chrono::steady_clock::time_point stopped;
      std::thread stopper([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(wait));
        stopped = std::chrono::steady_clock::now();
        stop.set();
      });
      try {
        if (weights)
          signer->sign(weighted.arrays(), pool, values.data());
        else
          signer->sign(hashed.arrays(), pool, values.data());
      } catch (const Cancelled &) {
      }
      signer.reset();
      const auto end = std::chrono::steady_clock::now();
      stopper.join();
      EXPECT_LT(end - stopped, std::chrono::milliseconds(100)) << weights << " after " << wait << " ms";
    }
  }
}

}  // namespace
}  // namespace simjoin::test
