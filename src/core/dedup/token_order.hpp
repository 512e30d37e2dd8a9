// A fixed order of tokens, and the prefixes of sets in it: what an index needs to find the sets that can be
// similar to a given one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/measure.hpp"

namespace simjoin {

// Tokens are known by 32 bits of their hash. Two tokens may have one hash; what is said of sets here holds
// nevertheless, because it holds of the hashes of a set, each as often as tokens have it.
using TokenCode = int32_t;

// Counts tokens, of a sample where there are many.
class TokenCounts {
 public:
  template <typename Token>
  void add(std::span<const Token> tokens);
  // Returns the most frequent tokens, at most so many, the most frequent one first, and none that was seen
  // but once.
  std::vector<TokenCode> most_frequent(size_t most);

 private:
  void add(TokenCode code);

  std::vector<TokenCode> sample_;
  uint64_t seen_ = 0;
  uint64_t one_in_ = 1;  // tokens of the sample
};

// The part of a set that it shares a token of with each similar set, and two where they share two at all;
// sizes count distinct tokens.
struct SetPrefix {
  int64_t size;
  std::span<const TokenCode> codes;  // in the order
};

// The same as an index has it: codes of sets of very different sizes differ, so that nobody meets those.
struct IndexedPrefix {
  int64_t size;
  std::span<const TokenCode> entries;
};

// What to look for in an index: sets that have one of some entries and, where there are any, one of the
// others.
struct PrefixLookup {
  std::span<const TokenCode> one;
  std::span<const TokenCode> other;
};

class TokenOrder {
 public:
  // Rare tokens come first: `frequent` ones (the most frequent first) after all others, which are in the
  // order of their codes. Whatever tokens are in the list, everything below holds.
  TokenOrder(std::span<const TokenCode> frequent, const Bounds &bounds);

  // Returns the prefix of the set. It is valid until the next call, as are the other results.
  template <typename Token>
  SetPrefix prefix_of(std::span<const Token> tokens);
  // Returns the prefix's entries in an index.
  std::span<const TokenCode> entries_of(const SetPrefix &prefix);
  // Returns what to look for: each similar set is found by one of these.
  std::span<const PrefixLookup> lookups(const SetPrefix &prefix);
  // Returns false where the sets that these are prefixes of are not similar.
  bool may_be_similar(const SetPrefix &r, const IndexedPrefix &s) const;

 private:
  struct Slot {
    TokenCode code = 0;
    uint32_t place = 0;  // from 1 on among the frequent ones, the rarest first; 0: an empty slot
  };

  // The partners of a class of sizes.
  struct Partners {
    TokenCode salt;
    size_t codes;  // so many of the first ones are looked for
    bool pairs;    // two of which they have, not one
  };

  void find_partners(const SetPrefix &prefix, bool pairs);
  void look_for_one(std::span<const TokenCode> codes);
  void look_for_pairs(std::span<const TokenCode> codes);
  size_t slot_of(TokenCode code) const;
  size_t class_of(int64_t size) const;
  TokenCode salt_of(int64_t size) const { return class_salts_[class_of(size)]; }
  uint64_t key_of(TokenCode code) const {
    return uint64_t{slots_[slot_of(code)].place} << 32 | static_cast<uint32_t>(code);
  }

  const Bounds bounds_;
  std::vector<Slot> slots_;           // a hash table
  std::vector<int64_t> class_sizes_;  // the smallest size of each class of sizes
  std::vector<TokenCode> class_salts_;
  std::vector<uint64_t> keys_;
  std::vector<TokenCode> prefix_;
  std::vector<TokenCode> entries_;
  std::vector<Partners> partners_;
  std::vector<PrefixLookup> lookups_;
};

}  // namespace simjoin
