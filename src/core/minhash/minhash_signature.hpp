// The byte layout of signatures, and what can be done with them without their sets.
//
// A signature is 16 bytes of header and, unless it is that of an empty set, `permutations` values of `bits`
// bits each. Numbers are little-endian on every machine.
//
//   byte 0      format version, 1
//   byte 1      family
//   byte 2      bits of a value, 1 to 32
//   byte 3      1 where the set is empty, else 0
//   bytes 4-5   permutations, 1 to 65535
//   bytes 6-7   0
//   bytes 8-15  seed
//   from 16     the values, from the lowest bit of the first byte on; unused bits of the last byte are 0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/minhash/minhash_family.hpp"

namespace simjoin {

// `minhash`: the least values of the family ((a h + b) mod 2^61 - 1). `weighted`: hashes of the samples
// (token, t) of consistent weighted sampling.
enum class SignatureFamily : uint8_t { minhash = 1, weighted = 2 };

inline constexpr std::string_view signature_family_names[] = {"", "minhash", "weighted"};
inline constexpr uint8_t signature_version = 1;
inline constexpr size_t signature_header_bytes = 16;
inline constexpr uint32_t full_bits = 32;

struct SignatureHeader {
  SignatureFamily family = SignatureFamily::minhash;
  bool empty = false;
  uint8_t bits = full_bits;
  uint16_t permutations = 0;
  uint64_t seed = 0;

  // Returns whether signatures with these headers can be compared: all fields except `empty` are equal.
  bool comparable(const SignatureHeader &other) const {
    return family == other.family && bits == other.bits && permutations == other.permutations &&
           seed == other.seed;
  }
  // Returns the size of the whole signature.
  size_t bytes() const {
    return signature_header_bytes + (empty ? 0 : (size_t{permutations} * bits + 7) / 8);
  }
};

// Returns what is wrong with the bytes of a supposed signature, as a phrase, or null if nothing is.
const char *signature_flaw(std::span<const uint8_t> bytes);

// Returns the header of a signature without flaws.
SignatureHeader read_header(const uint8_t *signature);

// Writes a header.
void write_header(const SignatureHeader &header, uint8_t *signature);

// Writes a signature (header.bytes() bytes) of the lowest header.bits bits of each value.
void write_signature(const SignatureHeader &header, const uint32_t *values, uint8_t *signature);

// Reads the values [first, first + count) of a signature that is not empty.
void read_values(const uint8_t *signature, size_t first, size_t count, uint32_t *values);

// Returns the number of values that two comparable signatures share; 0 if either is of an empty set.
uint32_t common_values(const uint8_t *a, const uint8_t *b);

// Returns the estimated similarity if `common` values are equal: their share. For truncated values it is
// corrected by the share that is equal by chance, and not below 0 (Li and Koenig, b-bit minwise hashing,
// 2010).
double estimated_similarity(const SignatureHeader &header, uint32_t common);

// Returns the hash of a band of `rows` values. It also depends on the family, the bits of a value, the seed
// and the band's number. Signatures that differ only in their number of permutations have the same bands.
SIMJOIN_HOST_DEVICE inline uint64_t band_hash(const SignatureHeader &header, uint32_t band,
                                              const uint32_t *values, uint32_t rows) {
  const uint64_t what = static_cast<uint64_t>(header.family) | uint64_t{header.bits} << 8 |
                        uint64_t{rows} << 16 | uint64_t{band} << 32;
  uint64_t hash = mix64(mix64(header.seed) ^ what);
  for (uint32_t i = 0; i < rows; i += 2)
    hash = mix64(hash ^ (values[i] | (i + 1 < rows ? uint64_t{values[i + 1]} << 32 : 0)));
  return hash;
}

}  // namespace simjoin
