// The interface of a fuzz target. Each target is a file, and each program has one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace simjoin::fuzz {

// Runs the target on the bytes. Aborts with a description if something is wrong.
void check_input(const uint8_t *data, size_t size);

// Returns bytes that reach more of the target than random ones.
std::vector<uint8_t> random_input(std::mt19937_64 &random);

}  // namespace simjoin::fuzz
