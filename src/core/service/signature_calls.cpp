#include "core/service/signature_calls.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/weight.hpp"
#include "core/minhash/minhash.hpp"

namespace simjoin {
namespace {

// The numbers of both functions: family, permutations and seed of the signatures, then bands and rows of the
// plan. The arrays: ends of the sets, tokens. The result: values or hashes.
class ServiceSigner final : public DeviceSigner {
 public:
  ServiceSigner(Connect connect, const SignatureHeader &header, size_t memory_limit)
      : connect_(std::move(connect)), header_(header), memory_limit_(memory_limit) {}

  void sign(const SetArrays<uint32_t> &sets, WorkerPool &pool, uint32_t *values) override {
    run(Function::sign, sets, {0, 0}, pool, values, header_.permutations);
  }
  void sign(const SetArrays<WeightedToken> &sets, WorkerPool &pool, uint32_t *values) override {
    run(Function::sign, sets, {0, 0}, pool, values, header_.permutations);
  }
  void hash_bands(const SetArrays<uint32_t> &sets, const BandPlan &plan, WorkerPool &pool,
                  uint64_t *hashes) override {
    run(Function::hash_bands, sets, plan, pool, hashes, plan.bands);
  }

  std::string device() const override { return device_; }
  size_t memory_peak() const override { return memory_peak_; }

 private:
  template <class Token, class Result>
  void run(Function function, const SetArrays<Token> &sets, const BandPlan &plan, WorkerPool &pool,
           Result *results, size_t results_of_set) {
    if (sets.ends.empty()) return;
    ServiceCall call(connect_, function, memory_limit_);
    call.number(static_cast<uint64_t>(header_.family)).number(header_.permutations).number(header_.seed);
    call.number(plan.bands).number(plan.rows);
    call.input(sets.ends).input(sets.tokens).output(results, sets.ends.size() * results_of_set);
    const CallResult result = call.run(pool.stop());
    device_ = result.device + " (service)";
    memory_peak_ = std::max<size_t>(memory_peak_, result.device_memory_peak);
  }

  const Connect connect_;
  const SignatureHeader header_;
  const size_t memory_limit_;
  std::string device_;
  size_t memory_peak_ = 0;
};

template <class Token>
SetArrays<Token> sets_of(const Call &call) {
  const SetArrays<Token> sets = {call.array<Token>(1), call.array<size_t>(0)};
  if (sets.ends.empty() || !std::is_sorted(sets.ends.begin(), sets.ends.end()) ||
      sets.ends.back() != sets.tokens.size())
    throw_senseless();
  return sets;
}

SignatureHeader header_of(const Call &call) {
  const auto [family, permutations, seed] =
      std::tie(call.sent.numbers[0], call.sent.numbers[1], call.sent.numbers[2]);
  if ((family != static_cast<uint64_t>(SignatureFamily::minhash) &&
       family != static_cast<uint64_t>(SignatureFamily::weighted)) ||
      permutations == 0 || permutations > max_permutations)
    throw_senseless();
  return {static_cast<SignatureFamily>(family), false, full_bits, static_cast<uint16_t>(permutations), seed};
}

// Runs work(signer) with a signer that an earlier call may have set up.
template <class Work>
CallResult with_signer(const Call &call, const SignatureHeader &header, Work &&work) {
  const std::string key = call.key("signer", 3);
  auto signer = std::static_pointer_cast<DeviceSigner>(call.host.take(key));
  if (!signer) signer = call.host.backend().signatures()->make_signer(header, call.sent.device_memory);
  work(*signer);
  CallResult result;
  result.device = signer->device();
  result.device_memory_peak = signer->memory_peak();
  call.host.keep(key, std::move(signer));
  return result;
}

bool has_bad_weight(const SetArrays<WeightedToken> &sets) {
  return std::any_of(sets.tokens.begin(), sets.tokens.end(),
                     [](const WeightedToken &token) { return !is_weight(token.weight); });
}

}  // namespace

std::unique_ptr<DeviceSigner> ServiceSignatures::make_signer(const SignatureHeader &header,
                                                             size_t memory_limit) {
  return std::make_unique<ServiceSigner>(connect_, header, memory_limit);
}

size_t ServiceSignatures::sort(std::span<const SortKey>, std::span<SortKey>, WorkerPool &, size_t) {
  throw Error(ErrorKind::internal, "the GPU service sorts nothing");
}

CallResult serve_sign(const Call &call) {
  const SignatureHeader header = header_of(call);
  const auto sign = [&](const auto &sets) {
    Buffer<uint32_t> values(call.memory, sets.ends.size() * header.permutations);
    const CallResult result =
        with_signer(call, header, [&](DeviceSigner &signer) { signer.sign(sets, call.pool, values.data()); });
    call.give_all(0, values);
    return result;
  };
  if (header.family == SignatureFamily::minhash) return sign(sets_of<uint32_t>(call));
  const auto sets = sets_of<WeightedToken>(call);
  if (has_bad_weight(sets)) throw_senseless();
  return sign(sets);
}

CallResult serve_hash_bands(const Call &call) {
  const SignatureHeader header = header_of(call);
  const uint64_t bands = call.sent.numbers[3], rows = call.sent.numbers[4];
  if (header.family != SignatureFamily::minhash || bands == 0 || bands > header.permutations || rows == 0 ||
      rows > header.permutations / bands)
    throw_senseless();
  const BandPlan plan = {static_cast<uint32_t>(bands), static_cast<uint32_t>(rows)};
  const auto sets = sets_of<uint32_t>(call);
  Buffer<uint64_t> hashes(call.memory, sets.ends.size() * plan.bands);
  const CallResult result = with_signer(
      call, header, [&](DeviceSigner &signer) { signer.hash_bands(sets, plan, call.pool, hashes.data()); });
  call.give_all(0, hashes);
  return result;
}

}  // namespace simjoin
