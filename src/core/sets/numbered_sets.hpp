// Sets of texts to sets of numbers.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/memory.hpp"
#include "core/base/mix.hpp"
#include "core/base/packed_texts.hpp"
#include "core/base/worker_pool.hpp"
#include "core/join.hpp"
#include "core/sets/text_numbers.hpp"
#include "core/sort/long_sort.hpp"

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

// What is made of rows of texts.
struct NumberedForm {
  // Whether the texts of each row are distinct already. Their numbers are then in their order.
  bool in_order = false;
  uint32_t (*hash)(std::string_view text) = nullptr;  // of all texts, where it is not null
};

// Consecutive rows of one side: the numbers of the distinct texts of each.
struct NumberedSets {
  explicit NumberedSets(MemoryCounter &memory)
      : numbers(memory), sizes(memory), hashes(memory), counts(memory) {}

  Side side = Side::left;
  Buffer<uint32_t> numbers;
  Buffer<uint32_t> sizes;   // by row
  Buffer<uint32_t> hashes;  // of all texts, in their order, if the form has hashes
  Buffer<uint32_t> counts;  // of all texts, by row, likewise
};

// Leaves each number of a set once. One object serves many sets.
class DistinctNumbers {
 public:
  // Returns how many numbers are left, at the beginning, in any order. Calls check() now and then if there
  // are many.
  template <typename Number, typename Check>
  uint32_t operator()(Number *numbers, size_t count, Check &&check) {
    Doubted doubted;
    if (count <= most_marked && mark(numbers, count, doubted))
      return leave_unlike_earlier(numbers, count, doubted);
    sort_long(numbers, count, sort_, check);
    return static_cast<uint32_t>(leave_once(numbers, count, check));
  }

 private:
  // A number whose mark no earlier one has is unlike these. The marks fit into the first-level cache, and few
  // sets of up to most_marked tokens that are distinct have more than most_doubted with a mark that is taken.
  static constexpr size_t bits = size_t{1} << 16;
  static constexpr size_t most_marked = 1024;
  static constexpr size_t most_doubted = 16;

  // The places of numbers whose mark is taken.
  struct Doubted {
    size_t count = 0;
    uint32_t places[most_doubted];
  };

  // Returns false if too many numbers are doubted.
  template <typename Number>
  bool mark(const Number *numbers, size_t count, Doubted &doubted) {
    size_t i = 0, found = 0;
    for (; i < count && found < most_doubted; ++i) {
      uint64_t &word = marks_[mark_of(numbers[i]) / 64];
      const uint64_t bit = uint64_t{1} << mark_of(numbers[i]) % 64;
      if ((word & bit) != 0) doubted.places[found++] = static_cast<uint32_t>(i);
      word |= bit;
    }
    doubted.count = found;
    const bool all = i == count;
    while (i > 0) marks_[mark_of(numbers[--i]) / 64] = 0;
    return all;
  }

  // Removes the doubted numbers that are like earlier ones. Returns how many are left.
  template <typename Number>
  static uint32_t leave_unlike_earlier(Number *numbers, size_t count, const Doubted &doubted) {
    size_t left = count;
    for (size_t i = doubted.count; i-- > 0;) {
      const uint32_t place = doubted.places[i];
      const Number number = numbers[place];
      bool repeated = false;
      for (size_t earlier = 0; earlier < place; ++earlier) repeated |= numbers[earlier] == number;
      if (repeated) numbers[place] = numbers[--left];
    }
    return static_cast<uint32_t>(left);
  }

  // Numbers of 32 bits follow each other, those of 64 bits may be anything.
  static size_t mark_of(uint32_t number) { return number % bits; }
  static size_t mark_of(uint64_t number) { return number * golden_gamma >> 48; }

  uint64_t marks_[bits / 64] = {};
  ShortSort sort_;
};

// Writes the numbers of texts, in the order of the texts. See TextNumbers::number about the piece.
void number_texts(TextNumbers &texts, std::span<const std::string_view> tokens, TextStore::Piece &piece,
                  uint32_t *numbers);

// Gives the numbers of rows, whose counts may move there. Throws Cancelled if the flag is set, or without a
// flag, in the caller's thread, if the caller wants to give up.
void number_rows(TextRows &rows, const NumberedForm &form, TextNumbers &texts, const StopFlag *stop,
                 NumberedSets &numbered);

}  // namespace simjoin
