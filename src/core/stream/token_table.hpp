// The ranks of a small side's tokens. Most lookups are for tokens that it does not have.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/base/memory.hpp"
#include "core/base/mix.hpp"
#include "core/base/probe_table.hpp"
#include "core/base/token_hash.hpp"
#include "core/sets/join_tokens.hpp"

namespace simjoin {

// Returns ranks by ascending frequency. Tokens of one frequency have them in the order of their numbers.
Buffer<uint32_t> ranks_by_frequency(const Buffer<uint32_t> &frequency, MemoryCounter &memory);

class TokenTable {
 public:
  static constexpr uint32_t none = UINT32_MAX;
  static constexpr uint32_t repeated = none - 1;

  // `rank_of` has the rank of each id of the list, which outlives the table.
  TokenTable(const TokenList &tokens, const Buffer<uint32_t> &rank_of, MemoryCounter &memory);

  // Returns what a token is looked up by: a 64-bit integer itself, or the hash of a text.
  template <typename Token>
  static uint64_t key_of(const Token &token) {
    if constexpr (is_text<Token>)
      return token_value_hash(token);
    else
      return static_cast<uint64_t>(static_cast<int64_t>(token));
  }
  // Prefetches the memory that find() reads first.
  void prefetch(uint64_t key) const {
    __builtin_prefetch(filter_.data() + (hash_of(key) >> filter_shift_) / 64);
    table_.prefetch(hash_of(key));
  }
  // Returns the rank of a token of a set; `none` if the table does not have it, and `repeated` if it was
  // asked for with the same set number before. Set numbers are above 0.
  template <typename Token>
  uint32_t find(const Token &token, uint64_t key, uint32_t set) {
    const uint64_t bit = hash_of(key) >> filter_shift_;
    if ((filter_[bit / 64] >> bit % 64 & 1) == 0) return none;
    Entry *place = table_.find(hash_of(key), [&](const Entry &entry) {
      if (entry.key != key) return false;
      if constexpr (is_text<Token>) return is_token(ids_[entry.rank], token);
      return true;
    });
    return place->free() || std::exchange(place->last_set, set) != set ? place->rank : repeated;
  }
  // Forgets all set numbers.
  void forget_sets();

  // Returns the bytes that a table takes at most.
  static size_t bytes_of(size_t tokens) {
    return ProbeTable<Entry>::bytes_of(tokens) + tokens * (2 * filter_bits_per_token / 8 + sizeof(uint32_t));
  }

 private:
  template <typename Token>
  static constexpr bool is_text = std::is_same_v<Token, std::string_view>;
  // One lookup in 16 of a token that the table does not have goes on to the table itself, or fewer.
  static constexpr size_t filter_bits_per_token = 16;

  struct Entry {
    uint64_t key;
    uint32_t rank;
    uint32_t last_set;  // that asked for the token

    bool free() const { return rank == none; }
    uint64_t hash() const { return hash_of(key); }
  };

  // Its upper bits are mixed well enough, and it is had at once.
  static uint64_t hash_of(uint64_t key) { return key * golden_gamma; }
  bool is_token(uint32_t id, std::string_view text) const {
    return tokens_.visit(id, [text](const auto &token) {
      if constexpr (std::is_convertible_v<decltype(token), std::string_view>) return token == text;
      return false;
    });
  }

  const TokenList &tokens_;
  ProbeTable<Entry> table_;
  Buffer<uint32_t> ids_;     // by rank
  Buffer<uint64_t> filter_;  // a bit for each value of the upper bits of a hash
  int filter_shift_ = 0;
};

}  // namespace simjoin
