// A fixed order of tokens, and the prefixes of sets in it. An index needs both to find the sets that can be
// similar to a given set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/mix.hpp"
#include "core/lookup/frequent_tokens.hpp"
#include "core/measure.hpp"

namespace simjoin {

// Tokens are known by 32 bits of their hash. Two tokens may have one hash; what is said of sets here holds
// nevertheless, because it holds of the hashes of a set, each as often as tokens have it.
using TokenCode = int32_t;

// Where a token comes in an order, rare tokens first. The lower bits are its code.
using TokenKey = uint64_t;
inline TokenCode code_of_key(TokenKey key) {
  return static_cast<TokenCode>(key);
}

// The bits of a code in an index. With fewer of them more tokens share an entry, so the index finds more sets
// that are not similar, and has fewer entries, which take most of its place.
inline constexpr int least_entry_bits = 8, most_entry_bits = 32;

// Returns what the codes of a class of sizes or totals are mixed with, so that other classes have other
// entries.
inline TokenCode class_salt(uint64_t number) {
  return static_cast<TokenCode>(mix_bits(number) >> 32);
}

// Counts tokens, or a sample of them if there are many.
class TokenCounts {
 public:
  template <typename Token>
  void add(std::span<const Token> tokens);
  // Returns at most `most` of the most frequent tokens, the most frequent first. Tokens that were seen only
  // once are left out.
  std::vector<TokenCode> most_frequent(size_t most);
  // Returns the bits for the entries of an index that has all these tokens, by a measure that looks for
  // shared tokens one by one.
  int entry_bits() const;

 private:
  void add(TokenCode code);

  std::vector<TokenCode> sample_;
  uint64_t seen_ = 0;
  uint64_t one_in_ = 1;  // one in this many tokens is in the sample
};

// The part of a set that shares a token with each similar set, and two tokens if the sets share two. Sizes
// count distinct tokens.
struct SetPrefix {
  int64_t size;
  std::span<const TokenKey> keys;  // ascending
};

// The same in an index. Codes of sets of very different sizes differ, so that such sets do not meet.
struct IndexedPrefix {
  int64_t size;
  std::span<const TokenCode> entries;
};

// A lookup in an index: sets that have one of some entries and, if `other` is not empty, one of those.
struct PrefixLookup {
  std::span<const TokenCode> one;
  std::span<const TokenCode> other;
};

// The most entries of each kind in a lookup. The time of an index for each set with some of them grows with
// their number.
inline constexpr size_t looked_up_at_once = 16;

// The look-up of a set in an index: the entries of several classes of sizes, one class after the other, and
// the fewest of them that a similar set of the class has.
struct IndexLookup {
  enum class Kind : uint8_t {
    nothing,  // no set is similar
    entries,
    everything,  // the index does not have the entries that this needs
  };
  struct SizeClass {
    uint32_t entries;
    uint32_t least;
  };

  Kind kind;
  std::span<const TokenCode> entries;
  std::span<const SizeClass> classes;
};

// The most keys of a set that a lookup in an index uses. Looking up more takes longer than reading all sets.
inline constexpr size_t most_looked_up = 1 << 14;

class TokenOrder {
 public:
  // Rare tokens come first. The `frequent` tokens (the most frequent first) come after all others, which are
  // in the order of their codes. Everything below holds for any list of tokens.
  TokenOrder(std::span<const TokenCode> frequent, const Bounds &bounds);
  // Returns such an order by tokens that are known by the upper bits of their codes.
  static TokenOrder by_prints(std::span<const FrequentToken> frequent, const Bounds &bounds,
                              int entry_bits = most_entry_bits);

  // Sets the keys of as many tokens.
  template <typename Token>
  void keys_of(std::span<const Token> tokens, TokenKey *keys) const;
  // Returns how many keys the prefix of a set of this size has: its smallest ones.
  int64_t prefix_length(int64_t size) const;
  // Sets the prefix's entries in an index, one for each key.
  void entries_of(const SetPrefix &prefix, TokenCode *entries) const;
  // Returns the lookups, or nothing if they have more than `most` entries (some tens are never too many).
  // Each similar set is found by one of them. They are valid until the next call, as is the result of
  // lookup(). Throws Cancelled where the caller gives a large set up.
  std::optional<std::span<const PrefixLookup>> lookups(const SetPrefix &prefix, size_t most);
  // Returns what finds, among the entries of sets, each set that is similar to this one by `wanted` (a
  // threshold above zero), which need not be the bounds of the index. `set` has the smallest keys of the set,
  // at least `most_looked_up` or all.
  IndexLookup lookup(const SetPrefix &set, const Bounds &wanted);
  // Returns false if the sets with these prefixes are not similar. Throws as lookups() does.
  bool may_be_similar(const SetPrefix &r, const IndexedPrefix &s) const;

 private:
  struct Slot {
    uint32_t print = 0;  // the upper bits of the code
    uint32_t place = 0;  // from 1 on among the frequent ones, the rarest first; 0: an empty slot
  };

  // The partners of a class of sizes.
  struct Partners {
    TokenCode salt;
    size_t codes;  // the number of first codes to look up
    bool pairs;    // whether partners have two of these codes, not one
  };

  int64_t sure_shared(int64_t size, int64_t least, int64_t largest, const Bounds &wanted) const;
  size_t find_partners(const SetPrefix &prefix, bool pairs);
  void look_for_one(std::span<const TokenKey> keys);
  void look_for_pairs(std::span<const TokenKey> keys);
  TokenOrder(size_t frequent, int unused_bits, const Bounds &bounds, bool one_class);
  void add_frequent(uint32_t print, uint32_t place);
  size_t slot_of(uint32_t print) const;
  size_t class_of(int64_t size) const;
  TokenCode salt_of(int64_t size) const { return class_salts_[class_of(size)]; }
  // Sets share an entry for each token that they share, and maybe others.
  TokenCode entry_of(TokenKey key, TokenCode salt) const {
    return static_cast<TokenCode>(static_cast<uint32_t>(code_of_key(key) ^ salt) >> unused_entry_bits_);
  }
  TokenKey key_of(TokenCode code) const {
    const auto bits = static_cast<uint32_t>(code);
    return TokenKey{slots_[slot_of(bits >> unused_bits_)].place} << 32 | bits;
  }

  const Bounds bounds_;
  const int unused_bits_;             // lower bits of a code by which frequent tokens are not known
  int unused_entry_bits_ = 0;         // lower bits of a code that an entry of an index lacks
  std::vector<Slot> slots_;           // a hash table
  std::vector<int64_t> class_sizes_;  // the smallest size of each class of sizes
  std::vector<TokenCode> class_salts_;
  std::vector<TokenCode> entries_;
  std::vector<Partners> partners_;
  std::vector<PrefixLookup> lookups_;
  std::vector<IndexLookup::SizeClass> size_classes_;
};

}  // namespace simjoin
