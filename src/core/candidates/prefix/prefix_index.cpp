#include "core/candidates/prefix/prefix_index.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/candidates/prefix/parity_signature.hpp"
#include "core/sort/distribute.hpp"

namespace simjoin {
namespace {

constexpr uint32_t units_per_check = 1u << 14;
constexpr size_t parts_per_worker = 8;
// Postings are sorted by buckets of neighbouring ranks, which get wider with the distance from the most
// frequent rank: so many for each doubling of it. By Zipf's law they have about as many postings each, so the
// copies of the buckets that are being sorted are small.
constexpr int bucket_bits = 6;
constexpr uint64_t buckets_per_doubling = uint64_t{1} << bucket_bits;

}  // namespace

// The buckets of `ranks` ranks. The most frequent ones have a bucket each.
class PrefixIndex::RankBuckets {
 public:
  explicit RankBuckets(uint32_t ranks) : ranks_(ranks), count_(ranks == 0 ? 1 : from_last(ranks)) {}

  size_t count() const { return count_; }
  size_t of(uint32_t rank) const { return count_ - from_last(ranks_ - rank); }
  uint32_t first_rank(size_t bucket) const {
    return bucket == 0 ? 0 : ranks_ - (first_distance(count_ - bucket + 1) - 1);
  }

 private:
  // Returns the number, from 1 on, of the bucket with the rank at this distance from the end.
  static size_t from_last(uint32_t distance) {
    const int shift = std::max(0, static_cast<int>(std::bit_width(distance)) - bucket_bits - 1);
    return (static_cast<size_t>(shift) << bucket_bits) + (distance >> shift);
  }
  // Returns the least distance whose bucket has the number.
  static uint32_t first_distance(size_t number) {
    if (number < 2 * buckets_per_doubling) return static_cast<uint32_t>(number);
    const size_t shift = (number >> bucket_bits) - 1;
    return static_cast<uint32_t>((number - (shift << bucket_bits)) << shift);
  }

  const uint32_t ranks_;
  const size_t count_;
};

size_t PrefixIndex::building_bytes(uint32_t ranks, uint64_t postings, bool sign, int workers) {
  const auto threads = static_cast<size_t>(workers);
  const uint64_t copied = std::min(postings, threads * (postings / buckets_per_doubling));
  const size_t each = sizeof(Posting) + (sign ? sizeof(uint64_t) : 0);
  const size_t cursors =
      Distribution<uint64_t>::bytes(parts_per_worker * threads, RankBuckets(ranks).count());
  return postings * sizeof(uint32_t) + copied * each + cursors;
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
// order of their units. A bucket is sorted by a copy of it, so the index takes little more than its size.
class PrefixIndex::Builder {
 public:
  Builder(PrefixIndex &index, bool sign, WorkerPool &pool, MemoryCounter &memory);

  void fill();

 private:
  // A bucket before it is sorted.
  struct Copy {
    explicit Copy(MemoryCounter &memory) : postings(memory), signatures(memory) {}
    Buffer<Posting> postings;
    Buffer<uint64_t> signatures;
  };

  uint32_t part_begin(size_t part) const {
    return static_cast<uint32_t>(uint64_t{index_.units_} * part / places_.parts());
  }
  void collect();
  void sort(size_t bucket, Copy &copy);

  PrefixIndex &index_;
  const bool sign_;
  const RankBuckets buckets_;
  WorkerPool &pool_;
  Distribution<uint64_t> places_;
  Buffer<uint32_t> unsorted_ranks_;
  std::vector<Copy> copies_;  // by worker
};

PrefixIndex::Builder::Builder(PrefixIndex &index, bool sign, WorkerPool &pool, MemoryCounter &memory)
    : index_(index),
      sign_(sign),
      buckets_(index.problem_.index.ranks),
      pool_(pool),
      places_(std::clamp<size_t>(index.units_, 1, parts_per_worker * static_cast<size_t>(pool.workers())),
              buckets_.count(), pool, memory),
      unsorted_ranks_(memory) {
  for (int worker = 0; worker < pool.workers(); ++worker) copies_.emplace_back(memory);
}

void PrefixIndex::Builder::fill() {
  places_.count([&](size_t part, uint64_t *counts) {
    index_.visit_prefixes(
        part_begin(part), part_begin(part + 1), pool_.stop(),
        [&](uint32_t rank, const Posting &, uint32_t, uint32_t) { ++counts[buckets_.of(rank)]; });
  });
  const uint32_t ranks = index_.problem_.index.ranks;
  index_.starts_.resize(size_t{ranks} + 1);
  index_.starts_[ranks] = places_.items();
  index_.postings_.resize(places_.items());
  if (sign_) index_.signatures_.resize(places_.items());
  collect();
  // The most frequent ranks come first, since they have the most postings.
  pool_.parallel(places_.buckets(), [&](int worker, size_t i) {
    sort(places_.buckets() - 1 - i, copies_[static_cast<size_t>(worker)]);
  });
}

// Places the postings, unsorted within a bucket.
void PrefixIndex::Builder::collect() {
  unsorted_ranks_.resize(places_.items());
  places_.place([&](size_t part, uint64_t *next) {
    uint32_t signed_set = UINT32_MAX;
    uint64_t signature = 0;
    const auto place = [&](uint32_t rank, const Posting &posting, uint32_t set, uint32_t size) {
      const uint64_t to = next[buckets_.of(rank)]++;
      unsorted_ranks_[to] = rank;
      index_.postings_[to] = posting;
      if (!sign_) return;
      if (set != signed_set) signature = parity_signature(index_.problem_.index, set, size);
      signed_set = set;
      index_.signatures_[to] = signature;
    };
    index_.visit_prefixes(part_begin(part), part_begin(part + 1), pool_.stop(), place);
  });
}

// Makes the lists of the bucket's ranks.
void PrefixIndex::Builder::sort(size_t bucket, Copy &copy) {
  const uint32_t first_rank = buckets_.first_rank(bucket), end_rank = buckets_.first_rank(bucket + 1);
  const uint64_t begin = places_.begin(bucket), end = places_.begin(bucket + 1);
  if (end_rank - first_rank == 1) {
    index_.starts_[first_rank] = begin;
    return;
  }
  const uint32_t *const ranks = unsorted_ranks_.data() + begin;
  const size_t count = end - begin;
  std::vector<uint64_t> next(end_rank - first_rank, 0);
  for (size_t i = 0; i < count; ++i) {
    if (i % units_per_check == 0) pool_.stop().check();
    ++next[ranks[i] - first_rank];
  }
  uint64_t place = begin;
  for (uint32_t rank = first_rank; rank < end_rank; ++rank) {
    index_.starts_[rank] = place;
    place += std::exchange(next[rank - first_rank], place);
  }
  copy.postings.resize(count);
  std::copy_n(index_.postings_.data() + begin, count, copy.postings.data());
  if (sign_) {
    copy.signatures.resize(count);
    std::copy_n(index_.signatures_.data() + begin, count, copy.signatures.data());
  }
  for (size_t i = 0; i < count; ++i) {
    if (i % units_per_check == 0) pool_.stop().check();
    const uint64_t to = next[ranks[i] - first_rank]++;
    index_.postings_[to] = copy.postings[i];
    if (sign_) index_.signatures_[to] = copy.signatures[i];
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
