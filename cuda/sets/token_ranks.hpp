// Ranks of tokens, on the device: the order by rarity in which sets are stored.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/worker_pool.hpp"
#include "cuda/base/device.hpp"

namespace simjoin::gpu {

// A token without a rank occurs once in the whole join, so no pair shares it; it counts in the size of its
// set alone.
inline constexpr uint32_t no_rank = UINT32_MAX;

// The tokens of both sides, one after the other, as they were added.
struct RawTokens {
  const void *data;  // device memory
  uint64_t count;
  bool wide;  // int64 tokens; otherwise int32
};

// Returns, on the device, where to look up the rank of each token: `table[slot]`, with the token's slot
// either listed or its value minus `minimum`.
struct TokenRanks {
  DeviceBuffer<uint32_t> table;
  DeviceBuffer<uint32_t> slots;  // by token; empty where values index the table directly
  int64_t minimum = 0;
  uint32_t ranks = 0;
  uint64_t distinct = 0;                // tokens, those without a rank included
  std::vector<uint32_t> most_frequent;  // occurrences of the last ranks, most frequent first
};

// Ranks ascend by occurrences, ties by value, so they do not depend on the order of the input. Throws
// Cancelled where it is stopped.
TokenRanks rank_tokens(Device &device, const RawTokens &tokens, const StopFlag &stop);

}  // namespace simjoin::gpu
