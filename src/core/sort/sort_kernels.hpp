// Vectorised sorting of a few numbers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace simjoin {

// Writes numbers to `to` in ascending order and returns true. `to` may be `from`; otherwise they do not
// overlap. Returns false and writes nothing if the numbers are more than the vector registers of this
// processor hold: with AVX-512 256 numbers of 32 bits, with AVX2 128.
bool sort_in_registers(const uint32_t *from, size_t count, uint32_t *to);
bool sort_in_registers(const uint64_t *from, size_t count, uint64_t *to);

}  // namespace simjoin
