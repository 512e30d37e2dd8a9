// The sets of a side in the temporary file, cut into slices by ascending size, each of which can be read
// alone.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/spill_file.hpp"
#include "core/base/worker_pool.hpp"
#include "core/measure.hpp"
#include "core/rounds/beyond_memory/round_ranks.hpp"
#include "core/sets/ranking.hpp"
#include "core/sets/raw_sets.hpp"
#include "core/sets/set_collection.hpp"

namespace simjoin {

// Some of the sets of some neighbouring classes: no set is smaller than those of the slice before.
struct Slice {
  uint32_t sets = 0;
  uint32_t class_begin = 0;  // of the side's classes
  uint32_t class_end = 0;
  uint64_t tokens = 0;  // the sum of the sizes
  uint64_t place = 0;   // in the file
  uint64_t words = 0;   // written there
  // Equal sets of one class are in slices of one bucket, which has no other sets; 0 where that is not known.
  uint32_t bucket = 0;
};

// Slices in memory, one after the other.
struct Records {
  explicit Records(MemoryCounter &memory) : words(memory) {}

  size_t begin(size_t i) const { return i == 0 ? 0 : ends[i - 1]; }

  Buffer<uint32_t> words;
  std::vector<size_t> ends;  // of each slice
};

class SlicedSets {
 public:
  // Plans slices of about `slice_bytes`; a set that is larger has one to itself. Large classes of sizes for
  // which only_equal() holds, sets whose partners are equal ones, are cut into buckets.
  SlicedSets(const RawSets &raw, bool keep_empty, size_t slice_bytes,
             const std::function<bool(uint32_t size)> &only_equal, SpillFile &file, const StopFlag &stop,
             MemoryCounter &memory);

  // Writes the sets to their slices and releases those of `raw`, all but their sizes. Uses about
  // `buffer_bytes`.
  void take(RawSets &raw, const Ranking &ranking, size_t buffer_bytes, WorkerPool &pool);

  const std::vector<SizeClass> &classes() const { return sizes_.classes; }
  const std::vector<Slice> &slices() const { return slices_; }
  // Returns the size of the smallest set of a slice, and of the largest.
  uint32_t smallest(const Slice &slice) const { return classes()[slice.class_begin].size; }
  uint32_t largest(const Slice &slice) const { return classes()[slice.class_end - 1].size; }

  // Returns how many ranks of its sets a slice has in the file.
  static uint64_t stored_tokens(const Slice &slice) {
    return slice.words - uint64_t{slice.sets} * header_words;
  }
  // Marks the ranks of the slices.
  void mark_ranks(std::span<const Slice *const> slices, RoundRanks &local, WorkerPool &pool,
                  MemoryCounter &memory) const;
  // Returns the collection of the sets of these slices, all of whose ranks are marked, with local ranks; with
  // their own where there are no local ones (null). Sets `ranks` in it to their number. Reads slices twice
  // rather than to have them in memory twice.
  SetCollection load(std::span<const Slice> slices, const RoundRanks *local, uint32_t ranks, WorkerPool &pool,
                     MemoryCounter &memory) const;
  // Returns the collection of the sets of these slices, in ascending order, with local ranks. Ranks without
  // are dropped; sets of the class k that keep less than least[k - the first class] are left out. By all
  // threads of a pool, where there is one.
  SetCollection collect(std::span<const Slice *const> slices, const RoundRanks &local,
                        std::span<const uint32_t> least, WorkerPool *pool, MemoryCounter &memory) const;

 private:
  // A set in the file: this, then its ranks.
  struct Header {
    uint32_t row;
    uint32_t size;
    uint32_t stored;
  };
  // Of a set in a collection, or how many sets and tokens.
  struct Place {
    uint32_t set = 0;
    uint64_t token = 0;
  };
  static constexpr size_t header_words = sizeof(Header) / sizeof(uint32_t);

  // How many sets and tokens there are of each class of a slice; then where in a collection the next one
  // goes.
  struct Places {
    Place &of(uint32_t k) { return places[k - class_begin]; }

    uint32_t class_begin = 0;
    std::vector<Place> places;
  };

  static size_t record_words(uint32_t size) { return header_words + size; }
  void cut_slices(size_t slice_bytes, const std::function<bool(uint32_t size)> &only_equal);
  void cut_buckets(uint32_t k, uint64_t bytes, size_t slice_bytes);
  void assign_slices(const RawSets &raw, const RawBlock &block, const std::vector<uint32_t> &stored,
                     std::vector<uint32_t> &slice_of);
  uint32_t slice_in_bucket(uint32_t k, const uint32_t *ranks);
  void append(size_t slice, const Header &header, const uint32_t *ranks);
  void flush(size_t slice);
  void read(std::span<const Slice *const> slices, Records &records, WorkerPool *pool) const;
  static Places places_of(const Slice &slice);
  size_t localise(Records &records, size_t slice, const RoundRanks &local, uint32_t class_begin,
                  std::span<const uint32_t> least, Places &kept) const;
  void make_room(std::vector<Places> &parts, SetCollection &sets) const;
  template <typename Visit>
  void visit(const uint32_t *words, size_t end, Visit &&visit_set) const;
  template <typename Visit>
  void visit_slice(const Slice &slice, MemoryCounter &memory, Visit &&visit_set) const;

  const bool keep_empty_;
  SpillFile &file_;
  const StopFlag &stop_;
  SizeClasses sizes_;
  std::vector<Slice> slices_;
  std::vector<uint32_t> slice_end_;  // by slice: the number of the first set after it

  // While sets are taken.
  std::vector<uint32_t> next_set_;    // by class
  std::vector<uint32_t> next_slice_;  // by class; of one with buckets, the first slice
  std::vector<uint32_t> buckets_;     // by class: how many it has, in slices of their own
  std::vector<uint32_t> last_slice_;  // by slice: the last one of its bucket
  uint64_t bucket_words_ = 0;         // room of a slice of a bucket
  Buffer<uint32_t> buffers_;          // one a slice
  std::vector<uint32_t> buffered_;    // words in each
  size_t buffer_words_ = 0;
};

}  // namespace simjoin
