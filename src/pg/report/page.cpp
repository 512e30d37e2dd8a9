#include "pg/report/page.hpp"

extern "C" {
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
}

#include <cstring>

#include "pg/base/interrupts.hpp"

namespace simjoin::pg {
namespace {

constexpr const char *style =
#include "pg/report/style.css.inc"
    ;
constexpr const char *script =
#include "pg/report/script.js.inc"
    ;

constexpr size_t bytes_between_checks = 1 << 16;
constexpr uint32 replacement = 0xFFFD;  // stands for what is no character

// Returns what a content security policy calls the text of an element.
const char *hash_of(const char *content) {
  const Datum hash = DirectFunctionCall1(sha256_bytea, PointerGetDatum(cstring_to_text(content)));
  const Datum encoded = DirectFunctionCall2(binary_encode, hash, CStringGetTextDatum("base64"));
  return psprintf("'sha256-%s'", TextDatumGetCString(encoded));
}

// Returns the character at `text`, and how many bytes it has.
uint32 character_at(const unsigned char *text, size_t left, int *bytes) {
  *bytes = pg_utf_mblen(text);
  if (static_cast<size_t>(*bytes) <= left && pg_utf8_islegal(text, *bytes)) return utf8_to_unicode(text);
  *bytes = 1;
  return replacement;
}

void append_unit(uint32 unit, StringInfo page) {
  appendStringInfo(page, "\\u%04x", unit);
}

// Appends JSON as ASCII without a character that means something in HTML. All of these can only be in
// strings.
void append_data(const char *json, StringInfo page) {
  size_t left = std::strlen(json);
  // Text in a database without an encoding is taken for UTF-8.
  if (GetDatabaseEncoding() != PG_SQL_ASCII) {
    json = pg_server_to_any(json, static_cast<int>(left), PG_UTF8);
    left = std::strlen(json);
  }
  const auto *next = reinterpret_cast<const unsigned char *>(json);
  while (left > 0) {
    if (left % bytes_between_checks == 0) check_interrupts();
    int bytes = 1;
    if (*next >= 0x80) {
      const uint32 character = character_at(next, left, &bytes);
      if (character >= 0x10000) append_unit(0xD800 + ((character - 0x10000) >> 10), page);
      append_unit(character >= 0x10000 ? 0xDC00 + (character & 0x3FF) : character, page);
    } else if (std::strchr("<>&\x7f", *next) != nullptr) {
      append_unit(*next, page);
    } else {
      appendStringInfoCharMacro(page, static_cast<char>(*next));
    }
    next += bytes;
    left -= static_cast<size_t>(bytes);
  }
}

}  // namespace

void append_page(const char *json, StringInfo page) {
  appendStringInfo(page,
                   "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src %s; "
                   "script-src %s; base-uri 'none'; form-action 'none'\">\n"
                   "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                   "<title>Similarity report</title>\n<style>%s</style>\n</head>\n<body>\n"
                   "<noscript>This page needs JavaScript, which its own script alone uses.</noscript>\n"
                   "<script type=\"application/json\" id=\"data\">",
                   hash_of(style), hash_of(script), style);
  append_data(json, page);
  appendStringInfo(page, "</script>\n<script>%s</script>\n</body>\n</html>\n", script);
}

}  // namespace simjoin::pg
