// Which numbers come more than once: a filter of a few bits a number, far smaller than a table of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/base/memory.hpp"

namespace simjoin {

// Numbers are known by 32 bits of their hash. A number that came once is taken for a repeated one where its
// hash falls together with another's, which happens to one in eight. A repeated number is always found.
class RepeatedNumbers {
 public:
  explicit RepeatedNumbers(MemoryCounter &memory) : words_(memory) {}

  // Makes room for so many numbers, each as often as it comes. Before the first note().
  void make_room(uint64_t numbers) { words_.resize(word_count(numbers), 0); }
  void prefetch(uint32_t hash) const { __builtin_prefetch(&words_[word_of(hash)]); }
  void note(uint32_t hash) {
    uint64_t &word = words_[word_of(hash)];
    const uint64_t once = bit_of(hash);
    word |= once | (word & once) << twice;
  }
  bool repeated(uint32_t hash) const { return (words_[word_of(hash)] & bit_of(hash) << twice) != 0; }

  static size_t bytes(uint64_t numbers) { return word_count(numbers) * sizeof(uint64_t); }
  // Returns about how many of the numbers that come once are taken for repeated ones.
  static uint64_t mistaken(uint64_t once) { return once / slots_per_number; }

 private:
  static constexpr uint64_t slots_per_number = 8;
  // A word has a bit for each of its slots that is set once a number came, and another one once a second did.
  static constexpr int twice = 32;
  static constexpr uint64_t most_words = uint64_t{1} << twice;

  static size_t word_count(uint64_t numbers) {
    return std::min(most_words, numbers * slots_per_number / twice + 1);
  }
  size_t word_of(uint32_t hash) const { return hash * uint64_t{words_.size()} >> 32; }
  uint64_t bit_of(uint32_t hash) const {
    // The fraction that word_of() leaves.
    return uint64_t{1} << (static_cast<uint32_t>(hash * uint64_t{words_.size()}) >> 27);
  }

  Buffer<uint64_t> words_;
};

}  // namespace simjoin
