#include "core/candidates/prefix/prefix_index.hpp"

#include <algorithm>
#include <bit>

#include "core/candidates/prefix/parity_signature.hpp"

namespace simjoin {
namespace {

constexpr uint32_t check_interval = 1u << 14;  // units between looks at the stop flag
constexpr int bucket_bits = 10;
constexpr size_t parts_per_worker = 8;
// Room for unsorted postings is made for one per this many tokens, but at least for least_room.
constexpr size_t tokens_per_unsorted_posting = 8;
constexpr size_t least_room = size_t{1} << 14;

}  // namespace

size_t PrefixIndex::building_bytes(uint64_t tokens, uint64_t postings, bool sign, int workers) {
  const uint64_t room = std::max<uint64_t>(least_room, tokens / tokens_per_unsorted_posting);
  const size_t each = sizeof(uint32_t) + sizeof(Posting) + (sign ? sizeof(uint64_t) : 0);
  const size_t cursors = (sizeof(uint64_t) << bucket_bits) * parts_per_worker * static_cast<size_t>(workers);
  return std::min(postings, room) * each + cursors;
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
  // Without postings, nobody asks for a list.
  if (std::find(posted_.begin(), posted_.end(), true) != posted_.end()) fill(options.sign, pool, memory);
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
    if (unit % check_interval == 0) stop.check();
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
void PrefixIndex::fill(bool sign, WorkerPool &pool, MemoryCounter &memory) {
  const uint32_t ranks = problem_.index.ranks;
  starts_.resize(size_t{ranks} + 1);
  const int shift = std::max(0, static_cast<int>(std::bit_width(ranks)) - bucket_bits);
  const size_t buckets = (size_t{ranks} >> shift) + 1;
  const size_t parts = std::clamp<size_t>(units_, 1, parts_per_worker * static_cast<size_t>(pool.workers()));
  const auto part_begin = [&](size_t part) { return static_cast<uint32_t>(uint64_t{units_} * part / parts); };
  Buffer<uint64_t> cursors(memory, buckets * parts, 0);  // by part and bucket: first counts, then places
  pool.parallel(parts, [&](int, size_t part) {
    uint64_t *counts = cursors.data() + part * buckets;
    visit_prefixes(part_begin(part), part_begin(part + 1), pool.stop(),
                   [&](uint32_t rank, const Posting &, uint32_t, uint32_t) { ++counts[rank >> shift]; });
  });
  std::vector<uint64_t> begins;
  uint64_t placed = 0;
  for (size_t bucket = 0; bucket < buckets; ++bucket) {
    begins.push_back(placed);
    for (size_t part = 0; part < parts; ++part) {
      placed += std::exchange(cursors[part * buckets + bucket], placed);
    }
  }
  begins.push_back(placed);
  starts_[ranks] = placed;
  postings_.resize(placed);
  if (sign) signatures_.resize(placed);
  const uint64_t room = std::max(least_room, problem_.index.tokens.size() / tokens_per_unsorted_posting);
  Unsorted unsorted(memory);
  for (size_t first = 0, last; first < buckets; first = last) {
    for (last = first + 1; last < buckets && begins[last + 1] - begins[first] <= room;) ++last;
    unsorted.resize(begins[last] - begins[first], sign);
    const auto in_round = [&](uint32_t rank) { return (rank >> shift) - first < last - first; };
    pool.parallel(parts, [&](int, size_t part) {
      uint64_t *places = cursors.data() + part * buckets;
      uint32_t signed_set = UINT32_MAX;
      uint64_t signature = 0;
      visit_prefixes(part_begin(part), part_begin(part + 1), pool.stop(),
                     [&](uint32_t rank, const Posting &posting, uint32_t set, uint32_t size) {
                       if (!in_round(rank)) return;
                       const uint64_t place = places[rank >> shift]++ - begins[first];
                       unsorted.ranks[place] = rank;
                       unsorted.postings[place] = posting;
                       if (!sign) return;
                       if (set != signed_set) signature = parity_signature(problem_.index, set, size);
                       signed_set = set;
                       unsorted.signatures[place] = signature;
                     });
    });
    pool.parallel(last - first, [&](int, size_t i) {
      const size_t bucket = last - 1 - i;  // the most frequent ranks first: they have the most postings
      const auto first_rank = static_cast<uint32_t>(bucket << shift);
      const auto end_rank = static_cast<uint32_t>(std::min<uint64_t>(ranks, (uint64_t{bucket} + 1) << shift));
      sort_bucket(first_rank, end_rank, begins[bucket], begins[bucket + 1], unsorted, begins[first],
                  pool.stop());
    });
  }
}

// Makes the lists of the ranks [first_rank, end_rank). Their places in the index are [begin, end). `base` is
// the place of the first unsorted posting.
void PrefixIndex::sort_bucket(uint32_t first_rank, uint32_t end_rank, uint64_t begin, uint64_t end,
                              const Unsorted &unsorted, uint64_t base, const StopFlag &stop) {
  std::vector<uint64_t> places(end_rank - first_rank, 0);
  for (uint64_t i = begin; i < end; ++i) {
    if (i % check_interval == 0) stop.check();
    ++places[unsorted.ranks[i - base] - first_rank];
  }
  uint64_t place = begin;
  for (uint32_t rank = first_rank; rank < end_rank; ++rank) {
    starts_[rank] = place;
    place += std::exchange(places[rank - first_rank], place);
  }
  const bool sign = !unsorted.signatures.empty();
  for (uint64_t i = begin; i < end; ++i) {
    if (i % check_interval == 0) stop.check();
    const uint64_t to = places[unsorted.ranks[i - base] - first_rank]++;
    postings_[to] = unsorted.postings[i - base];
    if (sign) signatures_[to] = unsorted.signatures[i - base];
  }
}

}  // namespace simjoin
