// The sets of a side in the temporary file, cut into slices by ascending size, each of which can be read
// alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/local_ranks.hpp"
#include "core/measure.hpp"
#include "core/memory.hpp"
#include "core/ranking.hpp"
#include "core/raw_sets.hpp"
#include "core/set_collection.hpp"
#include "core/spill_file.hpp"
#include "core/worker_pool.hpp"

namespace simjoin {

// Some of the sets of some neighbouring classes: no set is smaller than those of the slice before.
struct Slice {
  uint32_t sets = 0;
  uint32_t class_begin = 0;  // of the side's classes
  uint32_t class_end = 0;
  uint64_t tokens = 0;  // the sum of the sizes
  uint64_t place = 0;   // in the file
  uint64_t words = 0;   // written there
};

class SlicedSets {
 public:
  // Plans slices of about `slice_bytes`; a set that is larger has one to itself.
  SlicedSets(const RawSets &raw, bool keep_empty, size_t slice_bytes, SpillFile &file, const StopFlag &stop,
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
  // Appends the slice's sets to `records` as they are in the file.
  void read(const Slice &slice, Buffer<uint32_t> &records) const;
  // Marks the ranks that the records from the one at `begin` on contain.
  void mark_ranks(const Buffer<uint32_t> &records, size_t begin, LocalRanks &local) const;
  // Returns the collection of the records' sets, all of the classes [class_begin, class_end), with local
  // ranks. Ranks without are dropped; sets of the class k that keep less than least[k - class_begin] are left
  // out. Uses up the records.
  SetCollection collect(Buffer<uint32_t> &records, uint32_t class_begin, uint32_t class_end,
                        const LocalRanks &local, std::span<const uint32_t> least,
                        MemoryCounter &memory) const;

 private:
  // A set in the file: this, then its ranks.
  struct Header {
    uint32_t row;
    uint32_t size;
    uint32_t stored;
  };
  static constexpr size_t header_words = sizeof(Header) / sizeof(uint32_t);

  static size_t record_words(uint32_t size) { return header_words + size; }
  uint64_t cut_slices(size_t slice_bytes);
  void append(const Header &header, const uint32_t *ranks);
  void flush(size_t slice);
  size_t localise(Buffer<uint32_t> &records, uint32_t class_begin, const LocalRanks &local,
                  std::span<const uint32_t> least, std::vector<uint32_t> &count) const;

  const bool keep_empty_;
  SpillFile &file_;
  const StopFlag &stop_;
  SizeClasses sizes_;
  std::vector<Slice> slices_;
  std::vector<uint32_t> slice_end_;  // by slice: the number of the first set after it

  // While sets are taken.
  std::vector<uint32_t> next_set_;    // by class
  std::vector<uint32_t> next_slice_;  // by class
  Buffer<uint32_t> buffers_;          // one a slice
  std::vector<uint32_t> buffered_;    // words in each
  size_t buffer_words_ = 0;
};

}  // namespace simjoin
