#include "core/sets/int32_values.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

#include "core/base/number_parts.hpp"
#include "core/sets/hashed_ranks.hpp"
#include "core/sets/interner.hpp"
#include "core/sets/value_numbers.hpp"

namespace simjoin {
namespace {

// If the range of the values has at most this many values per token, they are counted in a table with an
// entry for each, otherwise in hash tables. On livejournal, in parts (two cores, two threads), the table
// takes less processor time up to about twice this. Up to this figure, its entries take no more memory than
// sorting the sets does.
constexpr uint64_t dense_per_token = 2;
// Each worker has a table of its own only if all tables together have at most this many entries per token. So
// nothing takes more memory than sorting the sets does.
constexpr uint64_t copied_per_token = 1;

// If the range has at most so many values, and so many tokens came for each of them, then the range is taken
// for the number of distinct values. The ranks of so few values take little memory beside the tokens. To
// sample them would take a third of the scan of such sets (bms, twitter).
constexpr uint64_t most_few = uint64_t{1} << 16;
constexpr uint64_t tokens_per_few = 16;

// The workers share tables out by parts of this many entries.
constexpr size_t entries_per_part = size_t{1} << 16;

// How often each number of a range occurs: modulo 256, and each number once for every 256 occurrences.
struct ByteCounts {
  explicit ByteCounts(MemoryCounter &memory) : low(memory), full(memory) {}

