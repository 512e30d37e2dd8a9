#include "core/rounds/beyond_memory/slice_writer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/check.hpp"

namespace simjoin {
namespace {

constexpr size_t least_buffer_words = 64;  // of a slice
constexpr size_t most_buffer_words = size_t{1} << 14;

constexpr uint32_t no_slice = UINT32_MAX;

}  // namespace

SliceWriter::SliceWriter(const RawSets &raw, bool keep_empty, size_t slice_bytes,
                         const std::function<bool(uint32_t size)> &only_equal, SpillFile &file,
                         const StopFlag &stop, MemoryCounter &memory)
    : keep_empty_(keep_empty),
      file_(file),
      stop_(stop),
      sizes_(classes_of(raw.sizes, keep_empty, stop, memory)),
      buffers_(memory) {
  cut_slices(slice_bytes, only_equal);
  // What tokens without a rank leave free is never written.
  for (Slice &slice : slices_) {
    const uint64_t words =
        slice.bucket != 0 ? bucket_words_ : slice.tokens + uint64_t{slice.sets} * header_words;
    slice.place = file.reserve(words * sizeof(uint32_t));
  }
}

// Cuts the classes, and large ones within, into slices.
void SliceWriter::cut_slices(size_t slice_bytes, const std::function<bool(uint32_t size)> &only_equal) {
  uint64_t bytes = 0;  // of the last slice
  for (uint32_t k = 0; k < sizes_.classes.size(); ++k) {
    const SizeClass &c = sizes_.classes[k];
    const uint64_t record = record_words(c.size) * sizeof(uint32_t);
    next_set_.push_back(c.begin);
    buckets_.push_back(0);
    if ((c.end - c.begin) * record > slice_bytes && only_equal(c.size)) {
      next_slice_.push_back(static_cast<uint32_t>(slices_.size()));
      cut_buckets(k, (c.end - c.begin) * record, slice_bytes);
      bytes = slice_bytes;
      continue;
    }
    for (uint32_t begin = c.begin; begin < c.end;) {
      if (slices_.empty() || bytes + record > slice_bytes) {
        slices_.push_back({.class_begin = k, .class_end = k});
        slice_end_.push_back(begin);
        bytes = 0;
      }
      if (begin == c.begin) next_slice_.push_back(static_cast<uint32_t>(slices_.size() - 1));
      const uint64_t room = bytes < slice_bytes ? (slice_bytes - bytes) / record : 0;
      const auto sets = static_cast<uint32_t>(std::clamp<uint64_t>(room, 1, c.end - begin));
      Slice &slice = slices_.back();
      slice.sets += sets;
      slice.class_end = k + 1;
      slice.tokens += uint64_t{sets} * c.size;
      bytes += sets * record;
      begin += sets;
      slice_end_.back() = begin;
    }
  }
}

// Makes a bucket of each slice of a class with `bytes` bytes in all. Equal sets and chance make some of them
// larger than others; what is beyond the room of a slice goes to one more.
void SliceWriter::cut_buckets(uint32_t k, uint64_t bytes, size_t slice_bytes) {
  constexpr uint64_t filled = 2, room = 3;  // on average, this part of the room
  bucket_words_ = slice_bytes / sizeof(uint32_t) + record_words(sizes_.classes[k].size);
  buckets_[k] = static_cast<uint32_t>(bytes * room / (slice_bytes * filled) + 1);
  for (uint32_t bucket = 1; bucket <= buckets_[k]; ++bucket) {
    slices_.push_back({.class_begin = k, .class_end = k + 1, .bucket = bucket});
    slice_end_.push_back(sizes_.classes[k].end);
  }
}

// The blocks are ranked by all workers, as many at a time as there are workers, and assigned to slices in
// order: so the slices do not depend on the number of workers. Then each worker deals out the sets of
// some slices.
SlicedSide SliceWriter::write(RawSets &raw, const Ranking &ranking, size_t buffer_bytes, WorkerPool &pool) {
  SIMJOIN_CHECK(buffered_.empty() && next_set_.size() == sizes_.classes.size());  // called once
  const size_t each = buffer_bytes / sizeof(uint32_t) / std::max<size_t>(1, slices_.size());
  buffer_words_ = std::clamp(each, least_buffer_words, most_buffer_words);
  buffers_.resize(buffer_words_ * slices_.size());
  buffered_.assign(slices_.size(), 0);
  for (uint32_t slice = 0; slice < slices_.size(); ++slice) last_slice_.push_back(slice);
  const auto workers = static_cast<size_t>(pool.workers());
  std::vector<std::vector<uint32_t>> stored(workers), slice_of(workers);
  for (size_t first = 0; first < raw.blocks.size(); first += workers) {
    const size_t count = std::min(workers, raw.blocks.size() - first);
    pool.parallel(count, [&](int, size_t i) {
      RawBlock &block = raw.blocks[first + i];
      raw.load(block, file_);
      stored[i].resize(block.rows);
      apply_ranks_in_order(raw, block, ranking, stored[i].data(), stop_);
    });
    for (size_t i = 0; i < count; ++i) assign_slices(raw, raw.blocks[first + i], stored[i], slice_of[i]);
    pool.parallel(workers, [&](int, size_t dealer) {
      for (size_t i = 0; i < count; ++i) {
        stop_.check();
        const RawBlock &block = raw.blocks[first + i];
        const uint32_t *ranks = block.ids.data();
        for (uint32_t r = 0; r < block.rows; ++r) {
          const uint32_t row = block.first_row + r, size = raw.sizes[row], slice = slice_of[i][r];
          if (slice % workers == dealer && slice != no_slice) append(slice, {row, size, stored[i][r]}, ranks);
          ranks += size;
        }
      }
    });
    for (size_t i = 0; i < count; ++i) raw.blocks[first + i].ids.release();
  }
  pool.parallel(slices_.size(), [&](int, size_t slice) { flush(slice); });
  raw.blocks.clear();
  buffers_.release();
  std::erase_if(slices_, [](const Slice &slice) { return slice.sets == 0; });
  // Later slices of a bucket follow the first one.
  std::stable_sort(slices_.begin(), slices_.end(), [](const Slice &a, const Slice &b) {
    return a.class_begin != b.class_begin ? a.class_begin < b.class_begin : a.bucket < b.bucket;
  });
  return {std::move(sizes_), std::move(slices_)};
}

// Finds the slice of each of a block's rows, no_slice for those that are left out.
void SliceWriter::assign_slices(const RawSets &raw, const RawBlock &block,
                                const std::vector<uint32_t> &stored, std::vector<uint32_t> &slice_of) {
  slice_of.assign(block.rows, no_slice);
  const uint32_t *ranks = block.ids.data();
  for (uint32_t r = 0; r < block.rows; ++r) {
    const uint32_t size = raw.sizes[block.first_row + r];
    const uint32_t *const set = ranks;
    ranks += size;
    if (size == 0 && !keep_empty_) continue;
    const uint32_t k = sizes_.class_of_size[size];
    if (buckets_[k] > 0) {
      // A token that was dropped is in one set only: the set has no equal.
      if (stored[r] == size) slice_of[r] = slice_in_bucket(k, set);
      continue;
    }
    const uint32_t number = next_set_[k]++;
    while (number >= slice_end_[next_slice_[k]]) ++next_slice_[k];
    slice_of[r] = next_slice_[k];
  }
}

// Returns the slice for the next set of a class with buckets, and counts the set there.
uint32_t SliceWriter::slice_in_bucket(uint32_t k, const uint32_t *ranks) {
  const uint32_t size = sizes_.classes[k].size;
  uint64_t hash = size;
  for (uint32_t i = 0; i < size; ++i) {
    hash = (hash ^ ranks[i]) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
  }
  // EqualSets sorts by a hash too. Another multiplier spreads a bucket's sets over all values of that one.
  const auto bucket = static_cast<uint32_t>((hash * 0xA24BAED4963EE407u >> 32) * buckets_[k] >> 32);
  uint32_t &last = last_slice_[next_slice_[k] + bucket];
  const uint64_t words = slices_[last].tokens + uint64_t{slices_[last].sets} * header_words;
  if (words + record_words(size) > bucket_words_) {
    Slice more = slices_[last];
    more.sets = 0;
    more.tokens = more.words = 0;
    more.place = file_.reserve(bucket_words_ * sizeof(uint32_t));
    last = static_cast<uint32_t>(slices_.size());
    slices_.push_back(more);
    buffers_.resize(buffer_words_ * slices_.size());
    buffered_.push_back(0);
  }
  ++slices_[last].sets;
  slices_[last].tokens += size;
  return last;
}

// Adds a set to its slice.
void SliceWriter::append(size_t slice, const SetHeader &header, const uint32_t *ranks) {
  SIMJOIN_CHECK(header.stored <= header.size && std::is_sorted(ranks, ranks + header.stored));
  const size_t words = record_words(header.stored);
  if (buffered_[slice] + words > buffer_words_) flush(slice);
  if (words > buffer_words_) {
    Slice &to = slices_[slice];
    file_.write(to.place + to.words * sizeof(uint32_t), &header, sizeof header);
    file_.write(to.place + (to.words + header_words) * sizeof(uint32_t), ranks,
                header.stored * sizeof(uint32_t));
    to.words += words;
    return;
  }
  uint32_t *to = buffers_.data() + slice * buffer_words_ + buffered_[slice];
  std::memcpy(to, &header, sizeof header);
  std::copy_n(ranks, header.stored, to + header_words);
  buffered_[slice] += static_cast<uint32_t>(words);
}

void SliceWriter::flush(size_t slice) {
  Slice &to = slices_[slice];
  file_.write(to.place + to.words * sizeof(uint32_t), buffers_.data() + slice * buffer_words_,
              buffered_[slice] * sizeof(uint32_t));
  to.words += buffered_[slice];
  buffered_[slice] = 0;
}

}  // namespace simjoin
