#include "core/sliced_sets.hpp"

#include <algorithm>
#include <cstring>

namespace simjoin {
namespace {

constexpr size_t least_buffer_words = 64;  // of a slice
constexpr size_t most_buffer_words = size_t{1} << 14;

// Looks at the stop flag every so many words of records.
class PeriodicCheck {
 public:
  explicit PeriodicCheck(const StopFlag &stop) : stop_(stop) {}
  void at(size_t word) {
    if (word < next_) return;
    stop_.check();
    next_ = word + interval;
  }

 private:
  static constexpr size_t interval = size_t{1} << 16;
  const StopFlag &stop_;
  size_t next_ = 0;
};

}  // namespace

SlicedSets::SlicedSets(const RawSets &raw, bool keep_empty, size_t slice_bytes, SpillFile &file,
                       const StopFlag &stop, MemoryCounter &memory)
    : keep_empty_(keep_empty),
      file_(file),
      stop_(stop),
      sizes_(classes_of(raw.sizes, keep_empty, stop, memory)),
      buffers_(memory) {
  const uint64_t bytes = cut_slices(slice_bytes);
  // What tokens without a rank leave free is never written.
  uint64_t place = file.reserve(bytes);
  for (Slice &slice : slices_) {
    slice.place = place;
    place += (slice.tokens + slice.sets * header_words) * sizeof(uint32_t);
  }
}

// Cuts the classes, and large ones within, into slices; returns the bytes of all.
uint64_t SlicedSets::cut_slices(size_t slice_bytes) {
  uint64_t total = 0, bytes = 0;  // of all slices; of the last one
  for (uint32_t k = 0; k < classes().size(); ++k) {
    const SizeClass &c = classes()[k];
    const uint64_t record = record_words(c.size) * sizeof(uint32_t);
    next_set_.push_back(c.begin);
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
      total += sets * record;
      begin += sets;
      slice_end_.back() = begin;
    }
  }
  return total;
}

// The blocks are ranked by all workers, as many at a time as there are workers, then dealt out in order: so
// the slices are the same whatever the number of workers.
void SlicedSets::take(RawSets &raw, const Ranking &ranking, size_t buffer_bytes, WorkerPool &pool) {
  const size_t each = buffer_bytes / sizeof(uint32_t) / std::max<size_t>(1, slices_.size());
  buffer_words_ = std::clamp(each, least_buffer_words, most_buffer_words);
  buffers_.resize(buffer_words_ * slices_.size());
  buffered_.assign(slices_.size(), 0);
  const auto workers = static_cast<size_t>(pool.workers());
  std::vector<std::vector<uint32_t>> stored(workers);
  for (size_t first = 0; first < raw.blocks.size(); first += workers) {
    const size_t count = std::min(workers, raw.blocks.size() - first);
    pool.parallel(count, [&](int, size_t i) {
      RawBlock &block = raw.blocks[first + i];
      raw.load(block, file_);
      stored[i].resize(block.rows);
      apply_ranks(raw, block, ranking, stored[i].data(), stop_);
    });
    for (size_t i = 0; i < count; ++i) {
      stop_.check();
      RawBlock &block = raw.blocks[first + i];
      const uint32_t *ranks = block.ids.data();
      for (uint32_t row = 0; row < block.rows; ++row) {
        const uint32_t size = raw.sizes[block.first_row + row];
        if (size > 0 || keep_empty_) append({block.first_row + row, size, stored[i][row]}, ranks);
        ranks += size;
      }
      block.ids.release();
    }
  }
  for (size_t slice = 0; slice < slices_.size(); ++slice) flush(slice);
  raw.blocks.clear();
  buffers_.release();
}

