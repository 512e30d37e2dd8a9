// How the sets of a round lie in device memory, and who works on which.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/base/device.hpp"

namespace simjoin::gpu {

// The tokens of a set, numbered within the round. `logarithms`: its weights are given as logarithms.
struct SetRange {
  uint32_t begin;
  uint32_t end : 31;
  uint32_t logarithms : 1;
};
static_assert(sizeof(SetRange) == 8);
inline constexpr uint32_t most_round_tokens = (uint32_t{1} << 31) - 1;

inline constexpr uint32_t no_slot = UINT32_MAX;

// What a warp works on at a time: some whole sets, or the tokens [begin, end) of one. A set in parts has a
// slot for its results.
struct Piece {
  uint32_t first_set;
  uint32_t sets;
  uint32_t begin;
  uint32_t end;
  uint32_t slot;
};

// Tokens of a piece: sets are put together up to so many, and cut into parts of so many where they have more
// than twice that (not tuned: several thousand pieces a round keep an H200's 132 multiprocessors busy).
inline constexpr uint32_t piece_tokens = 512;

// The round's arrays in device memory.
struct RoundView {
  const SetRange *sets;
  const Piece *pieces;
  uint32_t set_count;
  uint32_t piece_count;
  uint32_t permutations;
  uint32_t *values;  // by set and permutation
};

// Kernels work on tasks, a piece for one block of permutations each, and a launch on so many of them that it
// ends within some 20 ms.
struct TaskRange {
  uint64_t first;
  uint64_t count;
};

// Returns the next range after `done` tasks of `all`, each of about `cost` evaluations, of at most
// `most_evaluations`.
inline TaskRange next_tasks(uint64_t done, uint64_t all, uint64_t cost, uint64_t most_evaluations) {
  const uint64_t most = most_evaluations / cost > 0 ? most_evaluations / cost : 1;
  return {done, all - done < most ? all - done : most};
}

}  // namespace simjoin::gpu
