#include "pg/sets/letters.hpp"

extern "C" {
#include "mb/pg_wchar.h"
#include "utils/formatting.h"
#include "utils/memutils.h"
}

#include <algorithm>
#include <cstring>

#include "core/text/fold_kernels.hpp"
#include "pg/base/interrupts.hpp"

namespace simjoin::pg {
namespace {

struct CollationLetters {
  Oid collation;
  bool ascii;   // lower() changes ASCII characters as in English
  bool others;  // what it makes of another character depends on that character alone, but for a few
  Letters letters;
};

// The letters of the collations that were used last. PostgreSQL, too, takes the rules of a collation to be
// the same as long as the session lasts.
constexpr int kept_collations = 4;
CollationLetters *kept[kept_collations];
int last_kept = 0;

// Bytes that are looked at between two interrupt checks.
constexpr size_t looked_at = 1 << 20;

// GREEK CAPITAL LETTER SIGMA, which is another letter at the end of a word in some collations.
constexpr uint32_t sigma = 0x03A3;

std::string_view lower(std::string_view text, Oid collation) {
  return str_tolower(text.data(), text.size(), collation);
}

// Returns whether lower() changes ASCII characters as in English. It does not in Turkish.
bool is_plain_ascii(Oid collation) {
  char text[127], expected[127];
  for (int i = 0; i < 127; ++i) {
    text[i] = static_cast<char>(i + 1);
    expected[i] = text[i] >= 'A' && text[i] <= 'Z' ? static_cast<char>(text[i] - 'A' + 'a') : text[i];
  }
  return lower({text, sizeof text}, collation) == std::string_view(expected, sizeof expected);
}

// Returns whether accents after a letter make no difference. They do in Lithuanian and Turkish, by ICU.
bool is_free_of_context(Oid collation) {
  return lower("I\u0300 J\u0300 I\u0307", collation) == "i\u0300 j\u0300 i\u0307";
}

CollationLetters *letters_by(Oid collation) {
  for (CollationLetters *letters : kept)
    if (letters != nullptr && letters->collation == collation) return letters;
  const bool ascii = is_plain_ascii(collation);
  const bool others = ascii && GetDatabaseEncoding() == PG_UTF8 && is_free_of_context(collation);
  last_kept = (last_kept + 1) % kept_collations;
  CollationLetters *&letters = kept[last_kept];
  if (letters == nullptr)
    letters = static_cast<CollationLetters *>(MemoryContextAllocZero(TopMemoryContext, sizeof *letters));
  letters->collation = InvalidOid;
  for (const uint32_t *&page : letters->letters.page) {
    if (page != nullptr && page != Letters::unchanged) pfree(const_cast<uint32_t *>(page));
    page = nullptr;
  }
  letters->ascii = ascii;
  letters->others = others;
  letters->collation = collation;
  return letters;
}

bool is_character(uint32_t point) {
  return point >= 0x80 && (point < 0xD800 || point > 0xDFFF);
}

uint32_t entry_of(const char *character, size_t length) {
  uint32_t entry = 0;
  std::memcpy(&entry, character, length);
  return entry;
}

// Finds out what the characters of a page become: each between spaces, so that none depends on another.
void find_out_page(CollationLetters *letters, uint32_t number) {
  uint32_t own[Letters::page_size] = {}, entries[Letters::page_size] = {};
  char text[Letters::page_size * 5];
  size_t size = 0;
  for (uint32_t i = 0; i < Letters::page_size; ++i) {
    const uint32_t point = number * Letters::page_size + i;
    if (!is_character(point)) continue;
    char *character = text + size;
    unicode_to_utf8(point, reinterpret_cast<unsigned char *>(character));
    const size_t length = character_length(character, character + 4);
    own[i] = entry_of(character, length);
    size += length;
    text[size++] = ' ';
  }
  const std::string_view all = lower({text, size}, letters->collation);
  std::string_view rest = all;
  size_t before = 0;
  for (uint32_t i = 0; i < Letters::page_size; ++i) {
    if (own[i] == 0) continue;
    const size_t length = std::string_view(text + before, size - before).find(' ');
    const size_t lower_length = rest.find(' ');
    if (lower_length == rest.npos) break;
    if (length == lower_length && character_length(rest.data(), rest.data() + lower_length) == length)
      entries[i] = entry_of(rest.data(), length);
    before += length + 1;
    rest.remove_prefix(lower_length + 1);
  }
  if (number == sigma / Letters::page_size) entries[sigma % Letters::page_size] = Letters::unknown;
  pfree(const_cast<char *>(all.data()));
  if (std::equal(entries, entries + Letters::page_size, own)) {
    letters->letters.page[number] = Letters::unchanged;
    return;
  }
  auto *page = static_cast<uint32_t *>(MemoryContextAlloc(TopMemoryContext, sizeof entries));
  std::memcpy(page, entries, sizeof entries);
  letters->letters.page[number] = page;
}

// Returns whether the letters know the first character of the text. It may be on a page that has to be found
// out first.
bool knows_first(CollationLetters *letters, std::string_view text) {
  const size_t length = character_length(text.data(), text.data() + text.size());
  if (!letters->others || length == 1) return false;
  const uint32_t number = code_point(text.data(), length) / Letters::page_size;
  if (number >= Letters::pages) return false;
  if (letters->letters.page[number] == nullptr) find_out_page(letters, number);
  return known_letters(letters->letters, text.substr(0, length)) == length;
}

}  // namespace

const Letters *letters_of(std::string_view text, Oid collation) {
  CollationLetters *letters = letters_by(collation);
  if (!letters->ascii) return nullptr;
  for (size_t known = 0; known < text.size();) {
    check_interrupts();
    known += known_letters(letters->letters, text.substr(known, looked_at));
    // A character that is cut off where the look ended is known, but for its page.
    if (known < text.size() && static_cast<unsigned char>(text[known]) >= 0x80 &&
        !knows_first(letters, text.substr(known, 4)))
      return nullptr;
  }
  return &letters->letters;
}

}  // namespace simjoin::pg