  Buffer<uint8_t> low;
  Buffer<uint32_t> full;
};

}  // namespace

uint32_t Int32Values::take(std::span<const int32_t> tokens, uint32_t *numbers) {
  if (tokens.empty()) return 0;
  auto count = static_cast<uint32_t>(tokens.size());
  const auto extend = [&](uint32_t least, uint32_t greatest) {
    smallest_ = std::min(smallest_, least);
    largest_ = std::max(largest_, greatest);
  };
  // Values are looked at where they came from: what vectors have written in part cannot be read at once.
  if (write_numbers(tokens, numbers)) {
    extend(number_of(tokens.front()), number_of(tokens.back()));
  } else {
    count = sort_distinct(numbers, count, sort_);
    extend(numbers[0], numbers[count - 1]);
  }
  taken_ += count;
  sample(tokens);
  return count;
}

bool Int32Values::take_ascending(std::span<const int32_t> tokens, std::span<const uint32_t> lengths,
                                 uint32_t *numbers) {
  size_t borders = 0;  // at which a set begins with no larger value than the one before it ends with
  uint32_t least = smallest_, greatest = largest_;
  const int32_t *set = tokens.data();
  for (const uint32_t length : lengths) {
    if (length == 0) continue;
    borders += set > tokens.data() && set[-1] >= set[0];
    least = std::min(least, number_of(set[0]));
    set += length;
    greatest = std::max(greatest, number_of(set[-1]));
  }
  if (write_numbers_by_vectors(tokens, numbers) != borders) return false;
  smallest_ = least;
  largest_ = greatest;
  taken_ += tokens.size();
  sample(tokens);
  return true;
}

// Samples the tokens of the last sets, unless the range of the values tells enough.
void Int32Values::sample(std::span<const int32_t> tokens) {
  if (few()) {
    not_sampled_ = span();
  } else {
    sample_.add(reinterpret_cast<const uint32_t *>(tokens.data()), tokens.size());
  }
}

// Returns whether the range of the values says well enough how many are distinct.
bool Int32Values::few() const {
  return span() <= most_few && span() * tokens_per_few <= taken_;
}

bool Int32Values::dense(uint64_t tokens) const {
  const uint64_t sides = self_join_ ? 1 : 2;
  return span() < UINT32_MAX && span() * sides <= dense_per_token * tokens;
}

size_t Int32Values::ranking_bytes(uint64_t tokens) const {
  if (dense(tokens)) return span() * sizeof(uint32_t) * (self_join_ ? 1 : 2);
  return hashed_bytes<uint32_t>(tokens, std::min(tokens, distinct_values()));
}

Ranking Int32Values::rank(RawSets &left, RawSets &right, SpillFile *file, size_t extra_bytes,
                          WorkerPool &pool, RankOrder order) const {
  const std::vector<RawSets *> sides = sides_of(left, right, self_join_);
  const uint64_t tokens = left.tokens() + right.tokens();
  if (tokens == 0) return Ranking(memory_);
  if (!dense(tokens)) return rank_hashed<uint32_t>(sides, order, file, distinct_values(), pool, memory_);
  if (file != nullptr) {
    const RangedNumbers numbers{sides, smallest_, span()};
    if (RangedRanks::takes(numbers)) return rank_ranges(numbers, *file, extra_bytes, pool);
  }
  uint32_t distinct = 0;
  Buffer<uint32_t> counts = count_dense(sides, file, extra_bytes, pool, distinct);
  Ranking ranking = rank_in_order(std::move(counts), pool, memory_);
  ranking.first_id += smallest_;
  ranking.in_order_of_values = !ranking.has_table() && in_blocks_ == 0;
  ranking.distinct = distinct;
  return ranking;
}

Buffer<uint32_t> Int32Values::frequencies(RawSets &left, RawSets &right, SpillFile *file, size_t extra_bytes,
                                          WorkerPool &pool) const {
  uint32_t distinct = 0;
  return count_dense(sides_of(left, right, self_join_), file, extra_bytes, pool, distinct);
}

// Returns how often each number of the range occurs in the side's sets. Each worker counts the numbers of one
// part. A cache line holds numbers of one part only.
Buffer<uint32_t> Int32Values::count_parts(RawSets &raw, SpillFile *file, uint32_t parts,
                                          WorkerPool &pool) const {
  constexpr size_t line = 64;  // bytes
  Buffer<uint32_t> table(memory_, span(), 0);
  uint32_t *const counts = table.data();
  const uint32_t first = smallest_;
  const auto ahead =
      static_cast<uint32_t>(reinterpret_cast<uintptr_t>(counts) % line / sizeof(uint32_t)) - first;
  const auto part_of = [&](uint32_t number) {
    return NumberPart((number + ahead) / (line / sizeof(uint32_t)), parts).part;
  };
  pool.parallel_in_steps(parts, parts * raw.blocks.size(), [&](int, size_t part) {
    for (const RawBlock &block : raw.blocks) {
      raw.visit(block, file, pool.stop(), [&](const uint32_t *numbers, size_t found) {
        visit_part(numbers, found, static_cast<uint32_t>(part), part_of,
                   [&](const uint32_t *own, size_t count) {
                     for (size_t i = 0; i < count; ++i) ++counts[own[i] - first];
                   });
      });
      pool.step();
    }
  });
  return table;
}

// Returns the same. Each worker counts some of the sets, in a table of its own. Its entries have a byte, so
// that more of them are in the cache, and each full byte is noted.
Buffer<uint32_t> Int32Values::count_copies(RawSets &raw, SpillFile *file, uint32_t copies,
                                           WorkerPool &pool) const {
  std::vector<ByteCounts> tables;
  for (size_t i = 0; i < copies; ++i) tables.emplace_back(memory_);
  std::atomic<size_t> next = 0;
  pool.parallel_in_steps(copies, raw.blocks.size(), [&](int, size_t copy) {
    ByteCounts &table = tables[copy];
    table.low.resize(span(), 0);
    uint8_t *const low = table.low.data();
    const uint32_t first = smallest_;
    for (size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < raw.blocks.size();) {
      raw.visit(raw.blocks[i], file, pool.stop(), [&](const uint32_t *numbers, size_t found) {
        for (size_t t = 0; t < found; ++t) {
          if (++low[numbers[t] - first] == 0) table.full.push_back(numbers[t] - first);
        }
      });
      pool.step();
    }
  });
  Buffer<uint32_t> counts(memory_, span());
  pool.parallel((span() + entries_per_part - 1) / entries_per_part, [&](int, size_t part) {
    const size_t end = std::min<size_t>(span(), (part + 1) * entries_per_part);
    for (size_t i = part * entries_per_part; i < end; ++i) counts[i] = tables[0].low[i];
    for (size_t copy = 1; copy < copies; ++copy) {
      for (size_t i = part * entries_per_part; i < end; ++i) counts[i] += tables[copy].low[i];
    }
  });
  for (const ByteCounts &table : tables) {
    for (size_t i = 0; i < table.full.size(); ++i) {
      pool.stop().check_at(i);
      counts[table.full[i]] += 256;
    }
  }
  return counts;
}

// Returns the frequencies, and how many numbers occur.
Buffer<uint32_t> Int32Values::count_dense(const std::vector<RawSets *> &sides, SpillFile *file,
                                          size_t extra_bytes, WorkerPool &pool, uint32_t &distinct) const {
  uint64_t tokens = 0;
  for (const RawSets *side : sides) tokens += side->tokens();
  const uint64_t entries = std::min<uint64_t>(extra_bytes / sizeof(uint32_t), copied_per_token * tokens);
  const uint32_t parts = worthwhile_parts(tokens, pool.workers());
  const bool copies = parts == 1 || span() * parts <= entries;
  const auto count = [&](RawSets &raw) {
    return copies ? count_copies(raw, file, parts, pool) : count_parts(raw, file, parts, pool);
  };
  Buffer<uint32_t> counts = count(*sides[0]);
  Buffer<uint32_t> right(memory_);
  if (!self_join_) right = count(*sides[1]);
  std::atomic<uint32_t> all = 0;
  pool.parallel((span() + entries_per_part - 1) / entries_per_part, [&](int, size_t part) {
    uint32_t found = 0;
    for (size_t i = part * entries_per_part; i < std::min<size_t>(span(), (part + 1) * entries_per_part);
         ++i) {
      const uint32_t left = counts[i], other = self_join_ ? 0 : right[i];
      found += (left | other) != 0;
      counts[i] = DocumentFrequencies::shareable(left, other, self_join_);
    }
    all += found;
  });
  distinct = all;
  return counts;
}

// Uses about half of `extra_bytes` for a table, if that is enough, since the sets' slices will need the rest.
Ranking Int32Values::rank_ranges(const RangedNumbers &numbers, SpillFile &file, size_t extra_bytes,
                                 WorkerPool &pool) const {
  uint64_t block = 0;
  for (const RawSets *raw : numbers.sides) {
    for (const RawBlock &b : raw->blocks) block = std::max(block, b.tokens * sizeof(uint32_t));
  }
  const uint64_t loaded = block * static_cast<uint64_t>(pool.workers());
  RangedRanks ranks(numbers, file, extra_bytes - std::min<uint64_t>(extra_bytes, loaded), pool, memory_);
  return ranks.rank(extra_bytes / 2);
}

}  // namespace simjoin
