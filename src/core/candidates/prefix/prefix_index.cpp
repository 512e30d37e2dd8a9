#include "core/candidates/prefix/prefix_index.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/candidates/prefix/parity_signature.hpp"
#include "core/sort/distribute.hpp"

namespace simjoin {
namespace {

constexpr uint32_t units_per_check = 1u << 14;
constexpr int bucket_bits = 10;
constexpr size_t parts_per_worker = 8;
// Room for unsorted postings is made for one per this many tokens, but at least for least_room.
constexpr size_t tokens_per_unsorted_posting = 8;
constexpr size_t least_room = size_t{1} << 14;

}  // namespace

size_t PrefixIndex::building_bytes(uint64_t tokens, uint64_t postings, bool sign, int workers) {
  const uint64_t room = std::max<uint64_t>(least_room, tokens / tokens_per_unsorted_posting);
  const size_t each = sizeof(uint32_t) + sizeof(Posting) + (sign ? sizeof(uint64_t) : 0);
  const size_t cursors = Distribution<uint64_t>::bytes(parts_per_worker * static_cast<size_t>(workers),
                                                       size_t{1} << bucket_bits);
  return std::min(postings, room) * each + cursors;
}

uint32_t PrefixIndex::class_of(uint32_t unit) const {
  return static_cast<uint32_t>(std::upper_bound(class_begin_.begin(), class_begin_.end() - 1, unit) -
                               class_begin_.begin()) -
         1;
}

// Chooses the classes that need postings: a probe looks them up.
void PrefixIndex::choose_classes(const std::vector<bool> *elsewhere) {
  posted_.assign(problem_.index.classes.size(), elsewhere == nullptr);
  if (elsewhere == nullptr) return;
  for (uint32_t k = 0; k < problem_.probe_classes.size(); ++k) {
    if ((*elsewhere)[k] || (equal_sets_ && equal_sets_->takes(k))) continue;
    const ProbeClass &partners = problem_.probe_classes[k];
    std::fill(posted_.begin() + partners.class_begin, posted_.begin() + partners.class_end, true);
  }
}

// Calls visit(rank, posting, set, size of the set) for the index prefixes of the units [begin, end), in
// ascending order.
template <typename Visit>
void PrefixIndex::visit_prefixes(uint32_t begin, uint32_t end, const StopFlag &stop, Visit &&visit) const {
  if (begin >= end) return;
  const SetCollection &sets = problem_.index;
  uint32_t size_class = class_of(begin);
  for (uint32_t unit = begin; unit < end; ++unit) {
    if (unit % units_per_check == 0) stop.check();
    while (unit >= class_begin_[size_class + 1]) ++size_class;
    if (!posted_[size_class]) {
      unit = std::min(end, class_begin_[size_class + 1]) - 1;
      continue;
    }
    const uint32_t set = first_set(unit);
    const uint32_t stored = sets.stored(set);
    const uint32_t size = sets.classes[size_class].size;
    const uint32_t prefix = sets.stored_prefix(set, size, problem_.index_prefix[size_class]);
    const uint32_t *ranks = sets.begin(set);
    for (uint32_t i = 0; i < prefix; ++i) {
      visit(ranks[i], Posting(unit, size_class, stored - i - 1), set, size);
    }
  }
}

// Sorts the postings by rank in two steps: into buckets of neighbouring ranks, and those into lists. Neither
// step writes to more places than the second-level cache has lines for. Within a list, postings keep the
// order of their units. The room for unsorted postings limits the number of buckets per round.
class PrefixIndex::Builder {
 public:
  Builder(PrefixIndex &index, bool sign, WorkerPool &pool, MemoryCounter &memory);

  void fill();

 private:
  uint32_t part_begin(size_t part) const {
    return static_cast<uint32_t>(uint64_t{index_.units_} * part / places_.parts());
  }
  uint64_t size_of(size_t first, size_t last) const { return places_.begin(last) - places_.begin(first); }
  void collect(size_t first, size_t last);
  void sort(size_t bucket);

