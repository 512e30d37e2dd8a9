// The clusters that have a term, and the centroids of clusters: lists that grow without bounds, and the
// search for the most similar centroid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/probe_table.hpp"
#include "core/base/worker_pool.hpp"
#include "core/clusters/cluster_vector.hpp"

namespace simjoin {

// The factor by which terms are multiplied before their topmost bits are taken as a hash.
inline constexpr uint32_t term_spread = 0x9E3779B1u;

// The place of the elements of a key.
struct PoolRegion {
  uint64_t start = 0;
  uint32_t size = 0;
  uint32_t capacity = 0;
};

// Returns the room for an array of `size` elements: at least 4, and twice as many as before if it grows.
// Returns 0 for more than 2^32 - 1 elements, too many for a region.
SIMJOIN_HOST_DEVICE inline uint32_t capacity_for(uint64_t size) {
  if (size > UINT32_MAX) return 0;
  uint64_t capacity = 4;
  while (capacity < size) capacity *= 2;
  return capacity > UINT32_MAX ? UINT32_MAX : static_cast<uint32_t>(capacity);
}
// Throws Error limit_exceeded.
[[noreturn]] void throw_region_too_long();

// Many arrays in one. An array that outgrows its place moves to the end, into a place of twice the size.
template <class T>
class RegionPool {
 public:
  explicit RegionPool(MemoryCounter &memory) : regions_(memory), elements_(memory) {}

  size_t keys() const { return regions_.size(); }
  const PoolRegion &region(size_t key) const { return regions_[key]; }
  std::span<const T> operator[](size_t key) const {
    const PoolRegion &region = regions_[key];
    return {elements_.data() + region.start, region.size};
  }
  const Buffer<PoolRegion> &regions() const { return regions_; }
  const Buffer<T> &elements() const { return elements_; }

  // Makes all keys below `keys` known; new ones have no elements.
  void add_keys(size_t keys) {
    if (keys <= regions_.size()) return;
    regions_.reserve(keys);
    while (regions_.size() < keys) regions_.push_back({});
  }
  void truncate(size_t key, uint32_t size) { regions_[key].size = size; }
  // Makes room for `size` elements of a key.
  void reserve(size_t key, size_t size) {
    PoolRegion &region = regions_[key];
    if (size <= region.capacity) return;
    const uint32_t capacity = capacity_for(size);
    if (capacity == 0) throw_region_too_long();
    const size_t start = elements_.size();
    if (start + capacity > room_ && start < copied_elements)
      elements_.reserve(room_ = 2 * (start + capacity));
    elements_.extend(capacity);
    std::copy_n(elements_.data() + region.start, region.size, elements_.data() + start);
    region = {start, region.size, capacity};
  }
  void assign(size_t key, std::span<const T> elements) {
    regions_[key].size = 0;
    reserve(key, elements.size());
    std::copy(elements.begin(), elements.end(), elements_.data() + regions_[key].start);
    regions_[key].size = static_cast<uint32_t>(elements.size());
  }
  // Assigns the elements if there is room for them, and returns whether there is. Several threads may assign
  // different keys in place at a time.
  bool assign_in_place(size_t key, std::span<const T> elements) {
    PoolRegion &region = regions_[key];
    if (elements.size() > region.capacity) return false;
    std::copy(elements.begin(), elements.end(), elements_.data() + region.start);
    region.size = static_cast<uint32_t>(elements.size());
    return true;
  }
  void push_back(size_t key, T element) {
    reserve(key, size_t{regions_[key].size} + 1);
    PoolRegion &region = regions_[key];
    elements_[region.start + region.size++] = element;
  }

 private:
  // The C library copies arrays below 32 MB to let them grow. So these double; larger arrays grow as all
  // Buffers do.
  static constexpr size_t copied_elements = (size_t{32} << 20) / sizeof(T);

