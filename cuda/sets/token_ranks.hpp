// Ranks of tokens on the device. Sets are stored in the order of ranks, rarest first.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/worker_pool.hpp"
#include "cuda/base/device.hpp"

namespace simjoin::gpu {

// The rank of a token that occurs once in the whole join. No pair shares it, so it counts only in the size of
// its set.
inline constexpr uint32_t no_rank = UINT32_MAX;

// The tokens of both sides, one after another, in the order of the input.
struct RawTokens {
  const void *data;  // device memory
  uint64_t count;
  bool wide;  // int64 tokens instead of int32
};

// The rank of each token is `table[slot]`, in device memory. A token's slot is either listed or its value
// minus `minimum`.
struct TokenRanks {
  DeviceBuffer<uint32_t> table;
  DeviceBuffer<uint32_t> slots;  // by token; empty if values index the table directly
  int64_t minimum = 0;
  uint32_t ranks = 0;
  uint64_t distinct = 0;                // tokens, including those without a rank
  std::vector<uint32_t> most_frequent;  // occurrences of the last ranks, most frequent first
};

// Returns ranks that ascend by occurrences. They do not depend on the order of the input. Throws Cancelled.
TokenRanks rank_tokens(Device &device, const RawTokens &tokens, const StopFlag &stop);

}  // namespace simjoin::gpu
