// Signatures of many sets at a time, on all threads.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/background_task.hpp"
#include "core/minhash.hpp"
#include "core/minhash_signature.hpp"
#include "core/weighted_minhash.hpp"

namespace simjoin {

// Makes the signatures of one family, number of values and seed, in rounds: add sets until the round is full,
// step until it is done, take the signatures, clear. Functions throw std::bad_alloc; afterwards only the
// destructor may be called.
class BulkSigner {
 public:
  BulkSigner(SignatureFamily family, uint32_t permutations, uint64_t seed, int threads);

  // Adds a set of the family minhash, by its tokens' hashes.
  void add(std::span<const uint32_t> hashes);
  // Adds a weighted set of the family weighted.
  void add(std::span<const WeightedToken> tokens);
  // Returns whether the round has enough to do.
  bool full() const;

  // Returns whether the round is done, after waiting for it for `budget` at most.
  bool step(std::chrono::microseconds budget);

  // The sets of the round, and the signature of each.
  size_t sets() const { return headers_.size(); }
  size_t signature_bytes(size_t set) const { return headers_[set].bytes(); }
  void write(size_t set, uint8_t *signature) const;
  // Begins the next round.
  void clear();

 private:
  void run(WorkerPool &pool);
  void sign(size_t set, const StopFlag &stop, std::vector<WeightedToken> &tokens, WeightedSamples &samples);

  const SignatureHeader header_;
  const MinHasher hasher_;
  const int threads_;
  std::vector<uint32_t> hashes_;
  std::vector<WeightedToken> weighted_;
  std::vector<size_t> ends_;  // of each set's hashes or weighted tokens
  std::vector<SignatureHeader> headers_;
  std::vector<uint32_t> values_;
  std::unique_ptr<BackgroundTask> task_;  // last: it ends before what it works on
};

}  // namespace simjoin
