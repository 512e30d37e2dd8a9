// The slices of a side in the temporary file, each of which can be read alone.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/spill_file.hpp"
#include "core/base/worker_pool.hpp"
#include "core/rounds/beyond_memory/round_ranks.hpp"
#include "core/rounds/beyond_memory/slice_writer.hpp"
#include "core/sets/set_collection.hpp"

namespace simjoin {

// Slices in memory, one after the other.
struct Records {
  explicit Records(MemoryCounter &memory) : words(memory) {}

  size_t begin(size_t i) const { return i == 0 ? 0 : ends[i - 1]; }

  Buffer<uint32_t> words;
  std::vector<size_t> ends;  // of each slice
};

class SlicedSets {
 public:
  SlicedSets(SlicedSide side, const SpillFile &file, const StopFlag &stop)
      : file_(file), stop_(stop), sizes_(std::move(side.sizes)), slices_(std::move(side.slices)) {}

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
  using Header = SetHeader;
  // Of a set in a collection, or how many sets and tokens.
  struct Place {
    uint32_t set = 0;
    uint64_t token = 0;
  };
  // How many sets and tokens there are of each class of a slice; then where in a collection the next one
  // goes.
  struct Places {
    Place &of(uint32_t k) { return places[k - class_begin]; }

    uint32_t class_begin = 0;
    std::vector<Place> places;
  };

  void read(std::span<const Slice *const> slices, Records &records, WorkerPool *pool) const;
  static Places places_of(const Slice &slice);
  size_t localise(Records &records, size_t slice, const RoundRanks &local, uint32_t class_begin,
                  std::span<const uint32_t> least, Places &kept) const;
  void make_room(std::vector<Places> &parts, SetCollection &sets) const;
  template <typename Visit>
  void visit(const uint32_t *words, size_t end, Visit &&visit_set) const;
  template <typename Visit>
  void visit_slice(const Slice &slice, MemoryCounter &memory, Visit &&visit_set) const;

  const SpillFile &file_;
  const StopFlag &stop_;
  SizeClasses sizes_;
  std::vector<Slice> slices_;
};

}  // namespace simjoin
