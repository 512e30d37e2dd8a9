#include "core/minhash_bulk.hpp"

#include <algorithm>

namespace simjoin {
namespace {

// Hash evaluations between two looks at the stop flag, and of a round: about 2 ms and 0.2 s of one core.
// A sample of weighted MinHash counts as so many.
constexpr size_t evaluations_a_look = size_t{1} << 21;
constexpr size_t evaluations_a_round = size_t{1} << 28;
constexpr size_t evaluations_a_sample = 16;
// What waits for a round is bounded as well: bytes of tokens and signatures.
constexpr size_t bytes_a_round = size_t{64} << 20;
constexpr size_t sets_a_piece = 32;

// Sorts the tokens, unless the stop flag is set meanwhile.
void sort_tokens(std::vector<WeightedToken> &tokens, const StopFlag &stop) {
  std::sort(tokens.begin(), tokens.end(), [&](const WeightedToken &a, const WeightedToken &b) {
    stop.check();
    return a < b;
  });
}

}  // namespace

BulkSigner::BulkSigner(SignatureFamily family, uint32_t permutations, uint64_t seed, int threads)
    : header_{family, false, full_bits, static_cast<uint16_t>(permutations), seed},
      hasher_(permutations, seed),
      threads_(threads) {}

void BulkSigner::add(std::span<const uint32_t> hashes) {
  hashes_.insert(hashes_.end(), hashes.begin(), hashes.end());
  ends_.push_back(hashes_.size());
  headers_.push_back(header_);
  headers_.back().empty = hashes.empty();
}

void BulkSigner::add(std::span<const WeightedToken> tokens) {
  weighted_.insert(weighted_.end(), tokens.begin(), tokens.end());
  ends_.push_back(weighted_.size());
  headers_.push_back(header_);
}

bool BulkSigner::full() const {
  const size_t values = headers_.size() * header_.permutations;
  const size_t bytes = hashes_.size() * sizeof(uint32_t) + weighted_.size() * sizeof(WeightedToken) +
                       values * sizeof(uint32_t);
  const size_t evaluations =
      (hashes_.size() + weighted_.size() * evaluations_a_sample) * header_.permutations;
  return bytes >= bytes_a_round || evaluations >= evaluations_a_round;
}

bool BulkSigner::step(std::chrono::microseconds budget) {
  if (!task_) {
    values_.resize(headers_.size() * header_.permutations);
    task_ = std::make_unique<BackgroundTask>(threads_, [this](WorkerPool &pool) { run(pool); });
  }
  if (!task_->wait(budget)) return false;
  task_.reset();
  return true;
}

void BulkSigner::run(WorkerPool &pool) {
  pool.parallel((headers_.size() + sets_a_piece - 1) / sets_a_piece, [&](int, size_t piece) {
    std::vector<WeightedToken> tokens;
    WeightedSamples samples;
    const size_t end = std::min(headers_.size(), (piece + 1) * sets_a_piece);
    for (size_t set = piece * sets_a_piece; set < end; ++set) sign(set, pool.stop(), tokens, samples);
  });
}

void BulkSigner::sign(size_t set, const StopFlag &stop, std::vector<WeightedToken> &tokens,
                      WeightedSamples &samples) {
  const size_t begin = set == 0 ? 0 : ends_[set - 1], end = ends_[set];
  uint32_t *values = values_.data() + set * header_.permutations;
  if (header_.family == SignatureFamily::minhash) {
    const size_t at_once = std::max<size_t>(1, evaluations_a_look / header_.permutations);
    hasher_.start(values);
    for (size_t i = begin; i < end; i += at_once) {
      stop.check();
      hasher_.add(hashes_.data() + i, std::min(at_once, end - i), values);
    }
    return;
  }
  tokens.assign(weighted_.begin() + static_cast<ptrdiff_t>(begin),
                weighted_.begin() + static_cast<ptrdiff_t>(end));
  sort_tokens(tokens, stop);
  tokens.resize(combine_equal(tokens.data(), tokens.size()));
  headers_[set].empty = tokens.empty();
  samples.start(header_.permutations);
  const size_t at_once =
      std::max<size_t>(1, evaluations_a_look / evaluations_a_sample / header_.permutations);
  for (size_t i = 0; i < tokens.size(); i += at_once) {
    stop.check();
    add_weighted(tokens.data() + i, std::min(at_once, tokens.size() - i), header_.seed, samples);
  }
  samples.write_values(values);
}

void BulkSigner::write(size_t set, uint8_t *signature) const {
  write_signature(headers_[set], values_.data() + set * header_.permutations, signature);
}

void BulkSigner::clear() {
  hashes_.clear();
  weighted_.clear();
  ends_.clear();
  headers_.clear();
}

}  // namespace simjoin