// Adds the next set of its size to its slice.
void SlicedSets::append(const Header &header, const uint32_t *ranks) {
  const uint32_t k = sizes_.class_of_size[header.size];
  const uint32_t number = next_set_[k]++;
  while (number >= slice_end_[next_slice_[k]]) ++next_slice_[k];
  const size_t slice = next_slice_[k];
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

void SlicedSets::flush(size_t slice) {
  Slice &to = slices_[slice];
  file_.write(to.place + to.words * sizeof(uint32_t), buffers_.data() + slice * buffer_words_,
              buffered_[slice] * sizeof(uint32_t));
  to.words += buffered_[slice];
  buffered_[slice] = 0;
}

void SlicedSets::read(const Slice &slice, Buffer<uint32_t> &records) const {
  const size_t before = records.size();
  records.resize(before + slice.words);
  file_.read(slice.place, records.data() + before, slice.words * sizeof(uint32_t));
}

void SlicedSets::mark_ranks(const Buffer<uint32_t> &records, size_t begin, LocalRanks &local) const {
  PeriodicCheck check(stop_);
  for (size_t at = begin; at < records.size();) {
    check.at(at);
    Header header;
    std::memcpy(&header, records.data() + at, sizeof header);
    at += header_words;
    for (const size_t end = at + header.stored; at < end; ++at) local.mark(records[at]);
  }
}

// Makes the ranks of the records local ones, in place, and moves the records that are kept up to each other;
// adds to `count`, by class, how many they are. Returns the words that are left.
size_t SlicedSets::localise(Buffer<uint32_t> &records, uint32_t class_begin, const LocalRanks &local,
                            std::span<const uint32_t> least, std::vector<uint32_t> &count) const {
  PeriodicCheck check(stop_);
  size_t kept_words = 0;
  for (size_t at = 0; at < records.size();) {
    check.at(at);
    Header header;
    std::memcpy(&header, records.data() + at, sizeof header);
    const uint32_t *from = records.data() + at + header_words;
    at += record_words(header.stored);
    uint32_t *to = records.data() + kept_words + header_words;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < header.stored; ++i) {
      to[kept] = local.of(from[i]);
      kept += to[kept] != LocalRanks::none;
    }
    const uint32_t k = sizes_.class_of_size[header.size] - class_begin;
    if (!least.empty() && kept < least[k]) continue;
    header.stored = kept;
    std::memcpy(records.data() + kept_words, &header, sizeof header);
    kept_words += record_words(kept);
    ++count[k];
  }
  return kept_words;
}

SetCollection SlicedSets::collect(Buffer<uint32_t> &records, uint32_t class_begin, uint32_t class_end,
                                  const LocalRanks &local, std::span<const uint32_t> least,
                                  MemoryCounter &memory) const {
  std::vector<uint32_t> next(class_end - class_begin, 0);  // by class: its sets, then the number of the next
  const size_t words = localise(records, class_begin, local, least, next);
  SetCollection sets(memory);
  sets.ranks = local.marked();
  uint32_t placed = 0;
  for (uint32_t k = class_begin; k < class_end; ++k) {
    const uint32_t count = std::exchange(next[k - class_begin], placed);
    if (count > 0) sets.classes.push_back({classes()[k].size, placed, placed + count});
    placed += count;
  }
  sets.rows.resize(placed);
  sets.starts.resize(size_t{placed} + 1, 0);
  PeriodicCheck check(stop_), check_again(stop_);
  for (size_t at = 0; at < words;) {
    check.at(at);
    Header header;
    std::memcpy(&header, records.data() + at, sizeof header);
    const uint32_t set = next[sizes_.class_of_size[header.size] - class_begin]++;
    sets.rows[set] = header.row;
    sets.starts[set + 1] = header.stored;
    header.row = set;  // for the second time over the records
    std::memcpy(records.data() + at, &header, sizeof header);
    at += record_words(header.stored);
  }
  for (uint32_t set = 0; set < placed; ++set) sets.starts[set + 1] += sets.starts[set];
  sets.tokens.resize(sets.starts[placed]);
  for (size_t at = 0; at < words;) {
    check_again.at(at);
    Header header;
    std::memcpy(&header, records.data() + at, sizeof header);
    at += header_words;
    std::copy_n(records.data() + at, header.stored, sets.tokens.data() + sets.starts[header.row]);
    at += header.stored;
  }
  return sets;
}

}  // namespace simjoin