  Buffer<PoolRegion> regions_;
  Buffer<T> elements_;
  size_t room_ = 0;  // of elements_, where these double
};

// A cluster and its similarity in one number: the best is the largest, and among equals the oldest cluster. 0
// is none.
using FoundCluster = uint64_t;
SIMJOIN_HOST_DEVICE inline FoundCluster found_cluster(uint32_t similarity, uint32_t cluster) {
  return uint64_t{similarity} << 32 | (UINT32_MAX - cluster);
}
SIMJOIN_HOST_DEVICE inline uint32_t cluster_of(FoundCluster found) {
  return UINT32_MAX - static_cast<uint32_t>(found);
}
SIMJOIN_HOST_DEVICE inline uint32_t similarity_of(FoundCluster found) {
  return static_cast<uint32_t>(found >> 32);
}

// Returns the least length, in units of 2^-30, of the part of a document that a centroid has to share for
// this similarity: by the inequality of Cauchy and Schwarz, with some slack for the rounding of weights.
SIMJOIN_HOST_DEVICE inline double least_shared_length(uint32_t similarity) {
  constexpr double slack = 1 - 1e-5;
  return (static_cast<double>(similarity) - 0.5) * (1 << (weight_bits - similarity_bits)) * slack;
}

// A term and a cluster that has it.
struct ClusterPosting {
  uint32_t term;
  uint32_t cluster;
};

// The changes that new centroids make beside themselves: the terms that the old centroids lacked.
struct IndexChange {
  // A centroid that has no room in the place of the old one.
  struct Outgrown {
    uint32_t cluster;
    std::vector<TermWeight> centroid;
  };

  std::vector<uint32_t> clusters;
  std::vector<ClusterPosting> postings;
  std::vector<Outgrown> outgrown;
  size_t old_terms = 0;  // of the old centroids
  size_t new_terms = 0;  // of the new centroids
};

// The centroids of clusters 0, 1, ... and, for each term, the list of the clusters whose centroids have it. A
// list may also have clusters that had the term once, or a cluster twice, since candidates are verified. When
// most postings are of that kind, they are cleared out. Another object may hold the lists and follow the
// changes.
class ClusterIndex {
 public:
  // `shared_lists` is not 0 for an index of this many terms at a time. The index has about as many lists,
  // which terms share by their hash. So the lists stay in a core's cache for any number of terms.
  explicit ClusterIndex(MemoryCounter &memory, size_t shared_lists = 0);

  uint32_t clusters() const { return clusters_; }
  // Adds a cluster with an empty centroid that has room for `terms`. Throws Error limit_exceeded at 2^32 - 1
  // clusters.
  void add_cluster(size_t terms = 0);
  // The centroid: a unit vector, terms ascending. Throws Cancelled.
  void set_centroid(uint32_t cluster, std::span<const TermWeight> centroid,
                    const StopFlag &stop = StopFlag());
  // The same in two steps. Several threads can do the first step at a time, for different clusters and with
  // different changes, to which it adds. The second step leaves the change empty.
  void prepare_centroid(uint32_t cluster, std::span<const TermWeight> centroid, IndexChange &change);
  void apply(IndexChange &change, const StopFlag &stop);
  // A centroid that the lists do not have, and its way there.
  void set_unlisted_centroid(uint32_t cluster, std::span<const TermWeight> centroid) {
    centroids_.assign(cluster, centroid);
  }
  void list_centroid(uint32_t cluster);
  // Adds a cluster to the list of a term. The centroid may be in another index.
  void add_posting(uint32_t term, uint32_t cluster);
  std::span<const TermWeight> centroid(uint32_t cluster) const { return centroids_[cluster]; }
  std::span<const uint32_t> list(uint32_t term) const {
    const uint32_t list = list_of(term);
    return list < lists_.keys() ? lists_[list] : std::span<const uint32_t>();
  }
  void prefetch_region(uint32_t cluster) const { __builtin_prefetch(&centroids_.region(cluster)); }
  void prefetch_centroid(uint32_t cluster) const {
    const char *data = reinterpret_cast<const char *>(centroids_[cluster].data());
    for (size_t line = 0; line < 3; ++line) __builtin_prefetch(data + 64 * line);
  }
  // Returns whether a document shares enough with the terms of all clusters together to be this similar to
  // one. A quick answer from few cache lines. With many terms it is always true.
  bool may_have(std::span<const TermWeight> document, uint32_t similarity) const;
  // Forgets all clusters. Only for an index with shared lists. Throws Cancelled.
  void clear(const StopFlag &stop = StopFlag());

