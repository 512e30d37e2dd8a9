// The differential fuzz target: any bytes become a join, which the engine and the naive join must agree on.
#pragma once

#include <cstddef>
#include <cstdint>

namespace simjoin::fuzz {

// Runs the join that the bytes describe. Aborts with an account of both results where they differ.
void check_join(const uint8_t *data, size_t size);

}  // namespace simjoin::fuzz
