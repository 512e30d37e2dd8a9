// Shingles: a text as the set of its runs of characters or words, hashed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/memory.hpp"

namespace simjoin {

enum class ShingleUnit : uint8_t { character, word };

// Hashes every run of `size` units (characters, or words joined by one space) of a UTF-8 text. Each run of
// white space counts as one space, and not at all at either end of the text. A text of fewer units is one
// run; a blank text has none. Letters are taken as they are. A byte that is not part of a UTF-8 character is
// a character.
//
// The hash is XXH3 with 64 bits, without a seed, of the run's bytes: the same on every machine and for good.
class Shingler {
 public:
  // size >= 1.
  Shingler(ShingleUnit unit, uint32_t size);

  // Takes the next part of the text, which is not copied. Parts end between characters. step() must have
  // reached the end of the part before.
  void feed(std::string_view part) { rest_ = part; }

  // Works through at least one character and, unless a single run is longer, at most about `budget` bytes.
  // Returns false once the part's end is reached.
  bool step(size_t budget);

  // Ends the text. Called once, after the last part has been worked through.
  void finish();

  // Returns the hashes so far, in the order of the text, with repeated ones. The caller may change them once
  // the text has ended.
  Buffer<uint64_t> &hashes() { return hashes_; }

 private:
  void forget_text();
  void append(std::string_view character);
  void finish_word();
  size_t hash_window();

  std::string_view rest_;
  const ShingleUnit unit_;
  const uint32_t size_;
  std::string normal_;       // the end of the text so far, with white space folded
  size_t window_begin_ = 0;  // the beginning of the last `units_` units in normal_
  uint32_t units_ = 0;       // complete units in the window, at most size_
  bool space_pending_ = false;
  size_t work_ = 0;  // bytes since the step began
  MemoryCounter memory_;
  Buffer<uint64_t> hashes_;
};

}  // namespace simjoin
