#include "core/minhash/minhash_text.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string_view>

#include "core/minhash/minhash.hpp"

namespace simjoin {
namespace {

constexpr std::string_view empty_values = "empty";
// The name of a family, four numbers and the colons.
constexpr size_t longest_header = 8 + 4 * std::numeric_limits<int64_t>::digits10 + 16;

// Reads a decimal number and the colon after it. Returns false if there is none, or if it is out of range.
bool next_number(const char *&next, long long least, long long most, long long *number) {
  char *end;
  errno = 0;
  *number = std::strtoll(next, &end, 10);
  if (end == next || *end != ':' || errno != 0 || *number < least || *number > most ||
      std::isspace(static_cast<unsigned char>(*next)))
    return false;
  next = end + 1;
  return true;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

const char *parse_signature_header(const char *text, SignatureHeader *header, const char **values) {
  const char *colon = std::strchr(text, ':');
  const std::string_view family(text, colon == nullptr ? 0 : static_cast<size_t>(colon - text));
  if (family == signature_family_names[1])
    header->family = SignatureFamily::minhash;
  else if (family == signature_family_names[2])
    header->family = SignatureFamily::weighted;
  else
    return "It does not begin with the name of a family, minhash or weighted.";
  const char *next = colon + 1;
  long long version, permutations, bits, seed;
  if (!next_number(next, signature_version, signature_version, &version) ||
      !next_number(next, 1, max_permutations, &permutations) || !next_number(next, 1, full_bits, &bits) ||
      !next_number(next, INT64_MIN, INT64_MAX, &seed))
    return "A number in its header is missing or out of range.";
  header->permutations = static_cast<uint16_t>(permutations);
  header->bits = static_cast<uint8_t>(bits);
  header->seed = static_cast<uint64_t>(seed);
  header->empty = next == empty_values;
  *values = next;
  return nullptr;
}

const char *parse_signature_values(const SignatureHeader &header, const char *values, uint8_t *signature) {
  const size_t bytes = header.bytes();
  write_header(header, signature);
  if (header.empty) return nullptr;
  if (std::strlen(values) != 2 * (bytes - signature_header_bytes))
    return "Its values do not have the length that its header says.";
  for (size_t i = signature_header_bytes; i < bytes; ++i, values += 2) {
    const int high = hex_digit(values[0]), low = hex_digit(values[1]);
    if (high < 0 || low < 0) return "Its values are not hexadecimal digits.";
    signature[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return signature_flaw({signature, bytes}) == nullptr ? nullptr : "Bits after its last value are set.";
}

size_t max_signature_text(const SignatureHeader &header) {
  return longest_header + std::max(empty_values.size(), 2 * (header.bytes() - signature_header_bytes));
}

size_t write_signature_text(const uint8_t *signature, char *text) {
  const SignatureHeader header = read_header(signature);
  const std::string_view family = signature_family_names[static_cast<int>(header.family)];
  char *out = std::copy(family.begin(), family.end(), text);
  for (const int64_t number : {int64_t{signature_version}, int64_t{header.permutations}, int64_t{header.bits},
                               static_cast<int64_t>(header.seed)}) {
    *out++ = ':';
    out = std::to_chars(out, text + longest_header, number).ptr;
  }
  *out++ = ':';
  if (header.empty) out = std::copy(empty_values.begin(), empty_values.end(), out);
  for (size_t i = signature_header_bytes; i < header.bytes(); ++i) {
    *out++ = "0123456789abcdef"[signature[i] >> 4];
    *out++ = "0123456789abcdef"[signature[i] & 15];
  }
  return static_cast<size_t>(out - text);
}

}  // namespace simjoin
