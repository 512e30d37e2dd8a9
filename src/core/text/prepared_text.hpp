// Texts whose spelling is made alike before they become sets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/memory.hpp"

namespace simjoin {

struct Preparation {
  bool nfkc = false;      // Unicode's normalisation form KC: one form of characters that mean the same
  bool unaccent = false;  // letters of Latin, Greek and Cyrillic without accents; the text is then of form C
  bool casefold = false;  // Unicode's full case folding, in all languages alike

  bool any() const { return nfkc || unaccent || casefold; }
};

// Prepares texts of UTF-8, one after the other. A character's form depends on those beside it. Parts of some
// thousand characters are prepared at a time, and end where that makes no difference, unless more than 1,000
// bytes have no such place: no language has so many marks in a row.
class PreparedText {
 public:
  PreparedText() : prepared_(memory_), points_(memory_), replaced_(memory_) {}

  // Begins a text, which is not copied.
  void begin(const Preparation &preparation, std::string_view text);

  // Works through at most about `budget` bytes, and one part at least. Returns false once the end is reached.
  // Throws Error where the text is not UTF-8.
  bool step(size_t budget);

  // Returns the prepared text, once the end is reached. It is valid until the next one begins.
  std::string_view text() const { return {prepared_.data(), prepared_.size()}; }

 private:
  void prepare(std::string_view part);
  size_t decompose(std::string_view part);
  size_t remove_accents(size_t count);

  Preparation preparation_;
  std::string_view rest_;
  MemoryCounter memory_;
  Buffer<char> prepared_;
  Buffer<int32_t> points_, replaced_;  // of a part
};

}  // namespace simjoin
