#include "core/text/fold_kernels.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/text/fold_kernels.cpp"
#include <hwy/foreach_target.h>
// Highway's own headers must follow the loop over targets.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace simjoin {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Bytes = hn::CappedTag<uint8_t, 32>;
constexpr size_t vector_bytes = hn::MaxLanes(Bytes());
static_assert(vector_bytes <= fold_padding);

// Returns a bit for each byte, the first one's lowest.
template <typename Mask>
HWY_INLINE uint32_t bits_of(Mask mask) {
  uint8_t bytes[8];
  hn::StoreMaskBits(Bytes(), mask, bytes);
  uint32_t bits = 0;
  for (size_t i = 0; i < (vector_bytes + 7) / 8; ++i) bits |= uint32_t{bytes[i]} << 8 * i;
  return bits;
}

// Loads the next bytes of the text, and zeros after its end.
HWY_INLINE hn::Vec<Bytes> next_bytes(const char *text, size_t size) {
  const auto *bytes = reinterpret_cast<const uint8_t *>(text);
  if (size >= vector_bytes) return hn::LoadU(Bytes(), bytes);
  HWY_ALIGN uint8_t padded[vector_bytes] = {};
  std::memcpy(padded, bytes, size);
  return hn::Load(Bytes(), padded);
}

// Returns the number of bytes before the first one outside ASCII.
HWY_INLINE size_t ascii_length(hn::Vec<Bytes> bytes, size_t size) {
  const uint32_t others = bits_of(hn::Gt(bytes, hn::Set(Bytes(), uint8_t{0x7F})));
  return std::min({size, vector_bytes, static_cast<size_t>(std::countr_zero(others))});
}

HWY_INLINE void fold_ascii(hn::Vec<Bytes> bytes, size_t size, uint8_t capitals, FoldedText *folded) {
  const Bytes d;
  const auto capital = hn::Lt(hn::Sub(bytes, hn::Set(d, uint8_t{'A'})), hn::Set(d, capitals));
  bytes = hn::Or(bytes, hn::IfThenElseZero(capital, hn::Set(d, uint8_t{'a' - 'A'})));
  const auto space = hn::Or(hn::Eq(bytes, hn::Set(d, uint8_t{' '})),
                            hn::Lt(hn::Sub(bytes, hn::Set(d, uint8_t{'\t'})), hn::Set(d, uint8_t{5})));
  bytes = hn::IfThenElse(space, hn::Set(d, uint8_t{' '}), bytes);
  const uint64_t spaces = uint64_t{bits_of(space)} << 1 | uint64_t{folded->after_space};
  const uint64_t repeated = spaces & spaces >> 1 & ((uint64_t{1} << size) - 1);
  folded->after_space = (spaces >> size & 1) != 0;
  auto *end = reinterpret_cast<uint8_t *>(folded->end);
  if (repeated == 0) {
    hn::StoreU(bytes, d, end);
    folded->end += size;
    return;
  }
  HWY_ALIGN uint8_t each[vector_bytes];
  hn::Store(bytes, d, each);
  for (size_t i = 0; i < size; ++i) {
    *end = each[i];
    end += (repeated >> i & 1) == 0;
  }
  folded->end = reinterpret_cast<char *>(end);
}

// Returns whether a character outside ASCII is white space by Unicode's property White_Space.
HWY_INLINE bool is_space(const char *character, size_t length) {
  const auto first = static_cast<uint8_t>(character[0]);
  if (length == 2) return first == 0xC2 && (character[1] == '\x85' || character[1] == '\xA0');
  if (length != 3 || first > 0xE3) return false;
  const uint32_t point = code_point(character, length);
  return point == 0x1680 || (point >= 0x2000 && point <= 0x200A) || point == 0x2028 || point == 0x2029 ||
         point == 0x202F || point == 0x205F || point == 0x3000;
}

