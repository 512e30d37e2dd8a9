#include "core/sets/int64_values.hpp"

#include <algorithm>
#include <vector>

#include "core/base/interruption.hpp"
#include "core/base/mix.hpp"
#include "core/sets/hashed_ranks.hpp"
#include "core/sets/value_numbers.hpp"

namespace simjoin {
namespace {

// If there will be a file, the numbers have to get ids in the rest of the memory: in a table that is bounded
// (TokenRuns), so that it need not be larger than the numbers themselves.
size_t bytes_for_ids(uint64_t tokens, uint64_t distinct) {
  constexpr size_t per_distinct = 80;
  return std::min(tokens * sizeof(uint64_t), distinct * per_distinct);
}

}  // namespace

uint32_t Int64Values::take(std::span<const int64_t> tokens, uint64_t *numbers, bool in_order) {
  auto count = static_cast<uint32_t>(tokens.size());
  if (!write_numbers(tokens, numbers) && !in_order) count = distinct_(numbers, count, check_interruption);
  see(numbers, count);
  return count;
}

void Int64Values::see(const uint64_t *numbers, size_t count) {
  constexpr size_t together = 256;
  uint32_t hashes[together];
  for (size_t begin = 0; begin < count; begin += together) {
    if ((begin + together) % longest_short_run == 0) check_interruption();
    const size_t hashed = std::min(together, count - begin);
    for (size_t i = 0; i < hashed; ++i) {
      const uint64_t number = numbers[begin + i];
      smallest_ = std::min(smallest_, number);
      largest_ = std::max(largest_, number);
      hashes[i] = static_cast<uint32_t>(number * golden_gamma >> 32);
    }
    sample_.add(hashes, hashed);
  }
}

// The numbers less the smallest one, where they fit 32 bits.
Int32Values Int64Values::differences() const {
  const auto numbers = static_cast<uint32_t>(largest_ - smallest_ + 1);
  return Int32Values(self_join_, numbers, distinct_values(), memory_);
}

size_t Int64Values::ranking_bytes(uint64_t tokens) const {
  const uint64_t distinct = std::min(tokens, distinct_values());
  const size_t ranks =
      fit_32_bits() ? differences().ranking_bytes(tokens) : hashed_bytes<uint64_t>(tokens, distinct);
  return std::max(ranks, bytes_for_ids(tokens, distinct));
}

size_t Int64Values::most_ranking_bytes(uint64_t tokens, uint64_t distinct) {
  return std::max(hashed_bytes<uint64_t>(tokens, distinct), bytes_for_ids(tokens, distinct));
}

Ranking Int64Values::rank(RawSets &left, RawSets &right, size_t extra_bytes, WorkerPool &pool) const {
  const std::vector<RawSets *> sides = sides_of(left, right, self_join_);
  if (!fit_32_bits())
    return rank_hashed<uint64_t>(sides, RankOrder::frequency, nullptr, distinct_values(), pool, memory_);
  for (RawSets *side : sides) {
    side->narrow(pool, [&](const uint64_t *numbers, size_t count, uint32_t *ids) {
      for (size_t i = 0; i < count; ++i) ids[i] = static_cast<uint32_t>(numbers[i] - smallest_);
    });
  }
  return differences().rank(left, right, nullptr, extra_bytes, pool);
}

}  // namespace simjoin
