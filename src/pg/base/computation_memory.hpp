// The memory of a computation: simjoin.memory_limit, or what is drawn for it.
#pragma once

#include "pg/base/pg.hpp"

#include <cstddef>
#include <cstdint>

namespace simjoin::pg {

// What computations ask for: as much as they can have, or no more than most of them need.
inline constexpr size_t all_memory = SIZE_MAX, ordinary_memory = size_t{1} << 30;

// Returns the memory limit, in bytes, of the computation whose memory belongs to the context. Under
// simjoin.memory_limit = 0 the first call for the context draws it, up to `asked` bytes. It is given back
// with the context, also after an ERROR, or when the session ends.
size_t memory_limit_of(MemoryContext computation, size_t asked = all_memory);

// Returns the limit that plans expect of a computation that asks for ordinary_memory. It is the same however
// much there is.
size_t expected_memory_limit();

}  // namespace simjoin::pg
