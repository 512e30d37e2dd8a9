// Matches from pairs that stream in.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/graph/node_numbers.hpp"
#include "core/matching/assignment.hpp"
#include "core/sort/pair_keys.hpp"

namespace simjoin {

// `best`: each left row's most similar right row. `mutual`: two rows, each of which is the other's best one.
// `one_to_one`: pairs in the order of their similarity, of which each is kept that has no row of a pair kept
// before. `assignment`: of all ways to give each row at most one partner, one with the greatest sum of
// similarities. Among equally similar pairs that with the smaller left id comes first, then that with the
// smaller right id.
enum class MatchMethod : uint8_t { best, mutual, one_to_one, assignment };

inline constexpr std::string_view match_method_names[] = {"best", "mutual", "one_to_one", "assignment"};

// The matches in the order of their left ids.
struct Matches {
  explicit Matches(MemoryCounter &memory) : left(memory), right(memory), similarities(memory) {}

  void add(int64_t left_id, int64_t right_id, double similarity) {
    left.push_back(left_id);
    right.push_back(right_id);
    similarities.push_back(similarity);
  }

  Buffer<int64_t> left;
  Buffer<int64_t> right;
  Buffer<double> similarities;
  size_t greedy_components = 0;  // that were too large for an assignment (assignment.hpp)
};

// Takes pairs of a left and a right id in any order, and then gives the matches, which depend on the pairs
// only. Of a pair that is repeated the greatest similarity counts. The methods best and mutual keep no pairs.
class MatchFinder {
 public:
  MatchFinder(MatchMethod method, MemoryCounter &memory, uint64_t most_looked_at = most_pairs_looked_at);

  // Throws Error invalid_argument where the similarity is negative or not finite, limit_exceeded at 2^32 - 1
  // ids of a side.
  void add(int64_t left, int64_t right, double similarity);
  // Uses up the pairs.
  Matches matches(WorkerPool &pool);

 private:
  static constexpr size_t most_held = 1024;  // pairs whose ids are numbered together, within the cache

  // The best partner of a row.
  struct Best {
    double similarity;
    int64_t partner;
  };

  static void improve(Best &best, double similarity, int64_t partner);
  void absorb();
  Matches best_matches(WorkerPool &pool);
  Matches exclusive_matches(WorkerPool &pool);

  const MatchMethod method_;
  const uint64_t most_looked_at_;
  MemoryCounter &memory_;
  size_t held_ = 0;
  Buffer<int64_t> held_left_;
  Buffer<int64_t> held_right_;
  Buffer<double> held_similarities_;
  NodeNumbers left_;
  NodeNumbers right_;        // not for `best`
  Buffer<Best> left_best_;   // for `best` and `mutual`, by number
  Buffer<Best> right_best_;  // for `mutual`
  Buffer<SortKey> pairs_;    // of numbers, for the other methods
};

}  // namespace simjoin
