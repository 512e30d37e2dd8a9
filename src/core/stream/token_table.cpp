#include "core/stream/token_table.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

namespace simjoin {

Buffer<uint32_t> ranks_by_frequency(const Buffer<uint32_t> &frequency, MemoryCounter &memory) {
  std::vector<uint32_t> next(1);
  for (const uint32_t count : frequency) {
    if (count >= next.size()) next.resize(count + 1);
    ++next[count];
  }
  std::exclusive_scan(next.begin(), next.end(), next.begin(), 0U);
  Buffer<uint32_t> rank_of(memory, frequency.size());
  for (size_t number = 0; number < frequency.size(); ++number) rank_of[number] = next[frequency[number]]++;
  return rank_of;
}

TokenTable::TokenTable(const TokenList &tokens, const Buffer<uint32_t> &rank_of, MemoryCounter &memory)
    : tokens_(tokens), table_(memory, {0, none, 0}), ids_(memory, tokens.size()), filter_(memory) {
  const size_t bits = std::bit_ceil(std::max<size_t>(64, tokens.size() * filter_bits_per_token));
  filter_.resize(bits / 64, 0);
  filter_shift_ = 64 - std::countr_zero(bits);
  for (uint32_t id = 0; id < tokens.size(); ++id) {
    const uint64_t key = tokens.visit(id, [](const auto &token) { return key_of(token); });
    const uint64_t hash = hash_of(key), bit = hash >> filter_shift_;
    table_.add(table_.find(hash, [](const Entry &) { return false; }), {key, rank_of[id], 0});
    ids_[rank_of[id]] = id;
    filter_[bit / 64] |= uint64_t{1} << bit % 64;
  }
}

void TokenTable::forget_sets() {
  table_.for_each([](Entry &entry) { entry.last_set = 0; });
}

}  // namespace simjoin
