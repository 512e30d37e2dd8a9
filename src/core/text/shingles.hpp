// Shingles: a text as the set of its runs of characters or words, hashed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "core/base/memory.hpp"
#include "core/base/mix.hpp"
#include "core/text/letters.hpp"

namespace simjoin {

// Returns the hash that stands for a token after `earlier` equal ones, one at least, of the token's hash.
inline uint64_t occurrence_hash(uint64_t hash, uint64_t earlier) {
  return mix64(hash + earlier * golden_gamma);
}

enum class ShingleUnit : uint8_t {
  character,
  word,
  run,   // of letters and digits
  gram,  // a character of the text as it is
};

// Hashes every run of `size` units (characters, or words joined by one space) of a UTF-8 text. Each run of
// white space counts as one space, and not at all at either end of the text. A text of fewer units is one
// run; a blank text has none. A byte that is not part of a UTF-8 character is a character. With runs of
// letters and digits, all other characters are white space, and a set is one of words. With grams, the text
// is neither folded nor trimmed, and has `size` - 1 characters # before it and $ after it.
//
// The hash is XXH3 with 64 bits, without a seed, of the run's bytes, or its low 32 bits if Value is int32_t:
// the same on every machine and for good. Value is int32_t or int64_t.
template <typename Value>
class Shingler {
 public:
  Shingler() : normal_(memory_), starts_(memory_), hashes_(memory_), room_(memory_) {}

  // Begins a text. size >= 1. With `multi`, the second and every further occurrence of a hash is another
  // hash.
  void begin(ShingleUnit unit, uint32_t size, bool multi = false);

  // Takes the next part of the text, which is not copied. Parts end between characters. step() must have
  // reached the end of the part before. The letters know all characters of the part, and put them into lower
  // case. Without letters, and for grams, characters are taken as they are.
  void feed(std::string_view part, const Letters *letters) {
    rest_ = part;
    letters_ = letters;
  }

  // Works through at least one character and, unless a single run is longer, at most about `budget` bytes.
  // Returns false once the part's end is reached.
  bool step(size_t budget);

  // Ends the text. Called once, after the last part has been worked through.
  void finish();

  // Returns the hashes of the text that has ended, ascending and distinct. Called once. Throws Cancelled if
  // check_interruption() does.
  std::span<const Value> set();

 private:
  using Number = std::make_unsigned_t<Value>;

  const char *at(size_t place) const { return normal_.data() + place; }
  size_t text_end() const { return normal_.size() - (after_space_ && !normal_.empty() ? 1 : 0); }
  bool by_characters() const { return unit_ == ShingleUnit::character || unit_ == ShingleUnit::gram; }
  void forget_text();
  void pad(char character);
  void take_as_it_is(size_t budget);
  void fold(size_t budget);
  bool pass_unit();
  void pass_first_unit();
  void hash_window();
  bool hash_windows(size_t budget);
  void hash_ascii(size_t budget);
  void hash_utf8(size_t budget);
  void sort();
  void tell_apart_occurrences();

  std::string_view rest_;
  const Letters *letters_ = nullptr;
  ShingleUnit unit_ = ShingleUnit::character;
  uint32_t size_ = 1;
  bool multi_ = false;
  MemoryCounter memory_;
  Buffer<char> normal_;  // the end of the text so far, folded
  bool after_space_ = true, ascii_ = true, utf8_ = true;
  // The next window to be hashed: where it begins, and its units so far, at most size_.
  size_t begin_ = 0, window_end_ = 0;
  uint32_t units_ = 0;
  size_t next_ = 0;          // where the search for the next unit's end goes on
  size_t work_ = 0;          // bytes since the step began
  Buffer<uint32_t> starts_;  // of the characters from the window on
  Buffer<Number> hashes_;    // in the order of the values
  Buffer<Number> room_;
};

}  // namespace simjoin
