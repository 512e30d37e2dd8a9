#include "core/minhash/minhash_signature.hpp"

#include <algorithm>
#include <cstring>

#include "core/minhash/minhash_family.hpp"

namespace simjoin {
namespace {

constexpr size_t values_at_once = 256;

template <class T>
T read_number(const uint8_t *bytes) {
  T number = 0;
  for (size_t i = 0; i < sizeof(T); ++i) number = static_cast<T>(number | static_cast<T>(bytes[i]) << 8 * i);
  return number;
}

template <class T>
void write_number(T number, uint8_t *bytes) {
  for (size_t i = 0; i < sizeof(T); ++i) bytes[i] = static_cast<uint8_t>(number >> 8 * i);
}

uint32_t low_bits(uint32_t bits) {
  return static_cast<uint32_t>((uint64_t{1} << bits) - 1);
}

}  // namespace

const char *signature_flaw(std::span<const uint8_t> bytes) {
  if (bytes.size() < signature_header_bytes) return "it is shorter than a header";
  if (bytes[0] != signature_version) return "its format version is not 1";
  if (bytes[1] != 1 && bytes[1] != 2) return "its family is unknown";
  if (bytes[2] < 1 || bytes[2] > full_bits) return "its values do not have 1 to 32 bits";
  if (bytes[3] > 1 || bytes[6] != 0 || bytes[7] != 0) return "reserved bytes of its header are set";
  const SignatureHeader header = read_header(bytes.data());
  if (header.permutations == 0) return "it has no permutations";
  if (bytes.size() != header.bytes()) return "its length does not fit its header";
  const size_t used = size_t{header.permutations} * header.bits % 8;
  if (!header.empty && used != 0 && bytes.back() >> used != 0) return "bits after its last value are set";
  return nullptr;
}

SignatureHeader read_header(const uint8_t *signature) {
  return {static_cast<SignatureFamily>(signature[1]), signature[3] != 0, signature[2],
          read_number<uint16_t>(signature + 4), read_number<uint64_t>(signature + 8)};
}

void write_header(const SignatureHeader &header, uint8_t *signature) {
  std::fill_n(signature, signature_header_bytes, uint8_t{0});
  signature[0] = signature_version;
  signature[1] = static_cast<uint8_t>(header.family);
  signature[2] = header.bits;
  signature[3] = header.empty ? 1 : 0;
  write_number(header.permutations, signature + 4);
  write_number(header.seed, signature + 8);
}

void write_signature(const SignatureHeader &header, const uint32_t *values, uint8_t *signature) {
  write_header(header, signature);
  if (header.empty) return;
  uint8_t *out = signature + signature_header_bytes;
  if (header.bits == full_bits) {
    for (size_t i = 0; i < header.permutations; ++i) write_number(values[i], out + i * 4);
    return;
  }
  uint64_t pending = 0;
  uint32_t pending_bits = 0;
  for (size_t i = 0; i < header.permutations; ++i) {
    pending |= uint64_t{values[i] & low_bits(header.bits)} << pending_bits;
    pending_bits += header.bits;
    for (; pending_bits >= 8; pending_bits -= 8, pending >>= 8) *out++ = static_cast<uint8_t>(pending);
  }
  if (pending_bits > 0) *out = static_cast<uint8_t>(pending);
}

void read_values(const uint8_t *signature, size_t first, size_t count, uint32_t *values) {
  const SignatureHeader header = read_header(signature);
  const uint8_t *bytes = signature + signature_header_bytes;
  if (header.bits == full_bits) {
    for (size_t i = 0; i < count; ++i) values[i] = read_number<uint32_t>(bytes + (first + i) * 4);
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    const size_t begin = (first + i) * header.bits, end = begin + header.bits;
    uint64_t word = 0;
    for (size_t byte = begin / 8; byte * 8 < end; ++byte)
      word |= uint64_t{bytes[byte]} << 8 * (byte - begin / 8);
    values[i] = static_cast<uint32_t>(word >> begin % 8) & low_bits(header.bits);
  }
}

uint32_t common_values(const uint8_t *a, const uint8_t *b) {
  const SignatureHeader header = read_header(a);
  if (header.empty || read_header(b).empty) return 0;
  uint32_t common = 0;
  uint32_t left[values_at_once], right[values_at_once];
  for (size_t first = 0; first < header.permutations; first += values_at_once) {
    const size_t count = std::min(values_at_once, header.permutations - first);
    read_values(a, first, count, left);
    read_values(b, first, count, right);
    for (size_t i = 0; i < count; ++i) common += left[i] == right[i];
  }
  return common;
}

double estimated_similarity(const SignatureHeader &header, uint32_t common) {
  const double share = static_cast<double>(common) / header.permutations;
  // Full values are equal by chance with 2.3e-10, less than any estimate resolves.
  if (header.bits == full_bits) return share;
  const double chance = 1.0 / static_cast<double>(uint64_t{1} << header.bits);
  return std::max(0.0, (share - chance) / (1.0 - chance));
}

}  // namespace simjoin
