// The order of rows by their ids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace simjoin {

// Both are for the caller's thread, which may give them up (check_interruption).

// Returns the smallest id that several rows have, if there is one.
std::optional<int64_t> repeated_id(const int64_t *ids, size_t rows);

// Puts the place of each row in the order of ids into `places`.
void place_by_id(const int64_t *ids, uint32_t rows, uint32_t *places);

}  // namespace simjoin