  PrefixIndex &index_;
  const bool sign_;
  const uint32_t ranks_;
  const int shift_;  // a bucket has the ranks that agree in all higher bits
  WorkerPool &pool_;
  Distribution<uint64_t> places_;
  // The unsorted postings of a round, whose first place is base_.
  uint64_t base_ = 0;
  Buffer<uint32_t> unsorted_ranks_;
  Buffer<Posting> unsorted_;
  Buffer<uint64_t> unsorted_signatures_;
};

PrefixIndex::Builder::Builder(PrefixIndex &index, bool sign, WorkerPool &pool, MemoryCounter &memory)
    : index_(index),
      sign_(sign),
      ranks_(index.problem_.index.ranks),
      shift_(std::max(0, static_cast<int>(std::bit_width(ranks_)) - bucket_bits)),
      pool_(pool),
      places_(std::clamp<size_t>(index.units_, 1, parts_per_worker * static_cast<size_t>(pool.workers())),
              (size_t{ranks_} >> shift_) + 1, pool, memory),
      unsorted_ranks_(memory),
      unsorted_(memory),
      unsorted_signatures_(memory) {}

void PrefixIndex::Builder::fill() {
  places_.count([&](size_t part, uint64_t *counts) {
    index_.visit_prefixes(
        part_begin(part), part_begin(part + 1), pool_.stop(),
        [&](uint32_t rank, const Posting &, uint32_t, uint32_t) { ++counts[rank >> shift_]; });
  });
  index_.starts_.resize(size_t{ranks_} + 1);
  index_.starts_[ranks_] = places_.items();
  index_.postings_.resize(places_.items());
  if (sign_) index_.signatures_.resize(places_.items());
  const uint64_t room =
      std::max<uint64_t>(least_room, index_.problem_.index.tokens.size() / tokens_per_unsorted_posting);
  for (size_t first = 0, last; first < places_.buckets(); first = last) {
    for (last = first + 1; last < places_.buckets() && size_of(first, last + 1) <= room;) ++last;
    collect(first, last);
    // The most frequent ranks come first, since they have the most postings.
    pool_.parallel(last - first, [&](int, size_t i) { sort(last - 1 - i); });
  }
}

// Places the postings of the buckets [first, last), unsorted within a bucket.
void PrefixIndex::Builder::collect(size_t first, size_t last) {
  base_ = places_.begin(first);
  unsorted_ranks_.resize(size_of(first, last));
  unsorted_.resize(size_of(first, last));
  if (sign_) unsorted_signatures_.resize(size_of(first, last));
  places_.place([&](size_t part, uint64_t *next) {
    uint32_t signed_set = UINT32_MAX;
    uint64_t signature = 0;
    const auto place = [&](uint32_t rank, const Posting &posting, uint32_t set, uint32_t size) {
      if ((rank >> shift_) - first >= last - first) return;
      const uint64_t to = next[rank >> shift_]++ - base_;
      unsorted_ranks_[to] = rank;
      unsorted_[to] = posting;
      if (!sign_) return;
      if (set != signed_set) signature = parity_signature(index_.problem_.index, set, size);
      signed_set = set;
      unsorted_signatures_[to] = signature;
    };
    index_.visit_prefixes(part_begin(part), part_begin(part + 1), pool_.stop(), place);
  });
}

// Makes the lists of the bucket's ranks.
void PrefixIndex::Builder::sort(size_t bucket) {
  const auto first_rank = static_cast<uint32_t>(bucket << shift_);
  const auto end_rank = static_cast<uint32_t>(std::min<uint64_t>(ranks_, (uint64_t{bucket} + 1) << shift_));
  const uint64_t begin = places_.begin(bucket), end = places_.begin(bucket + 1);
  std::vector<uint64_t> next(end_rank - first_rank, 0);
  for (uint64_t i = begin; i < end; ++i) {
    if (i % units_per_check == 0) pool_.stop().check();
    ++next[unsorted_ranks_[i - base_] - first_rank];
  }
  uint64_t place = begin;
  for (uint32_t rank = first_rank; rank < end_rank; ++rank) {
    index_.starts_[rank] = place;
    place += std::exchange(next[rank - first_rank], place);
  }
  for (uint64_t i = begin; i < end; ++i) {
    if (i % units_per_check == 0) pool_.stop().check();
    const uint64_t to = next[unsorted_ranks_[i - base_] - first_rank]++;
    index_.postings_[to] = unsorted_[i - base_];
    if (sign_) index_.signatures_[to] = unsorted_signatures_[i - base_];
  }
}

PrefixIndex::PrefixIndex(const JoinProblem &problem, const Options &options, WorkerPool &pool,
                         MemoryCounter &memory)
    : problem_(problem),
      groups_(options.groups),
      units_(groups_ != nullptr ? groups_->groups() : problem.index.sets()),
      starts_(memory),
      postings_(memory),
      signatures_(memory) {
  const SetCollection &sets = problem.index;
  for (const SizeClass &c : sets.classes) {
    class_begin_.push_back(groups_ == nullptr || c.begin == sets.sets() ? c.begin
                                                                        : groups_->group_of(c.begin));
  }
  class_begin_.push_back(units_);
  if (options.equal_sets) equal_sets_.emplace(problem, pool, memory);
  choose_classes(options.elsewhere);
  // Without postings, no list is read.
  if (std::find(posted_.begin(), posted_.end(), true) != posted_.end())
    Builder(*this, options.sign, pool, memory).fill();
}

}  // namespace simjoin
