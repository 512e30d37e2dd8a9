#include "cuda/sets/row_sets.hpp"

#include <algorithm>
#include <cub/cub.cuh>
#include <utility>

#include "core/base/error.hpp"
#include "cuda/base/cub_count.cuh"
#include "cuda/base/launch.cuh"
#include "cuda/base/tuning.hpp"

namespace simjoin::gpu {
namespace {

// Finds the rank of token i.
template <typename T>
struct DirectLookup {
  const T *tokens;
  int64_t minimum;
  const uint32_t *table;
  __device__ uint32_t operator()(uint64_t i) const {
    return table[static_cast<int64_t>(tokens[i]) - minimum];
  }
};
struct SlotLookup {
  const uint32_t *slots;
  const uint32_t *table;
  __device__ uint32_t operator()(uint64_t i) const { return table[slots[i]]; }
};

template <typename Lookup>
__global__ void look_up_ranks(Lookup lookup, uint64_t count, uint32_t *ranks) {
  SIMJOIN_GRID_STRIDE(i, count) ranks[i] = lookup(i);
}

template <typename Lookup>
void launch_look_up(Device &device, Lookup lookup, DeviceBuffer<uint32_t> &ranks) {
  launch(device, look_up_ranks<Lookup>, blocks_for(device, ranks.size()), lookup, ranks.size(), ranks.data());
}

}  // namespace

JoinedSides join_sides(Device &device, UploadedSide *sides[2], size_t token_bytes) {
  JoinedSides input;
  uint64_t rows = 0;
  for (int s = 0; s < 2 && sides[s] != nullptr; ++s) {
    input.count += sides[s]->total;
    rows += sides[s]->rows;
    input.longest = std::max(input.longest, sides[s]->longest);
  }
  if (rows >= tuning::most_join_items || input.count >= tuning::most_join_items) {
    throw Error(ErrorKind::limit_exceeded, "the join has too many sets or tokens for the GPU");
  }
  input.rows = static_cast<uint32_t>(rows);
  input.tokens = sides[0]->tokens.data();
  if (sides[1] != nullptr) {
    input.joined = DeviceBuffer<char>(device, input.count * token_bytes);
    copy_on_device(device, input.joined.data(), sides[0]->tokens.data(), sides[0]->tokens.bytes());
    copy_on_device(device, input.joined.data() + sides[0]->tokens.bytes(), sides[1]->tokens.data(),
                   sides[1]->tokens.bytes());
    for (int s = 0; s < 2; ++s) sides[s]->tokens.reset();
    input.tokens = input.joined.data();
  }
  input.lengths = DeviceBuffer<uint32_t>(device, rows + 1);
  for (uint64_t s = 0, first = 0; s < 2 && sides[s] != nullptr; first += sides[s++]->rows) {
    copy_on_device(device, input.lengths.data() + first,
                   reinterpret_cast<const uint32_t *>(sides[s]->lengths.data()), sides[s]->rows);
    sides[s]->lengths.reset();
  }
  input.starts = DeviceBuffer<uint64_t>(device, rows + 1);
  SIMJOIN_DEVICE_CALL(cudaMemsetAsync(input.lengths.data() + rows, 0, sizeof(uint32_t), device.stream()));
  with_scratch(device, [&](void *scratch, size_t &bytes) {
    return cub::DeviceScan::ExclusiveScan(scratch, bytes, input.lengths.data(), input.starts.data(),
                                          cuda::std::plus<uint64_t>{}, uint64_t{0}, cub_count(rows + 1),
                                          device.stream());
  });
  return input;
}

RowSets rank_rows(Device &device, JoinedSides &input, const TokenRanks &ranks, bool wide) {
  RowSets sets;
  sets.starts = std::move(input.starts);
  sets.sizes = std::move(input.lengths);
  sets.rows = input.rows;
  sets.longest = input.longest;
  sets.ranks = DeviceBuffer<uint32_t>(device, input.count);
  if (input.count == 0) return sets;
  const uint32_t *table = ranks.table.data();
  if (!ranks.slots.empty()) {
    launch_look_up(device, SlotLookup{ranks.slots.data(), table}, sets.ranks);
  } else if (wide) {
    const auto *tokens = static_cast<const int64_t *>(input.tokens);
    launch_look_up(device, DirectLookup<int64_t>{tokens, ranks.minimum, table}, sets.ranks);
  } else {
    const auto *tokens = static_cast<const int32_t *>(input.tokens);
    launch_look_up(device, DirectLookup<int32_t>{tokens, ranks.minimum, table}, sets.ranks);
  }
  return sets;
}

}  // namespace simjoin::gpu
