// What lower case makes of the characters of UTF-8, by the rules of one collation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace simjoin {

// ASCII characters become lower case as in English. The others have pages of 256 each.
struct Letters {
  static constexpr uint32_t page_size = 256, pages = 0x110000 / page_size;
  // Of a character that depends on others, or becomes as many or other bytes than one character of its
  // length.
  static constexpr uint32_t unknown = 0;
  // The page of characters that stay as they are.
  static constexpr uint32_t unchanged[1] = {};

  // The bytes of each character's lower case, in a row, or `unknown`. Null where it has not been found out.
  const uint32_t *page[pages];
};

// Returns the number of bytes of the first character of a text that is not empty. A byte that is not part of
// a UTF-8 character is a character.
inline size_t character_length(const char *text, const char *end) {
  const auto lead = static_cast<uint8_t>(*text);
  const auto rest = static_cast<size_t>(end - text);
  const auto follows = [text](size_t i) { return (static_cast<uint8_t>(text[i]) & 0xC0) == 0x80; };
  if (lead < 0xC2) return 1;
  if (lead < 0xE0) return rest >= 2 && follows(1) ? 2 : 1;
  if (lead < 0xF0) return rest >= 3 && follows(1) && follows(2) ? 3 : 1;
  return lead < 0xF5 && rest >= 4 && follows(1) && follows(2) && follows(3) ? 4 : 1;
}

// Returns the code point of a character of 2 to 4 bytes.
inline uint32_t code_point(const char *character, size_t length) {
  uint32_t point = static_cast<uint8_t>(character[0]) & 0x7Fu >> length;
  for (size_t i = 1; i < length; ++i) point = point << 6 | (static_cast<uint8_t>(character[i]) & 0x3Fu);
  return point;
}

}  // namespace simjoin
