// 128-bit fingerprints of bytes, which show whether the bytes have changed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace simjoin {

// Two different contents have the same fingerprint with a probability of 2^-128.
struct Fingerprint {
  uint64_t high;
  uint64_t low;

  bool operator==(const Fingerprint &) const = default;
};

// Returns the fingerprint (XXH3) of the bytes. `kind` tells apart equal bytes that mean different things.
Fingerprint fingerprint(const void *data, size_t size, uint64_t kind);

}  // namespace simjoin
