// Writes the sets of a side to the temporary file, cut into slices by ascending size.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/spill_file.hpp"
#include "core/base/worker_pool.hpp"
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

// A set in the file: this, then its ranks.
struct SetHeader {
  uint32_t row;
  uint32_t size;
  uint32_t stored;
};
inline constexpr size_t header_words = sizeof(SetHeader) / sizeof(uint32_t);

// Returns the words of a set with `ranks` stored ranks.
inline size_t record_words(uint32_t ranks) {
  return header_words + ranks;
}

// A side in the file: no slice has smaller sets than the one before.
struct SlicedSide {
  SizeClasses sizes;
  std::vector<Slice> slices;
};

class SliceWriter {
 public:
  // Plans slices of about `slice_bytes`; a set that is larger has one to itself. Large classes of sizes for
  // which only_equal() holds, sets whose partners are equal ones, are cut into buckets.
  SliceWriter(const RawSets &raw, bool keep_empty, size_t slice_bytes,
              const std::function<bool(uint32_t size)> &only_equal, SpillFile &file, const StopFlag &stop,
              MemoryCounter &memory);

  // Writes the sets to their slices and releases those of `raw`, all but their sizes. Uses about
  // `buffer_bytes`. Called once.
  SlicedSide write(RawSets &raw, const Ranking &ranking, size_t buffer_bytes, WorkerPool &pool);

 private:
  void cut_slices(size_t slice_bytes, const std::function<bool(uint32_t size)> &only_equal);
  void cut_buckets(uint32_t k, uint64_t bytes, size_t slice_bytes);
  void assign_slices(const RawSets &raw, const RawBlock &block, const std::vector<uint32_t> &stored,
                     std::vector<uint32_t> &slice_of);
  uint32_t slice_in_bucket(uint32_t k, const uint32_t *ranks);
  void append(size_t slice, const SetHeader &header, const uint32_t *ranks);
  void flush(size_t slice);

  const bool keep_empty_;
  SpillFile &file_;
  const StopFlag &stop_;
  SizeClasses sizes_;
  std::vector<Slice> slices_;
  std::vector<uint32_t> slice_end_;   // by slice: the number of the first set after it
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
