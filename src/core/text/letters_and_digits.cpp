#include "core/text/letters_and_digits.hpp"

#include <utf8proc.h>

#include <array>
#include <cstring>

#include "core/text/letters.hpp"

namespace simjoin {
namespace {

// What becomes of each ASCII character.
constexpr std::array<char, 128> kept_ascii = [] {
  std::array<char, 128> kept{};
  for (size_t c = 0; c < kept.size(); ++c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    kept[c] = letter || (c >= '0' && c <= '9') ? static_cast<char>(c) : ' ';
  }
  return kept;
}();

// Returns whether a character outside ASCII belongs to a run of letters and digits.
bool belongs_to_run(uint32_t point, bool run_begun) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(point))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return true;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
      return run_begun;
    default:
      return false;
  }
}

}  // namespace

void keep_letters_and_digits(char *begin, bool after_space, FoldedText *folded) {
  const char *next = begin, *const end = folded->end;
  char *to = begin;
  while (next < end) {
    const auto byte = static_cast<uint8_t>(*next);
    if (byte < kept_ascii.size()) {
      *to = kept_ascii[byte];
      const bool space = *to == ' ';
      to += !(space && after_space);
      after_space = space;
      ++next;
      continue;
    }
    const size_t length = character_length(next, end);
    if (length > 1 && belongs_to_run(code_point(next, length), !after_space)) {
      std::memmove(to, next, length);
      to += length;
      after_space = false;
    } else if (!after_space) {
      *to++ = ' ';
      after_space = true;
    }
    next += length;
  }
  folded->end = to;
  folded->after_space = after_space;
}

}  // namespace simjoin
