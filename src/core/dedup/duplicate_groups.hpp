// Groups of duplicates: rows connected by their similar pairs, and the row of each group that survives.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/dedup/set_copies.hpp"
#include "core/graph/components.hpp"

namespace simjoin {

// `components`: all rows that a chain of pairs connects. `star`: a row is a representative unless an earlier
// representative is similar to it; every other row joins the most similar earlier representative.
// `best_link`: all rows that a chain of best pairs connects, a best pair being that of a row and the row most
// similar to it.
enum class Grouping : uint8_t { components, star, best_link };

inline constexpr std::string_view grouping_names[] = {"components", "star", "best_link"};

// For each row the first row of its group (its representative) and a similarity. In a star, it is the
// similarity of the two rows, otherwise that with the most similar row of the group. A row that represents
// itself has none (-1).
struct DuplicateGroups {
  explicit DuplicateGroups(MemoryCounter &memory) : representatives(memory), similarities(memory) {}

  Buffer<uint32_t> representatives;
  Buffer<double> similarities;
};

// Takes pairs of rows in any order and any direction, each at least once, and then gives the groups, which
// depend on the pairs only. Rows are 0, 1, ...; the order in which they survive is that of their places.
//
// Of a family only the pairs of one row need be given, with one row of each other family: the groups are
// those of all pairs. To a row outside, all rows of a family are equally similar, so the first of them stands
// for all, since of equally similar rows the earliest counts. Within the family:
//   - components: the others belong to the first row; its chains are theirs.
//   - best_link: the best partner of another row is the first row or that of the family outside, whichever is
//     the more similar or earlier; that of the first row is the second, or that outside.
//   - star: where the first row represents itself, every other has it as an earlier representative; none that
//     is similar to them lies in between, since that one has it, too. Where it does not, its representative
//     is earlier than the others, too, so none of them represents itself. But each of these joins the most
//     similar representative before its own place, which may be one that comes after the first row.
class DuplicateGrouper {
 public:
  // `places` has the place of each row, a permutation. It must outlive the grouper.
  DuplicateGrouper(Grouping grouping, const uint32_t *places, uint32_t rows, MemoryCounter &memory,
                   const SetFamilies &families = {});

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
  struct Family {
    uint32_t first;     // place of a row
    double similarity;  // of two rows of the family
    Link best;          // the link that the family's next row would get
  };

  static void offer(Link &link, uint32_t other, double similarity);
  void read_families(const SetFamilies &families);
  // Returns the family of a place, or nullptr if it has none.
  Family *family_of(uint32_t place) {
    return families_.empty() || family_at_[place] == SetFamilies::none ? nullptr
                                                                       : &families_[family_at_[place]];
  }
  uint32_t first_like(uint32_t place) {
    const Family *family = family_of(place);
    return family == nullptr ? place : family->first;
  }
  bool represents_itself(uint32_t place) const;
  Buffer<Link> earlier_partners(Buffer<uint64_t> &ends, const StopFlag &stop);
  void link_stars(const StopFlag &stop);
  void link_star(uint32_t place, const Link *begin, const Link *end, const StopFlag &stop);
  void link_families(const StopFlag &stop);
  void unite_best_links(const StopFlag &stop);

  const Grouping grouping_;
  const uint32_t *places_;
  MemoryCounter &memory_;
  DisjointSets sets_;   // of places
  Buffer<Link> links_;  // of each place, the most similar partner so far, or, of a star, the representative
  Buffer<Pair> pairs_;  // for stars only
  Buffer<Family> families_;
  Buffer<uint32_t> family_at_;  // the number of each place's family; empty if there are no families
};

}  // namespace simjoin
