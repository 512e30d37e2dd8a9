#include "core/minhash/minhash_bulk.hpp"

#include <algorithm>
#include <utility>

#include "core/base/check.hpp"
#include "core/base/costs.hpp"
#include "core/device/gpu_attempt.hpp"

namespace simjoin {
namespace {

// Evaluations of hash functions per round: about 70 ms of one core. A sample of weighted MinHash counts as
// several.
constexpr size_t evaluations_per_round = size_t{1} << 28;
// The bytes of tokens and signatures of a round, which are bounded as well.
constexpr size_t bytes_per_round = size_t{32} << 20;
constexpr size_t sets_per_piece = 32;

}  // namespace

SigningCosts signing_costs(SignatureFamily family, size_t tokens, size_t values, uint32_t permutations,
                           int threads) {
  const bool weighted = family == SignatureFamily::weighted;
  const double evaluations = static_cast<double>(tokens) * permutations;
  const double bytes = static_cast<double>(tokens) * (weighted ? sizeof(WeightedToken) : sizeof(uint32_t)) +
                       static_cast<double>(values) * sizeof(uint32_t);
  const int workers = thread_count(threads);
  return {
      evaluations * (weighted ? costs::minhash::cpu_sample : costs::minhash::cpu_evaluation) / workers / 1e6,
      costs::minhash::gpu_round_ms + bytes * costs::gpu_byte / 1e6};
}

BulkSigner::BulkSigner(const BulkSpec &spec)
    : spec_(spec),
      header_{spec.family, false, full_bits, static_cast<uint16_t>(spec.permutations), spec.seed},
      hasher_(spec.permutations, spec.seed),
      attempt_(spec.device) {}

void BulkSigner::add(std::span<const uint32_t> hashes) {
  adding_.hashes.insert(adding_.hashes.end(), hashes.begin(), hashes.end());
  adding_.ends.push_back(adding_.hashes.size());
  adding_.headers.push_back(header_);
  adding_.headers.back().empty = hashes.empty();
}

void BulkSigner::add(std::span<const WeightedToken> tokens) {
  adding_.weighted.insert(adding_.weighted.end(), tokens.begin(), tokens.end());
  adding_.ends.push_back(adding_.weighted.size());
  adding_.headers.push_back(header_);
  adding_.headers.back().empty =
      std::none_of(tokens.begin(), tokens.end(), [](const WeightedToken &token) { return token.weight > 0; });
}

bool BulkSigner::full() const {
  const size_t values = adding_.headers.size() * header_.permutations;
  const size_t bytes = adding_.hashes.size() * sizeof(uint32_t) +
                       adding_.weighted.size() * sizeof(WeightedToken) + values * sizeof(uint32_t);
  const size_t evaluations =
      (adding_.hashes.size() + adding_.weighted.size() * evaluations_per_sample) * header_.permutations;
  return bytes >= bytes_per_round || evaluations >= evaluations_per_round;
}

void BulkSigner::Round::clear() {
  hashes.clear();
  weighted.clear();
  ends.clear();
  headers.clear();
}

void BulkSigner::begin() {
  SIMJOIN_CHECK(!task_);  // the round before is done
  signing_.clear();
  std::swap(adding_, signing_);
  values_.resize(signing_.headers.size() * header_.permutations);
  choose_device();
  task_ = std::make_unique<BackgroundTask>(spec_.threads, [this](WorkerPool &pool) { run(pool); });
}

// Chooses the device of the round.
void BulkSigner::choose_device() {
  const SigningCosts costs = signing_costs(spec_.family, signing_.hashes.size() + signing_.weighted.size(),
                                           values_.size(), spec_.permutations, spec_.threads);
  attempt_.choose(costs.cpu_ms, costs.gpu_ms);
}

bool BulkSigner::step(std::chrono::microseconds budget) {
  if (!task_) return true;
  if (!task_->wait(budget)) return false;
  task_.reset();
  return true;
}

void BulkSigner::run(WorkerPool &pool) {
  attempt_.run([&](GpuBackend &gpu) { sign_on_gpu(gpu, pool); },
               [&] {
                 signer_.reset();
                 sign_on_cpu(pool);
               });
}

void BulkSigner::sign_on_gpu(GpuBackend &gpu, WorkerPool &pool) {
  if (!signer_) signer_ = gpu.signatures()->make_signer(header_, spec_.gpu_memory_limit);
  if (header_.family == SignatureFamily::minhash)
    signer_->sign(SetArrays<uint32_t>{signing_.hashes, signing_.ends}, pool, values_.data());
  else
    signer_->sign(SetArrays<WeightedToken>{signing_.weighted, signing_.ends}, pool, values_.data());
}

void BulkSigner::sign_on_cpu(WorkerPool &pool) {
  pool.parallel((signing_.headers.size() + sets_per_piece - 1) / sets_per_piece, [&](int, size_t piece) {
    WeightedMinHasher weighted(header_.permutations, header_.seed);
    const size_t end = std::min(signing_.headers.size(), (piece + 1) * sets_per_piece);
    for (size_t set = piece * sets_per_piece; set < end; ++set) sign(set, pool.stop(), weighted);
  });
}

void BulkSigner::sign(size_t set, const StopFlag &stop, WeightedMinHasher &weighted) {
  const size_t begin = set == 0 ? 0 : signing_.ends[set - 1], end = signing_.ends[set];
  uint32_t *values = values_.data() + set * header_.permutations;
  if (header_.family == SignatureFamily::minhash)
    hasher_.sign(std::span(signing_.hashes).subspan(begin, end - begin), stop, values);
  else
    weighted.sign(std::span(signing_.weighted).subspan(begin, end - begin), stop, values);
}

void BulkSigner::write(size_t set, uint8_t *signature) const {
  SIMJOIN_CHECK(!task_ && set < sets());
  write_signature(signing_.headers[set], values_.data() + set * header_.permutations, signature);
}

}  // namespace simjoin
