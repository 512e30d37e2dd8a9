#include "pg/sets/characters.hpp"

extern "C" {
#include "mb/pg_wchar.h"
#include "utils/memutils.h"
}

#include <algorithm>
#include <cstring>

#include "core/text/letters.hpp"
#include "pg/base/compat.hpp"
#include "pg/base/interrupts.hpp"

namespace simjoin::pg {
namespace {

constexpr size_t bytes_between_checks = 1 << 16;

// Returns the length of the first character of a text that is not empty.
size_t first_length(Bytes bytes) {
  const auto *text = reinterpret_cast<const char *>(bytes.data());
  if (GetDatabaseEncoding() == PG_UTF8) return character_length(text, text + bytes.size());
  return std::min(static_cast<size_t>(Max(pg_mblen(text), 1)), bytes.size());
}

}  // namespace

Bytes bytes_of(const text *input) {
  return {reinterpret_cast<const uint8_t *>(VARDATA_ANY(input)),
          static_cast<size_t>(VARSIZE_ANY_EXHDR(input))};
}

bool has_characters_of_bytes(Bytes bytes) {
  if (pg_database_encoding_max_length() == 1) return true;
  uint64_t all = 0;
  size_t i = 0;
  for (; i + sizeof all <= bytes.size(); i += sizeof all) {
    if (i % bytes_between_checks == 0) check_interrupts();
    uint64_t word;
    std::memcpy(&word, bytes.data() + i, sizeof word);
    all |= word;
  }
  for (; i < bytes.size(); ++i) all |= bytes[i];
  return (all & 0x8080808080808080u) == 0;
}

Points points_of(Bytes bytes) {
  auto *points = static_cast<uint32_t *>(
      MemoryContextAllocHuge(CurrentMemoryContext, sizeof(uint32_t) * Max(bytes.size(), 1)));
  const bool utf8 = GetDatabaseEncoding() == PG_UTF8;
  size_t count = 0;
  while (!bytes.empty()) {
    if (count % bytes_between_checks == 0) check_interrupts();
    const size_t length = first_length(bytes);
    if (utf8 && length > 1) {
      points[count] = code_point(reinterpret_cast<const char *>(bytes.data()), length);
    } else {
      points[count] = 0;
      for (const uint8_t byte : bytes.first(length)) points[count] = points[count] << 8 | byte;
    }
    ++count;
    bytes = bytes.subspan(length);
  }
  return {points, count};
}

}  // namespace simjoin::pg