// Folds a character outside ASCII and returns its length.
HWY_INLINE size_t fold_other(const Letters *letters, const char *text, const char *end, FoldedText *folded) {
  const size_t length = character_length(text, end);
  std::memcpy(folded->end, text, length);
  if (letters != nullptr) {
    const uint32_t point = code_point(text, length);
    const uint32_t *page = letters->page[point / Letters::page_size];
    if (page != Letters::unchanged) std::memcpy(folded->end, &page[point % Letters::page_size], length);
  }
  if (!is_space(folded->end, length)) {
    folded->end += length;
    folded->after_space = folded->ascii = false;
    folded->utf8 &= length > 1;
  } else if (!folded->after_space) {
    *folded->end++ = ' ';
    folded->after_space = true;
  }
  return length;
}

size_t fold(const Letters *letters, std::string_view text, size_t least, FoldedText *folded) {
  const uint8_t capitals = letters == nullptr ? 0 : 26;
  const char *next = text.data(), *const end = next + text.size(), *const enough = next + least;
  FoldedText to = *folded;
  while (next < enough) {
    const size_t rest = static_cast<size_t>(end - next);
    const auto bytes = next_bytes(next, rest);
    const size_t ascii = ascii_length(bytes, rest);
    fold_ascii(bytes, ascii, capitals, &to);
    next += ascii;
    while (next < enough && static_cast<uint8_t>(*next) >= 0x80) next += fold_other(letters, next, end, &to);
  }
  *folded = to;
  return static_cast<size_t>(next - text.data());
}

// Returns the length of a character outside ASCII, or 0 if its lower case is not known.
HWY_INLINE size_t known_length(const Letters &letters, const char *text, const char *end) {
  const size_t length = character_length(text, end);
  if (length == 1) return 0;
  const uint32_t point = code_point(text, length);
  const uint32_t *page = point < 0x110000 ? letters.page[point / Letters::page_size] : nullptr;
  if (page == nullptr) return 0;
  return page == Letters::unchanged || page[point % Letters::page_size] != Letters::unknown ? length : 0;
}

size_t known(const Letters &letters, std::string_view text) {
  const char *next = text.data(), *const end = next + text.size();
  while (next < end) {
    const size_t rest = static_cast<size_t>(end - next);
    next += ascii_length(next_bytes(next, rest), rest);
    while (next < end && static_cast<uint8_t>(*next) >= 0x80) {
      const size_t length = known_length(letters, next, end);
      if (length == 0) return static_cast<size_t>(next - text.data());
      next += length;
    }
  }
  return text.size();
}

size_t starts(std::string_view text, uint32_t *starts) {
  size_t found = 0;
  for (size_t i = 0; i < text.size(); i += vector_bytes) {
    const size_t rest = text.size() - i;
    const auto bytes = hn::BitCast(hn::RebindToSigned<Bytes>(), next_bytes(text.data() + i, rest));
    const auto starting =
        hn::RebindMask(Bytes(), hn::Gt(bytes, hn::Set(hn::RebindToSigned<Bytes>(), int8_t{-65})));
    uint32_t bits = bits_of(starting);
    if (rest < vector_bytes) bits &= (uint32_t{1} << rest) - 1;
    for (; bits != 0; bits &= bits - 1)
      starts[found++] = static_cast<uint32_t>(i + static_cast<size_t>(std::countr_zero(bits)));
  }
  return found;
}

}  // namespace HWY_NAMESPACE
}  // namespace simjoin
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace simjoin {

HWY_EXPORT(fold);
HWY_EXPORT(known);
HWY_EXPORT(starts);

size_t fold_text(const Letters *letters, std::string_view text, size_t least, FoldedText *folded) {
  return HWY_DYNAMIC_DISPATCH(fold)(letters, text, std::min(least, text.size()), folded);
}

size_t known_letters(const Letters &letters, std::string_view text) {
  return HWY_DYNAMIC_DISPATCH(known)(letters, text);
}

size_t character_starts(std::string_view text, uint32_t *starts) {
  return HWY_DYNAMIC_DISPATCH(starts)(text, starts);
}

}  // namespace simjoin
#endif
