#include "core/plain_values.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

#include "core/interner.hpp"

namespace simjoin {
namespace {

// Values in a range of so many, whatever the collection, or of so many a token, are counted in a table with
// an entry for each; others are looked up in a hash table.
constexpr uint64_t dense_free = uint64_t{1} << 16;
constexpr uint64_t dense_per_token = 2;
// Several tables have no more entries than so many a token, so that nothing takes more memory than sorting
// the sets does.
constexpr uint64_t copied_per_token = 1;
constexpr size_t check_interval = size_t{1}
                                  << 16;  // tokens, or table entries, between looks at the stop flag

// Values compare as the numbers that this makes of them do.
constexpr uint32_t sign_bit = uint32_t{1} << 31;
uint32_t number_of(int32_t value) {
  return static_cast<uint32_t>(value) ^ sign_bit;
}

// Runs body(block) with the block's ids in memory.
template <typename Body>
void with_ids(const RawSets &raw, RawBlock &block, const SpillFile *file, Body &&body) {
  const bool in_file = block.ids.empty() && block.tokens > 0;
  if (in_file) raw.load(block, *file);
  body(block);
  if (in_file) block.ids.release();
}

// Makes ids of a block's numbers, in their place.
void intern_block(IntegerInterner &interner, Side side, const RawSets &raw, RawBlock &block,
                  const StopFlag &stop) {
  uint32_t *ids = block.ids.data();
  size_t unchecked = 0;  // tokens since the last look at the stop flag
  for (uint32_t row = block.first_row; row < block.first_row + block.rows; ++row) {
    const uint32_t size = raw.sizes[row];
    if ((unchecked += size) >= check_interval) {
      stop.check();
      unchecked = 0;
    }
    for (uint32_t i = 0; i < size; ++i) ids[i] ^= sign_bit;
    // The values are distinct, and an id is never written before the value there was read.
    interner.intern(side, std::span(reinterpret_cast<const int32_t *>(ids), size), ids);
    ids += size;
  }
}

}  // namespace

uint32_t PlainValues::take(std::span<const int32_t> tokens, uint32_t *numbers) {
  size_t count = tokens.size();
  if (count == 0) return 0;
  bool ascending = true;
  numbers[0] = number_of(tokens[0]);
  for (size_t i = 1; i < count; ++i) {
    ascending &= tokens[i - 1] < tokens[i];
    numbers[i] = number_of(tokens[i]);
  }
  if (!ascending) {
    sort_(numbers, count);
    count = static_cast<size_t>(std::unique(numbers, numbers + count) - numbers);
  }
  smallest_ = std::min(smallest_, numbers[0]);
  largest_ = std::max(largest_, numbers[count - 1]);
  sample_.add(numbers, count);
  return static_cast<uint32_t>(count);
}

bool PlainValues::dense(uint64_t tokens) const {
  const uint64_t sides = self_join_ ? 1 : 2;
  return span() < UINT32_MAX && span() * sides <= std::max(dense_free, dense_per_token * tokens);
}

size_t PlainValues::ranking_bytes(uint64_t tokens) const {
  // Of each distinct value: what an interner has, its hash table being half full, and is moved where it
  // grows.
  constexpr size_t interned = 72;
  if (dense(tokens)) return span() * sizeof(uint32_t) * (self_join_ ? 1 : 2);
  return std::min(tokens, distinct_values()) * interned;
}

Ranking PlainValues::rank(RawSets &left, RawSets &right, SpillFile *file, size_t extra_bytes,
                          WorkerPool &pool) const {
  RawSets *const sides[] = {&left, &right};
  const uint64_t tokens = left.tokens() + right.tokens();
  if (tokens == 0) return Ranking(memory_);
  if (!dense(tokens)) return rank_sparse(sides, file, pool);
  if (file != nullptr) {
    RangedNumbers numbers{{&left}, smallest_, span()};
    if (!self_join_) numbers.sides.push_back(&right);
    if (RangedRanks::takes(numbers)) return rank_ranges(numbers, *file, extra_bytes, pool);
  }
  const uint64_t entries = std::min<uint64_t>(extra_bytes / sizeof(uint32_t), copied_per_token * tokens);
  const auto copies = std::min<uint64_t>(entries / span(), static_cast<uint64_t>(pool.workers()));
  return rank_dense(sides, file, std::max<uint64_t>(1, copies), pool);
}

// Returns how often each number of the range is in the side's sets. Counts in so many tables at a time.
Buffer<uint32_t> PlainValues::count(RawSets &raw, SpillFile *file, size_t copies, WorkerPool &pool) const {
  std::vector<Buffer<uint32_t>> tables;
  for (size_t i = 0; i < copies; ++i) tables.emplace_back(memory_);
  std::atomic<size_t> next = 0;
  pool.parallel(copies, [&](int, size_t copy) {
    Buffer<uint32_t> &table = tables[copy];
    table.resize(span(), 0);
    uint32_t *const counts = table.data();
    const uint32_t first = smallest_;
    for (size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < raw.blocks.size();) {
      with_ids(raw, raw.blocks[i], file, [&](const RawBlock &block) {
        for (size_t begin = 0; begin < block.tokens; begin += check_interval) {
          pool.stop().check();
          const size_t end = std::min<size_t>(block.tokens, begin + check_interval);
          for (size_t t = begin; t < end; ++t) ++counts[block.ids[t] - first];
        }
      });
    }
  });
  pool.parallel((span() + check_interval - 1) / check_interval, [&](int, size_t part) {
    const size_t end = std::min<size_t>(span(), (part + 1) * check_interval);
    for (size_t copy = 1; copy < copies; ++copy) {
      for (size_t i = part * check_interval; i < end; ++i) tables[0][i] += tables[copy][i];
    }
  });
  return std::move(tables[0]);
}

Ranking PlainValues::rank_dense(RawSets *const (&sides)[2], SpillFile *file, size_t copies,
                                WorkerPool &pool) const {
  Buffer<uint32_t> counts = count(*sides[0], file, copies, pool);
  Buffer<uint32_t> right(memory_);
  if (!self_join_) right = count(*sides[1], file, copies, pool);
  std::atomic<uint32_t> distinct = 0;
  pool.parallel((span() + check_interval - 1) / check_interval, [&](int, size_t part) {
    uint32_t found = 0;
    for (size_t i = part * check_interval; i < std::min<size_t>(span(), (part + 1) * check_interval); ++i) {
      const uint32_t left = counts[i], other = self_join_ ? 0 : right[i];
      found += (left | other) != 0;
      counts[i] = DocumentFrequencies::shareable(left, other, self_join_);
    }
    distinct += found;
  });
  right.release();
  Ranking ranking = rank_in_order(std::move(counts), pool.stop(), memory_);
  ranking.first_id = smallest_;
  ranking.distinct = distinct;
  return ranking;
}

// Uses about half of the bytes for a table, if it can, since the sets' slices will need the others.
Ranking PlainValues::rank_ranges(const RangedNumbers &numbers, SpillFile &file, size_t extra_bytes,
                                 WorkerPool &pool) const {
  uint64_t block = 0;
  for (const RawSets *raw : numbers.sides) {
    for (const RawBlock &b : raw->blocks) block = std::max(block, b.tokens * sizeof(uint32_t));
  }
  const uint64_t loaded = block * static_cast<uint64_t>(pool.workers());
  RangedRanks ranks(numbers, file, extra_bytes - std::min<uint64_t>(extra_bytes, loaded), pool, memory_);
  return ranks.rank(extra_bytes / 2);
}

Ranking PlainValues::rank_sparse(RawSets *const (&sides)[2], SpillFile *file, WorkerPool &pool) const {
  IntegerInterner interner(self_join_, memory_);
  for (const Side side : {Side::left, Side::right}) {
    RawSets &raw = *sides[static_cast<int>(side)];
    for (RawBlock &block : raw.blocks) {
      const bool in_file = block.ids.empty();
      with_ids(raw, block, file, [&](RawBlock &loaded) {
        intern_block(interner, side, raw, loaded, pool.stop());
        if (in_file) file->write(loaded.place, loaded.ids.data(), loaded.tokens * sizeof(uint32_t));
      });
    }
  }
  return rank_tokens(interner, pool, memory_);
}

}  // namespace simjoin
