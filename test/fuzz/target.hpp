// What the programs around a fuzz target need of it. Each target is a file; a program has one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace simjoin::fuzz {

// Does with the bytes what the target is for. Aborts with an account of it where something is wrong.
void check_input(const uint8_t *data, size_t size);

// Returns bytes that take the target further than any would.
std::vector<uint8_t> random_input(std::mt19937_64 &random);

}  // namespace simjoin::fuzz
