// Joins by locality-sensitive hashing: sets whose MinHash signatures agree in a band are candidate pairs.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/join.hpp"
#include "core/minhash/minhash_plan.hpp"

namespace simjoin {

struct LshSpec {
  Measure measure = Measure::jaccard;
  double threshold = 0.7;  // above 0: pairs of at least this similarity are handed over
  bool self_join = false;  // as JoinSpec::self_join
  // Whether candidates are verified; if not, all of them are handed over, with the number of signature values
  // that they have in common as their overlap.
  bool verify = true;
  // Whether sets have weights. Signatures are then those of weighted MinHash, and the measure is jaccard.
  bool weighted = false;
  uint32_t permutations = 128;
  uint64_t seed = 1;
  BandPlan plan{14, 9};                   // bands * rows <= permutations
  uint32_t max_bucket_size = 10000;       // see LshStats
  int threads = 0;                        // 0 = one for each core
  Device device = Device::automatic;      // makes the signatures and sorts their bands
  size_t memory_limit = size_t{1} << 30;  // bytes; see JoinEngine::wants_spill_file()
  size_t gpu_memory_limit = 0;            // bytes; 0 = most of what is free
  const DoneRows *done_rows = nullptr;    // as JoinSpec::done_rows

  // Returns whether pairs are verified by the number of tokens that they share.
  bool counts_tokens() const { return verify && !weighted; }
};

// A bucket that was chained: its rows, and the pairs that share it.
struct ChainedBucket {
  uint64_t rows = 0;
  uint64_t comparisons = 0;

  auto operator<=>(const ChainedBucket &) const = default;
};

// What a join by bands did. A bucket is the rows that agree in a band; one of more than max_bucket_size rows
// is chained: its first row is compared with all others (between two collections, the first of each with all
// of the other), and they not with each other.
struct LshStats {
  uint64_t comparisons = 0;  // pairs that share a bucket, counted once for each bucket they share
  // Distinct pairs among those that were compared and, where pairs are verified, that the sets' sizes and
  // bitmaps do not rule out.
  uint64_t candidates = 0;
  uint64_t left_out = 0;  // of these, pairs that were not verified since nobody asked any more
  uint64_t output = 0;    // pairs handed over
  uint64_t chained_buckets = 0;
  std::array<ChainedBucket, 5> largest{};  // of these, descending by rows; without rows where there are fewer

  // Puts a chained bucket among the largest ones if it is one.
  void note_size(const ChainedBucket &bucket);
  // Adds another join.
  LshStats &operator+=(const LshStats &other);
};

// A join by bands. Each pair is handed over once, however many buckets it shares. Sets have weights if the
// specification says so; verified pairs then have their similarity.
class LshJoin : public JoinEngine {
 public:
  // Complete once a step has returned `done`.
  virtual LshStats lsh_stats() const = 0;
};

std::unique_ptr<LshJoin> make_lsh_join(const LshSpec &spec);

}  // namespace simjoin
