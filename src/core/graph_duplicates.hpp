// Groups of duplicates: rows put together by their similar pairs, and the one of each group that survives.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/graph_components.hpp"
#include "core/memory.hpp"
#include "core/worker_pool.hpp"

namespace simjoin {

// `components`: all rows that a chain of pairs connects. `star`: a row is a representative unless an earlier
// representative is similar to it; every other row joins the most similar earlier representative.
// `best_link`: all rows that a chain of best pairs connects, a best pair being that of a row and the row most
// similar to it.
enum class Grouping : uint8_t { components, star, best_link };

inline constexpr std::string_view grouping_names[] = {"components", "star", "best_link"};

// For each row the first row of its group, its representative, and a similarity: of two rows of a star, that
// of the pair; else that with the most similar row of the group. A row that represents itself has none (-1).
struct DuplicateGroups {
  explicit DuplicateGroups(MemoryCounter &memory) : representatives(memory), similarities(memory) {}

  Buffer<uint32_t> representatives;
  Buffer<double> similarities;
};

// Takes pairs of rows in any order and any direction, each at least once, and then gives the groups, which
// depend on the pairs only. Rows are 0, 1, ...; the order in which they survive is that of their places.
class DuplicateGrouper {
 public:
  // `places`: of each row in that order, a permutation; it must outlive the grouper.
  DuplicateGrouper(Grouping grouping, const uint32_t *places, uint32_t rows, MemoryCounter &memory);

  void add_pair(uint32_t a, uint32_t b, double similarity);
  DuplicateGroups groups(WorkerPool &pool);

 private:
  struct Pair {
    uint32_t earlier;  // places
    uint32_t later;
    double similarity;
  };
  struct Link {
    double similarity;
    uint32_t place;
  };

  void offer(uint32_t place, uint32_t other, double similarity);
  void link_stars(const StopFlag &stop);
  void unite_best_links(const StopFlag &stop);

  const Grouping grouping_;
  const uint32_t *places_;
  MemoryCounter &memory_;
  DisjointSets sets_;   // of places
  Buffer<Link> links_;  // of each place, the most similar partner so far, or, of a star, the representative
  Buffer<Pair> pairs_;  // of stars only
};

}  // namespace simjoin
