// A vectorised bound of the characters that texts lack, for the best instruction set of the host (Highway's
// dynamic dispatch).
#pragma once

#include <cstddef>
#include <cstdint>

namespace simjoin {

// A signature of a text's characters.
struct TextSignature {
  uint64_t words[2];
};

// Returns how many bits of the probe a signature lacks. Not every host counts bits itself.
inline uint32_t bits_missing(const TextSignature &probe, const TextSignature &text) {
  constexpr uint64_t ones = 0x0101010101010101, twos = 0x3333333333333333, fours = ones * 15;
  const auto bits_of_bytes = [&](uint64_t bits) {
    bits -= bits >> 1 & ones * 0x55;
    bits = (bits & twos) + (bits >> 2 & twos);
    return (bits & fours) + (bits >> 4 & fours);
  };
  return static_cast<uint32_t>(
      (bits_of_bytes(probe.words[0] & ~text.words[0]) + bits_of_bytes(probe.words[1] & ~text.words[1])) *
          ones >>
      56);
}

// Writes for each of `count` signatures, which stand in two arrays of words, how many bits of the probe it
// lacks: `base` more, which is at most 127, and at least `least`.
void count_missing(const uint64_t *first, const uint64_t *second, size_t count, const TextSignature &probe,
                   uint8_t base, uint8_t least, uint8_t *missing);

}  // namespace simjoin
