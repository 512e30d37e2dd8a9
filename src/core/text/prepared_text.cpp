#include "core/text/prepared_text.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/error.hpp"
#include "core/text/letters.hpp"

namespace simjoin {
namespace {

constexpr size_t part_length = 4096, most_without_border = 1000;

struct PointRange {
  int32_t first, last;
};

// The blocks of combining diacritical marks. Marks of other scripts are vowels, or tell letters apart.
constexpr PointRange accents[] = {
    {0x300, 0x36F}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x20D0, 0x20FF}, {0xFE20, 0xFE2F}};

// Characters that are no marks, and yet may become one character with the one before them: those of Hangul,
// halfwidth marks of kana, and Kirat Rai.
constexpr PointRange joining[] = {{0x1100, 0x11FF}, {0x3131, 0x318E}, {0xA960, 0xA97F},
                                  {0xD7B0, 0xD7FF}, {0xFF9E, 0xFFDC}, {0x16D40, 0x16D7F}};

// Letters with strokes, and ligatures: they have no accent in Unicode.
struct PlainForm {
  int32_t letter;
  std::u32string_view plain;
};
constexpr PlainForm plain_forms[] = {
    {U'Æ', U"AE"}, {U'Ð', U"D"},  {U'Ø', U"O"},  {U'Þ', U"TH"}, {U'ß', U"ss"}, {U'æ', U"ae"}, {U'ð', U"d"},
    {U'ø', U"o"},  {U'þ', U"th"}, {U'Đ', U"D"},  {U'đ', U"d"},  {U'Ħ', U"H"},  {U'ħ', U"h"},  {U'ı', U"i"},
    {U'Ł', U"L"},  {U'ł', U"l"},  {U'Œ', U"OE"}, {U'œ', U"oe"}, {U'Ŧ', U"T"},  {U'ŧ', U"t"},  {U'ẞ', U"SS"}};

template <size_t count>
bool is_among(const PointRange (&ranges)[count], int32_t point) {
  return std::any_of(std::begin(ranges), std::end(ranges), [point](const PointRange &range) {
    return point >= range.first && point <= range.last;
  });
}

bool is_ascii(char byte) {
  return static_cast<uint8_t>(byte) < 0x80;
}

// Returns whether the character that begins here never becomes one with those before it.
bool is_border(const char *text, const char *end) {
  if (is_ascii(*text)) return true;
  const size_t length = character_length(text, end);
  if (length == 1) return false;
  const auto point = static_cast<int32_t>(code_point(text, length));
  const utf8proc_category_t category = utf8proc_category(point);
  const bool mark = category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC ||
                    category == UTF8PROC_CATEGORY_ME;
  return !mark && !is_among(joining, point);
}

// Returns the length of the text's first part, which ends before a character.
size_t length_of_part(std::string_view text) {
  if (text.size() <= part_length + most_without_border) return text.size();
  const char *const end = text.data() + text.size();
  for (size_t length = part_length; length < part_length + most_without_border; ++length)
    if (is_border(text.data() + length, end)) return length;
  size_t length = part_length;
  while (length > part_length - 4 && (static_cast<uint8_t>(text[length]) & 0xC0) == 0x80) --length;
  return length;
}

char lower_ascii(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

void PreparedText::begin(const Preparation &preparation, std::string_view text) {
  preparation_ = preparation;
  rest_ = text;
  prepared_.clear();
}

bool PreparedText::step(size_t budget) {
  for (size_t work = 0; !rest_.empty() && work < budget;) {
    const std::string_view part = rest_.substr(0, length_of_part(rest_));
    prepare(part);
    rest_.remove_prefix(part.size());
    work += part.size();
  }
  return !rest_.empty();
}

void PreparedText::prepare(std::string_view part) {
  if (std::all_of(part.begin(), part.end(), is_ascii)) {
    char *to = prepared_.extend(part.size());
    if (preparation_.casefold)
      std::transform(part.begin(), part.end(), to, lower_ascii);
    else
      std::copy(part.begin(), part.end(), to);
    return;
  }
  size_t count = decompose(part);
  if (preparation_.unaccent) count = remove_accents(count);
  int options = UTF8PROC_STABLE;
  if (preparation_.nfkc || preparation_.unaccent) options |= UTF8PROC_COMPOSE;
  const utf8proc_ssize_t size = utf8proc_reencode(points_.data(), static_cast<utf8proc_ssize_t>(count),
                                                  static_cast<utf8proc_option_t>(options));
  const auto *bytes = reinterpret_cast<const char *>(points_.data());
  std::copy_n(bytes, size, prepared_.extend(static_cast<size_t>(size)));
}

// Writes the part's code points, decomposed and with folded case as far as that was asked for. Returns their
// number. There is room for one more.
size_t PreparedText::decompose(std::string_view part) {
  int options = UTF8PROC_STABLE;
  if (preparation_.nfkc || preparation_.unaccent) options |= UTF8PROC_DECOMPOSE;
  if (preparation_.nfkc) options |= UTF8PROC_COMPAT;
  if (preparation_.casefold) options |= UTF8PROC_CASEFOLD;
  points_.resize(std::max(points_.size(), part.size() + 1));
  for (;;) {
    const utf8proc_ssize_t count = utf8proc_decompose(
        reinterpret_cast<const utf8proc_uint8_t *>(part.data()), static_cast<utf8proc_ssize_t>(part.size()),
        points_.data(), static_cast<utf8proc_ssize_t>(points_.size() - 1),
        static_cast<utf8proc_option_t>(options));
    if (count < 0)
      throw Error(ErrorKind::invalid_argument,
                  std::string("a text cannot be prepared: ") + utf8proc_errmsg(count));
    if (static_cast<size_t>(count) < points_.size()) return static_cast<size_t>(count);
    points_.resize(static_cast<size_t>(count) + 1);
  }
}

// Removes the accents from decomposed code points. Returns the number of those that are left.
size_t PreparedText::remove_accents(size_t count) {
  replaced_.clear();
  for (size_t i = 0; i < count; ++i) {
    const int32_t point = points_[i];
    if (is_among(accents, point)) continue;
    const auto is_it = [point](const PlainForm &form) { return form.letter == point; };
    const auto *form = std::find_if(std::begin(plain_forms), std::end(plain_forms), is_it);
    if (point < 0x80 || form == std::end(plain_forms)) {
      replaced_.push_back(point);
      continue;
    }
    for (const char32_t letter : form->plain) replaced_.push_back(static_cast<int32_t>(letter));
  }
  const size_t left = replaced_.size();
  replaced_.push_back(0);
  std::swap(points_, replaced_);
  return left;
}

}  // namespace simjoin
