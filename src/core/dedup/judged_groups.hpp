// Groups of duplicates that keep to verdicts: rows that are the same belong together whatever their
// similarity, and rows that are different never do.
#pragma once

#include <array>
#include <cstdint>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/dedup/duplicate_groups.hpp"
#include "core/graph/components.hpp"
#include "core/sort/parallel_sort.hpp"

namespace simjoin {

// Two rows that cannot both be what verdicts say of them.
struct Contradiction {
  uint32_t a;
  uint32_t b;
};

struct VerdictReport {
  static constexpr size_t most_examples = 3;

  uint64_t contradictions = 0;  // verdicts 'same' that verdicts 'different' forbid
  std::array<Contradiction, most_examples> examples = {};
  uint64_t of_one_row = 0;  // verdicts that a row is different from itself, which are left out
  uint64_t refused = 0;     // similar pairs of rows that are kept apart
};

// Takes verdicts and pairs of rows in any order, and then gives the groups. Pairs that are the same come
// first, then similar ones by descending similarity, and those alike by their places. Each unites the groups
// of its rows, unless that would put two rows that are different into one group. So of a chain that connects
// such rows, the weakest pair is left out.
class JudgedGrouper {
 public:
  // `places` has the place of each row, a permutation. It must outlive the grouper.
  JudgedGrouper(const uint32_t *places, uint32_t rows, MemoryCounter &memory);

  void add_verdict(uint32_t a, uint32_t b, bool same);
  void add_pair(uint32_t a, uint32_t b, double similarity);
  DuplicateGroups groups(WorkerPool &pool);
  const VerdictReport &report() const { return report_; }

 private:
  static constexpr uint32_t none = UINT32_MAX;

  struct Pair {
    uint32_t earlier;  // places
    uint32_t later;
  };
  // A place that is different from one in the component whose list has it.
  struct Apart {
    uint32_t place;
    uint32_t next;
  };
  // The list of a component, at its smallest place.
  struct List {
    uint32_t first = none;
    uint32_t last = none;
    uint32_t size = 0;
  };

  Pair pair_of(uint32_t a, uint32_t b) const;
  void keep_apart(uint32_t place, uint32_t other);
  bool are_apart(uint32_t one, uint32_t other);
  bool unite(const Pair &pair);
  void unite_the_same(const StopFlag &stop);

  const uint32_t *places_;
  MemoryCounter &memory_;
  DisjointSets sets_;  // of places
  Buffer<Pair> same_;
  Buffer<SortKey> pairs_;  // BySimilarity
  Buffer<Apart> apart_;
  Buffer<List> lists_;  // by place; empty until two rows are different
  Buffer<uint32_t> row_at_;
  VerdictReport report_;
};

}  // namespace simjoin