  // Lets another object have lists and report its changes to it. The index may keep its own lists, too.
  void give_lists_away(bool keep = false);
  // Ends that, and makes the lists anew if the index has none. Throws Cancelled.
  void take_lists_back(const StopFlag &stop);
  // For who has the lists, and a copy of the centroids: what has changed since mark_copied(). Where
  // lists_are_stale(), they are to be made anew from the centroids, which have no terms from term_end() on.
  // A cluster that changed several times is reported several times, unless these reports are dropped.
  bool lists_are_stale() const { return lists_are_stale_; }
  std::span<const ClusterPosting> new_postings() const { return new_postings_; }
  uint32_t term_end() const { return term_end_; }
  size_t centroid_terms() const { return centroid_terms_; }
  const RegionPool<TermWeight> &centroids() const { return centroids_; }
  std::span<const uint32_t> changed_centroids() const { return changed_centroids_; }
  void drop_repeated_reports();
  void mark_copied();

 private:
  static constexpr size_t known_bits = size_t{1} << 16;

  static size_t known_bit(uint32_t term) { return term * term_spread >> 16; }
  uint32_t list_of(uint32_t term) const {
    return list_shift_ == 0 ? term : term * term_spread >> list_shift_;
  }
  void append(std::span<const ClusterPosting> postings, const StopFlag &stop);
  void clear_out(const StopFlag &stop);
  void make_lists(const StopFlag &stop);

  MemoryCounter *memory_;
  int list_shift_;
  uint32_t clusters_ = 0;
  RegionPool<uint32_t> lists_;
  RegionPool<TermWeight> centroids_;
  size_t postings_ = 0;        // elements of all lists
  size_t centroid_terms_ = 0;  // of all centroids
  uint32_t term_end_ = 0;
  bool has_lists_ = true;
  bool reports_ = false;
  bool lists_are_stale_ = true;
  std::vector<ClusterPosting> new_postings_;
  std::vector<uint32_t> changed_centroids_;
  std::vector<uint32_t> used_lists_;  // of the shared lists
  std::vector<uint64_t> known_;       // a bit for each term that a list has; several terms may share a bit
  IndexChange change_;                // scratch of set_centroid()
};

// The search of one thread.
class ClusterSearch {
 public:
  explicit ClusterSearch(MemoryCounter &memory) : seen_(memory) {}

  // Which clusters of an index are searched.
  struct Among {
    uint32_t first = 0;                   // from this one on
    uint32_t without = UINT32_MAX;        // but not this one
    const ClusterIndex *lists = nullptr;  // only those that are listed here
  };

  // Returns the most similar cluster of the index with at least this similarity, which must be above 0.
  // Throws Cancelled.
  FoundCluster find(const ClusterIndex &index, std::span<const TermWeight> document, uint32_t least,
                    const StopFlag &stop, const Among &among);
  FoundCluster find(const ClusterIndex &index, std::span<const TermWeight> document, uint32_t least,
                    const StopFlag &stop) {
    return find(index, document, least, stop, Among());
  }

 private:
  struct ListOfTerm {
    size_t size;
    uint32_t term;
    uint32_t weight;
  };

  bool start(const ClusterIndex &lists, std::span<const TermWeight> document, double needed_square);
  void begin_seen(uint32_t clusters);
  // Returns the slot of the term, or the empty slot for it.
  size_t slot_of(uint32_t term) const {
    const uint32_t hash = term * term_spread;
    return probe(static_cast<size_t>(uint64_t{hash} >> table_shift_), table_.size(),
                 [&](size_t slot) { return table_[slot].weight == 0 || table_[slot].term == term; });
  }
  uint64_t product(std::span<const TermWeight> centroid) const;
  void search_list(const ClusterIndex &index, std::span<const uint32_t> list, uint32_t least, uint32_t first,
                   FoundCluster &best, const StopFlag &stop);

  std::vector<ListOfTerm> lists_;
  std::vector<TermWeight> table_;  // the document's weights by term, open addressing; weight 0 = empty
  uint32_t table_shift_ = 0;
  Buffer<uint32_t> seen_;  // the search in which each cluster was last looked at
  uint32_t search_ = 0;
};

}  // namespace simjoin
