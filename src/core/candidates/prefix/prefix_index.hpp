// The inverted index over prefixes: for each rank, the sets (or groups of sets) with that token in their
// prefix.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/check.hpp"
#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/candidates/join_problem.hpp"
#include "core/candidates/prefix/equal_sets.hpp"
#include "core/candidates/prefix/prefix_groups.hpp"

namespace simjoin {

// The number of candidates of an index that are verified together: enough for two clock readings not to
// count, and few enough for the second-level cache.
inline constexpr size_t candidates_per_round = size_t{1} << 13;
// Candidates are prefetched this many ahead.
inline constexpr size_t candidate_distance = 8;

// One occurrence of a token in an index prefix, packed into a word for vectorised compression.
struct Posting {
  static constexpr uint32_t saturated = UINT16_MAX;

  Posting() = default;
  Posting(uint32_t unit, uint32_t size_class, uint32_t rest)
      : packed(unit | uint64_t{std::min(size_class, saturated)} << 32 |
               uint64_t{std::min(rest, saturated)} << 48) {}

  // Returns the set or group.
  uint32_t unit() const { return static_cast<uint32_t>(packed); }
  // Returns the class of the unit's size, or `saturated` if it does not fit.
  uint32_t size_class() const { return packed >> 32 & saturated; }
  // Returns the number of the set's tokens after this one, at most `saturated`.
  uint32_t rest() const { return static_cast<uint32_t>(packed >> 48); }

  uint64_t packed;
};

// Units are the groups of the index side if there are groups, otherwise its sets.
class PrefixIndex {
 public:
  struct Options {
    const PrefixGroups *groups = nullptr;  // may be null; must outlive the index
    bool sign = false;                     // each posting gets the parity signature of its unit's first set
    bool equal_sets = false;               // probes that only equal sets match are left to equal_sets()
    // The probe classes that are not probed: partners that only they need are left out. If null, probes of
    // any size may come.
    const std::vector<bool> *elsewhere = nullptr;
  };

  // Returns about the bytes that making an index takes besides the index itself.
  static size_t building_bytes(uint32_t ranks, uint64_t postings, bool sign, int workers);

  // The problem must outlive the index.
  PrefixIndex(const JoinProblem &problem, const Options &options, WorkerPool &pool, MemoryCounter &memory);

  uint32_t units() const { return units_; }
  // Returns the sets [first_set(unit), first_set(unit + 1)) of a unit.
  uint32_t first_set(uint32_t unit) const { return groups_ != nullptr ? groups_->first[unit] : unit; }
  // Returns the first unit of a class; class_begin(number of classes) is the number of units.
  uint32_t class_begin(uint32_t size_class) const { return class_begin_[size_class]; }
  uint32_t class_of(uint32_t unit) const;
  uint32_t class_of(const Posting &posting) const {
    const uint32_t size_class = posting.size_class();
    return size_class != Posting::saturated ? size_class : class_of(posting.unit());
  }
  // Returns the postings of a rank, units ascending (and so ascending in size).
  std::span<const Posting> postings(uint32_t rank) const {
    SIMJOIN_CHECK(rank + 1 < starts_.size());
    return {postings_.data() + starts_[rank], static_cast<size_t>(starts_[rank + 1] - starts_[rank])};
  }
  // Both prefetch memory: what postings() will read, and the list itself.
  void prefetch_start(uint32_t rank) const { __builtin_prefetch(starts_.data() + rank); }
  void prefetch_postings(uint32_t rank) const {
    __builtin_prefetch(postings_.data() + starts_[rank]);
    if (has_signatures()) __builtin_prefetch(signatures_.data() + starts_[rank]);
  }
  // Returns the index of equal sets, or null if there is none.
  const EqualSets *equal_sets() const { return equal_sets_ ? &*equal_sets_ : nullptr; }
  bool has_signatures() const { return !signatures_.empty(); }
  // Returns the signature of a posting. The pointer must point into the posting's list.
  const uint64_t *signature_of(const Posting *posting) const {
    SIMJOIN_CHECK(posting >= postings_.begin() && posting <= postings_.end());
    return signatures_.data() + (posting - postings_.data());
  }

 private:
  class RankBuckets;
  class Builder;

  template <typename Visit>
  void visit_prefixes(uint32_t begin, uint32_t end, const StopFlag &stop, Visit &&visit) const;
  void choose_classes(const std::vector<bool> *elsewhere);

  const JoinProblem &problem_;
  const PrefixGroups *groups_;
  uint32_t units_;
  std::vector<uint32_t> class_begin_;
  std::vector<bool> posted_;  // by class: whether its sets have postings
  std::optional<EqualSets> equal_sets_;
  Buffer<uint64_t> starts_;
  Buffer<Posting> postings_;
  Buffer<uint64_t> signatures_;  // parallel to postings_, or empty
};

}  // namespace simjoin
