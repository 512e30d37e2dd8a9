// The search for an assignment of the greatest sum within a component of the graph of pairs.
//
// Left rows are added one after the other, each by the shortest augmenting path. A row has a potential, and a
// pair the costs: both potentials less the similarity, which are never negative and 0 where a pair is kept.
// So Dijkstra's algorithm finds the path. A left row without a partner costs its potential, and the path may
// end with such a row, too.
#pragma once

#include <cstdint>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/matching/partner.hpp"
#include "core/sort/pair_keys.hpp"

namespace simjoin {

// Similarities of a component as integers, and their sums and differences. They are exact down to 2^-67 of
// its greatest similarity; below 2^-120 of that they are 0.
__extension__ using Weight = __int128;

// What the searches of all components share. Each works on the rows of its component.
struct AssignmentGraph {
  static constexpr uint64_t no_pair = UINT64_MAX;

  // The pairs are keys ByLeft, sorted; those of a left row begin at begins[row].
  AssignmentGraph(const Buffer<SortKey> &pairs, const Buffer<uint64_t> &begins, uint32_t right_rows,
                  WorkerPool &pool, MemoryCounter &memory);

  const Buffer<SortKey> &pairs;
  const Buffer<uint64_t> &begins;
  Buffer<Weight> left_potentials;
  Buffer<Weight> right_potentials;
  Buffer<uint64_t> left_pairs;  // the pair that is kept of each row
  Buffer<uint64_t> right_pairs;
  Buffer<Weight> distances;     // of right rows, in the current search
  Buffer<uint64_t> reached_by;  // the last pair of the path to each right row
  Buffer<uint8_t> done;         // right rows whose distance is final
};

// Used for one component after the other, by one thread.
class AssignmentSearch {
 public:
  AssignmentSearch(AssignmentGraph &graph, uint64_t most_looked_at, const StopFlag &stop,
                   MemoryCounter &memory)
      : graph_(graph), most_looked_at_(most_looked_at), stop_(stop), heap_(memory), reached_(memory) {}

  // Gives the left rows, which are all those of a component, their partners. Returns false, without partners,
  // where the search would look at more than `most_looked_at` pairs.
  bool assign(const uint32_t *rows, size_t count, Partner *partners);

 private:
  struct Reached {
    Weight distance;
    uint32_t right;
  };
  struct Farther {
    bool operator()(const Reached &a, const Reached &b) const {
      return a.distance != b.distance ? a.distance > b.distance : a.right > b.right;
    }
  };

  uint32_t left_of(uint64_t pair) const { return ByLeft::pair(graph_.pairs[pair]).left; }
  uint32_t right_of(uint64_t pair) const { return ByLeft::pair(graph_.pairs[pair]).right; }

  // Sets the unit of the weights by the component's greatest similarity.
  void choose_unit(const uint32_t *rows, size_t count);
  Weight weight(double similarity) const;
  bool add_row(uint32_t row);
  void look_at_pairs(uint32_t left, Weight distance);
  void change_potentials(uint32_t row);
  void augment(uint32_t row);
  void forget_reached();

  AssignmentGraph &graph_;
  const uint64_t most_looked_at_;
  const StopFlag &stop_;
  uint64_t looked_at_ = 0;
  int exponent_ = 0;  // of the least power of two above all similarities of the component
  Buffer<Reached> heap_;
  Buffer<uint32_t> reached_;  // right rows
  Weight length_ = 0;         // of the shortest path so far, and its end: the pair to a row without a
  uint64_t last_pair_ = 0;    // partner, or no pair and a left row that loses its partner
  uint32_t last_left_ = 0;
};

}  // namespace simjoin
