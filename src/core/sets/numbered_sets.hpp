// Sets of texts to sets of numbers.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/long_sort.hpp"
#include "core/base/memory.hpp"
#include "core/base/packed_texts.hpp"
#include "core/base/worker_pool.hpp"
#include "core/join.hpp"
#include "core/sets/text_numbers.hpp"

namespace simjoin {

// Consecutive rows of one side: the packed texts of each.
struct TextRows {
  TextRows(Side rows_side, MemoryCounter &memory)
      : side(rows_side), bytes(memory), counts(memory), ends(memory) {}

  // Adds the next row. Its bytes are to be written to the place that is returned.
  char *add(size_t row_bytes, size_t texts);

  Side side;
  Buffer<char> bytes;
  Buffer<uint32_t> counts;  // of texts, by row
  Buffer<size_t> ends;      // of the bytes of each row
  uint64_t texts = 0;
};

// Consecutive rows of one side: the numbers of the distinct texts of each.
struct NumberedSets {
  explicit NumberedSets(MemoryCounter &memory) : numbers(memory), sizes(memory) {}

  Side side = Side::left;
  Buffer<uint32_t> numbers;
  Buffer<uint32_t> sizes;  // by row
};

// Leaves each number of a set once. One object serves many sets.
class DistinctNumbers {
 public:
  // Returns how many numbers are left, at the beginning, in any order. Calls check() now and then if there
  // are many.
  template <typename Check>
  uint32_t operator()(uint32_t *numbers, size_t count, Check &&check) {
    bool repeated = count > most_marked;
    if (!repeated) {
      for (size_t i = 0; i < count; ++i) {
        uint64_t &word = marks_[numbers[i] % bits / 64];
        const uint64_t bit = uint64_t{1} << numbers[i] % 64;
        repeated |= (word & bit) != 0;
        word |= bit;
      }
      for (size_t i = 0; i < count; ++i) marks_[numbers[i] % bits / 64] = 0;
    }
    if (!repeated) return static_cast<uint32_t>(count);
    sort_long(numbers, count, sort_, check);
    return static_cast<uint32_t>(leave_once(numbers, count, check));
  }

 private:
  // Numbers of which no two have the same mark are distinct. The marks fit into the first-level cache, and
  // few sets of up to most_marked tokens that are distinct have two that agree.
  static constexpr size_t bits = size_t{1} << 16;
  static constexpr size_t most_marked = 128;

  uint64_t marks_[bits / 64] = {};
  ShortSort sort_;
};

// Writes the numbers of texts, in the order of the texts. See TextNumbers::number about the piece.
void number_texts(TextNumbers &texts, std::span<const std::string_view> tokens, TextStore::Piece &piece,
                  uint32_t *numbers);

// Gives the numbers of rows. Throws Cancelled if the flag is set.
void number_rows(const TextRows &rows, TextNumbers &texts, const StopFlag &stop, NumberedSets &numbered);

}  // namespace simjoin
