#include "core/text/shingles.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

namespace simjoin {
namespace {

// At least this many bytes before the window are kept, so that few steps move the window.
constexpr size_t kept_text = 4096;

uint8_t byte_at(std::string_view text, size_t i) {
  return static_cast<uint8_t>(text[i]);
}

// Returns the number of bytes of the first character of a text that is not empty.
size_t character_length(std::string_view text) {
  const uint8_t lead = byte_at(text, 0);
  const size_t length = lead < 0xC2 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 1;
  if (length > text.size()) return 1;
  for (size_t i = 1; i < length; ++i)
    if ((byte_at(text, i) & 0xC0) != 0x80) return 1;
  return length;
}

// Returns whether a character is white space by Unicode's property White_Space.
bool is_space(std::string_view character) {
  const uint8_t first = byte_at(character, 0);
  if (character.size() == 1) return first == ' ' || (first >= '\t' && first <= '\r');
  const uint8_t second = byte_at(character, 1);
  if (character.size() == 2) return first == 0xC2 && (second == 0x85 || second == 0xA0);
  if (character.size() != 3) return false;
  const uint32_t point = (first & 0x0Fu) << 12 | (second & 0x3Fu) << 6 | (byte_at(character, 2) & 0x3Fu);
  return point == 0x1680 || (point >= 0x2000 && point <= 0x200A) || point == 0x2028 || point == 0x2029 ||
         point == 0x202F || point == 0x205F || point == 0x3000;
}

}  // namespace

Shingler::Shingler(ShingleUnit unit, uint32_t size)
    : unit_(unit), size_(std::max<uint32_t>(size, 1)), hashes_(memory_) {}

bool Shingler::step(size_t budget) {
  work_ = 0;
  forget_text();
  while (!rest_.empty() && work_ < budget) {
    const std::string_view character = rest_.substr(0, character_length(rest_));
    rest_.remove_prefix(character.size());
    work_ += character.size();
    if (is_space(character)) {
      space_pending_ = !normal_.empty();
      continue;
    }
    if (space_pending_) {
      space_pending_ = false;
      if (unit_ == ShingleUnit::word) finish_word();
      append(" ");
    }
    append(character);
  }
  return !rest_.empty();
}

// Forgets the text before the window if it is most of the text.
void Shingler::forget_text() {
  if (window_begin_ < kept_text || window_begin_ < normal_.size() / 2) return;
  normal_.erase(0, window_begin_);
  window_begin_ = 0;
}

// Adds a character to the folded text. If characters are the units, the window moves on.
void Shingler::append(std::string_view character) {
  normal_ += character;
  if (unit_ == ShingleUnit::word) return;
  if (units_ == size_)
    window_begin_ += character_length(std::string_view(normal_).substr(window_begin_));
  else
    ++units_;
  if (units_ == size_) work_ += hash_window();
}

// Moves the window on, after the folded text has got a complete word.
void Shingler::finish_word() {
  if (units_ == size_)
    window_begin_ = normal_.find(' ', window_begin_) + 1;
  else
    ++units_;
  if (units_ == size_) work_ += hash_window();
}

// Hashes the window and returns its length.
size_t Shingler::hash_window() {
  const std::string_view window = std::string_view(normal_).substr(window_begin_);
  hashes_.push_back(XXH3_64bits(window.data(), window.size()));
  return window.size();
}

void Shingler::finish() {
  if (normal_.empty()) return;
  if (unit_ == ShingleUnit::word) finish_word();
  if (units_ < size_) hash_window();
}

}  // namespace simjoin
