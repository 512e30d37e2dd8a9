#include "core/sets/ranged_ranks.hpp"

#include <algorithm>
#include <utility>

#include "core/sets/interner.hpp"

namespace simjoin {
namespace {

// The most passes over the blocks for each worker. A pass takes as long as reading the blocks.
constexpr uint64_t most_passes = 16;
// A range of fewer values than this is not worth a pass.
constexpr uint64_t least_width = uint64_t{1} << 16;
// The number of values whose codes are read or written at a time.
constexpr size_t codes_per_piece = size_t{1} << 14;

uint64_t divided_up(uint64_t value, uint64_t by) {
  return (value + by - 1) / by;
}

}  // namespace

RangedRanks::RangedRanks(const RangedNumbers &numbers, SpillFile &file, size_t bytes, WorkerPool &pool,
                         MemoryCounter &memory)
    : numbers_(numbers),
      file_(file),
      bytes_(bytes),
      pool_(pool),
      memory_(memory),
      codes_place_(file.reserve(numbers.span * sizeof(Code))),
      next_(memory, frequent, 0) {}

Ranking RangedRanks::rank(size_t table_bytes) {
  count();
  Ranking ranking(memory_);
  ranking.ranks = place_frequencies();
  ranking.distinct = distinct_;
  const auto span = static_cast<uint32_t>(numbers_.span);
  if (numbers_.span * sizeof(uint32_t) <= table_bytes) {
    ranking.first_id = numbers_.first;
    ranking.rank_of.resize(span);
    fill(numbers_.first, span, ranking.rank_of.data(), Ranking::none, 0);
    return ranking;
  }
  // Ranks follow the numbers, modulo 2^32. The number after the last rank stands for `none`.
  ranking.first_id = numbers_.first + span;
  const uint64_t passes = divided_up(numbers_.span * sizeof(uint32_t), std::max<size_t>(1, bytes_));
  const uint64_t width =
      std::max(least_width, divided_up(numbers_.span, std::clamp<uint64_t>(passes, 1, most_passes)));
  Buffer<uint32_t> table(memory_);
  for (uint64_t begin = 0; begin < numbers_.span; begin += width) {
    const auto count = static_cast<uint32_t>(std::min(width, numbers_.span - begin));
    const auto first = static_cast<uint32_t>(numbers_.first + begin);
    table.resize(count);
    fill(first, count, table.data(), ranking.first_id + ranking.ranks, ranking.first_id);
    replace(first, count, table);
  }
  return ranking;
}

// Counts all values and leaves their codes in the file. Each worker looks for the values of a range in all
// blocks, so that workers share nothing. Sets are ascending, so other values are passed over fast.
void RangedRanks::count() {
  const uint64_t passes = divided_up(numbers_.span * numbers_.sides.size(), std::max<size_t>(1, bytes_));
  const uint64_t ranges =
      static_cast<uint64_t>(pool_.workers()) * std::clamp<uint64_t>(passes, 1, most_passes);
  const uint64_t width = std::max(least_width, divided_up(numbers_.span, ranges));
  size_t blocks = 0;
  for (const RawSets *raw : numbers_.sides) blocks += raw->blocks.size();
  const uint64_t all = divided_up(numbers_.span, width);
  pool_.parallel_in_steps(all, all * blocks, [&](int, size_t range) {
    const uint64_t begin = range * width;
    count_range(static_cast<uint32_t>(numbers_.first + begin),
                static_cast<uint32_t>(std::min(width, numbers_.span - begin)));
  });
}

void RangedRanks::count_range(uint32_t first, uint32_t width) {
  std::vector<Counts> counts;
  for (RawSets *raw : numbers_.sides) {
    Counts &side = counts.emplace_back(memory_);
    side.low.resize(width, 0);
    count_side(*raw, first, side);
    std::sort(side.wraps.begin(), side.wraps.end());
  }
  write_codes(first, counts);
}

void RangedRanks::count_side(RawSets &raw, uint32_t first, Counts &counts) const {
  uint8_t *const low = counts.low.data();
  const auto width = static_cast<uint32_t>(counts.low.size());
  for (const RawBlock &block : raw.blocks) {
    raw.visit(block, &file_, pool_.stop(), [&](const uint32_t *numbers, size_t count) {
      for (size_t i = 0; i < count; ++i) {
        const uint32_t at = numbers[i] - first;
        if (at < width && ++low[at] == 0) counts.wraps.push_back(at);
      }
    });
    pool_.step();
  }
}

// Writes the codes of a range whose values have been counted, and adds them to the counts of frequencies.
void RangedRanks::write_codes(uint32_t first, const std::vector<Counts> &counts) {
  const bool one_side = counts.size() == 1;
  const size_t width = counts[0].low.size();
  Buffer<uint32_t> found(memory_, frequent, 0);
  std::vector<Frequent> often;
  std::vector<Code> codes(codes_per_piece);
  const uint32_t *wrap[2] = {};
  for (size_t side = 0; side < counts.size(); ++side) wrap[side] = counts[side].wraps.begin();
  const auto count_of = [&](size_t side, uint32_t at) {
    uint64_t count = counts[side].low[at];
    for (; wrap[side] < counts[side].wraps.end() && *wrap[side] == at; ++wrap[side]) count += 256;
    return count;
  };
  uint32_t distinct = 0;
  for (size_t begin = 0; begin < width; begin += codes_per_piece) {
    pool_.stop().check();
    const size_t end = std::min(width, begin + codes_per_piece);
    for (size_t i = begin; i < end; ++i) {
      const auto at = static_cast<uint32_t>(i);
      const uint64_t left = count_of(0, at), right = one_side ? 0 : count_of(1, at);
      distinct += (left | right) != 0;
      const uint32_t frequency = DocumentFrequencies::shareable(left, right, one_side);
      Code code = unshared;
      if (frequency < frequent) {
        code = static_cast<Code>(frequency);
        ++found[code];
      } else if (frequency != DocumentFrequencies::unshared) {
        code = frequent;
        often.push_back({frequency, first + at, 0});
      }
      codes[i - begin] = code;
    }
    const uint64_t place = codes_place_ + (first - numbers_.first + begin) * sizeof(Code);
    file_.write(place, codes.data(), (end - begin) * sizeof(Code));
  }
  const std::lock_guard lock(mutex_);
  for (size_t frequency = 0; frequency < frequent; ++frequency) next_[frequency] += found[frequency];
  frequent_.insert(frequent_.end(), often.begin(), often.end());
  distinct_ += distinct;
}

// Gives each frequency its first rank, and each frequent value its rank. Returns the number of ranks.
uint32_t RangedRanks::place_frequencies() {
  uint32_t ranked = 0;
  for (uint32_t &next : next_) ranked += std::exchange(next, ranked);
  const uint32_t first = numbers_.first;
  const auto by_number = [&](const Frequent &a, const Frequent &b) {
    return a.number - first < b.number - first;
  };
  std::sort(frequent_.begin(), frequent_.end(), [&](const Frequent &a, const Frequent &b) {
    return a.frequency != b.frequency ? a.frequency < b.frequency : by_number(a, b);
  });
  for (Frequent &value : frequent_) value.rank = ranked++;
  std::sort(frequent_.begin(), frequent_.end(), by_number);
  return ranked;
}

// Writes rank + offset, or `none`, for each value of a range. Ranges come in ascending order, each once.
void RangedRanks::fill(uint32_t first, uint32_t width, uint32_t *table, uint32_t none, uint32_t offset) {
  std::vector<Code> codes(codes_per_piece);
  const uint32_t base = numbers_.first;
  auto often = std::lower_bound(frequent_.begin(), frequent_.end(), first - base,
                                [&](const Frequent &a, uint32_t at) { return a.number - base < at; });
  for (size_t begin = 0; begin < width; begin += codes_per_piece) {
    pool_.stop().check();
    const size_t count = std::min<size_t>(codes_per_piece, width - begin);
    file_.read(codes_place_ + (first - base + begin) * sizeof(Code), codes.data(), count * sizeof(Code));
    for (size_t i = 0; i < count; ++i) {
      const Code code = codes[i];
      uint32_t &to = table[begin + i];
      if (code < frequent) {
        to = offset + next_[code]++;
      } else {
        to = code == unshared ? none : offset + (often++)->rank;
      }
    }
  }
}

// Replaces the numbers of a range in all blocks by their entries of the table.
void RangedRanks::replace(uint32_t first, uint32_t width, const Buffer<uint32_t> &table) {
  for (RawSets *raw : numbers_.sides) {
    raw->change(0, raw->blocks.size(), &file_, pool_, [&](uint32_t *ids, size_t count) {
      for (size_t i = 0; i < count; ++i) {
        const uint32_t at = ids[i] - first;
        if (at < width) ids[i] = table[at];
      }
    });
  }
}

}  // namespace simjoin
