// Memory layout of the sets of a round, and the division of work among warps.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/base/device.hpp"

namespace simjoin::gpu {

// The tokens of a set, numbered within the round. `logarithms` says that the weights are given as logarithms.
struct SetRange {
  uint32_t begin;
  uint32_t end : 31;
  uint32_t logarithms : 1;
};
static_assert(sizeof(SetRange) == 8);
inline constexpr uint32_t most_round_tokens = (uint32_t{1} << 31) - 1;

inline constexpr uint32_t no_slot = UINT32_MAX;

// The work of a warp: some whole sets, or the tokens [begin, end) of one set. A set in parts has a slot for
// its results.
struct Piece {
  uint32_t first_set;
  uint32_t sets;
  uint32_t begin;
  uint32_t end;
  uint32_t slot;
};

// Target number of tokens of a piece. Small sets are joined up to this size. A set of more than twice this
// size is cut into parts of this size. Not tuned: several thousand pieces per round keep an H200's 132
// multiprocessors busy.
inline constexpr uint32_t piece_tokens = 512;

// The arrays of a round in device memory.
struct RoundView {
  const SetRange *sets;
  const Piece *pieces;
  uint32_t set_count;
  uint32_t piece_count;
  uint32_t permutations;
  uint32_t *values;  // by set and permutation
};

// A range of tasks for one launch. A task is a piece and a block of permutations. A launch gets few enough to
// end within some 20 ms.
struct TaskRange {
  uint64_t first;
  uint64_t count;
};

// Returns the next range after `done` of `all` tasks. A task costs about `cost` evaluations, and a range at
// most `most_evaluations`, but it has at least one task.
inline TaskRange next_tasks(uint64_t done, uint64_t all, uint64_t cost, uint64_t most_evaluations) {
  const uint64_t most = most_evaluations / cost > 0 ? most_evaluations / cost : 1;
  return {done, all - done < most ? all - done : most};
}

}  // namespace simjoin::gpu
