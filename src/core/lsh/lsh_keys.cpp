#include "core/lsh/lsh_keys.hpp"

#include <algorithm>

namespace simjoin {
namespace {

// Hashes are counted by this many of their bits at a time.
constexpr int counted_bits = 10;

// Returns the last hash that has all but the lowest bits of `first`.
uint64_t last_of(uint64_t first, int bits) {
  return bits == 64 ? UINT64_MAX : first | ((uint64_t{1} << bits) - 1);
}

bool contains(const LshKeys::Range &range, uint64_t hash) {
  return range.first <= hash && hash <= range.last;
}

}  // namespace

std::vector<LshKeys::Range> LshKeys::ranges(uint32_t band, WorkerPool &pool) const {
  std::vector<Range> ranges;
  if (rows_.rows() <= most_)
    ranges.push_back({0, UINT64_MAX, rows_.rows()});
  else
    cut(band, {0, 64}, ranges, pool);
  return ranges;
}

// Appends the ranges of the hashes that begin with the prefix.
void LshKeys::cut(uint32_t band, Prefix prefix, std::vector<Range> &ranges, WorkerPool &pool) const {
  const int cell_bits = std::max(prefix.bits - counted_bits, 0);
  const std::vector<uint64_t> counts = count(band, prefix, cell_bits, pool);
  bool open = false;  // whether the last range may have further hashes
  for (size_t cell = 0; cell < counts.size(); ++cell) {
    const uint64_t first = prefix.first + (uint64_t{cell} << cell_bits);
    if (counts[cell] > most_ && cell_bits > 0) {
      cut(band, {first, cell_bits}, ranges, pool);
      open = false;
    } else if (counts[cell] > 0) {
      if (!open || ranges.back().rows + counts[cell] > most_) ranges.push_back({first, 0, 0});
      ranges.back().last = last_of(first, cell_bits);
      ranges.back().rows += counts[cell];
      open = counts[cell] <= most_;
    }
  }
}

// Returns the number of rows whose hash begins with the prefix, by the bits that follow it.
std::vector<uint64_t> LshKeys::count(uint32_t band, Prefix prefix, int cell_bits, WorkerPool &pool) const {
  const size_t cells = size_t{1} << (prefix.bits - cell_bits);
  const Range range = {prefix.first, last_of(prefix.first, prefix.bits), 0};
  std::vector<std::vector<uint64_t>> counts(static_cast<size_t>(pool.workers()));
  pool.parallel(rows_.pieces(), [&](int worker, size_t piece) {
    pool.stop().check();
    std::vector<uint64_t> &own = counts[static_cast<size_t>(worker)];
    own.resize(cells);
    rows_.visit_hashes(band, piece, [&](uint32_t, uint64_t hash) {
      if (contains(range, hash)) ++own[(hash - prefix.first) >> cell_bits];
    });
  });
  std::vector<uint64_t> sum(cells);
  for (const std::vector<uint64_t> &own : counts)
    for (size_t cell = 0; cell < own.size(); ++cell) sum[cell] += own[cell];
  return sum;
}

std::span<const SortKey> LshKeys::sorted(uint32_t band, const Range &range, WorkerPool &pool) {
  // A bucket that does not fit has its keys alone, and not for long.
  if (keys_.size() > most_) keys_.release();
  if (is_too_large(range)) scratch_.release();
  take(band, range, pool);
  if (range.first < range.last) device_.sort(keys_, scratch_, pool, memory_);
  return {keys_.data(), keys_.size()};
}

// Sets keys_ to the hashes in a range, by their rows.
void LshKeys::take(uint32_t band, const Range &range, WorkerPool &pool) {
  std::vector<size_t> ends(rows_.pieces() + 1);
  const bool all = range.first == 0 && range.last == UINT64_MAX;
  pool.parallel(rows_.pieces(), [&](int, size_t piece) {
    pool.stop().check();
    size_t count = 0;
    if (all) {
      rows_.visit_rows(piece, [&](uint32_t) { ++count; });
    } else {
      rows_.visit_hashes(band, piece, [&](uint32_t, uint64_t hash) { count += contains(range, hash); });
    }
    ends[piece + 1] = count;
  });
  for (size_t piece = 0; piece < rows_.pieces(); ++piece) ends[piece + 1] += ends[piece];
  keys_.resize(ends.back());
  pool.parallel(rows_.pieces(), [&](int, size_t piece) {
    pool.stop().check();
    SortKey *key = keys_.data() + ends[piece];
    rows_.visit_hashes(band, piece, [&](uint32_t row, uint64_t hash) {
      if (contains(range, hash)) *key++ = {row, hash};
    });
  });
}

Buffer<SortKey> LshKeys::keys_of_piece(uint32_t band, const Range &range, size_t piece) const {
  Buffer<SortKey> keys(memory_);
  rows_.visit_hashes(band, piece, [&](uint32_t row, uint64_t hash) {
    if (contains(range, hash)) keys.push_back({row, hash});
  });
  return keys;
}

}  // namespace simjoin
