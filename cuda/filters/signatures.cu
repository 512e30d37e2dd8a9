#include "cuda/base/launch.cuh"
#include "cuda/filters/signatures.hpp"
#include "cuda/sets/long_sets.cuh"

namespace simjoin::gpu {
namespace {

// Sets to be signed, and the destination of their signatures.
struct SignedSets {
  const uint32_t *ranks;
  const SetRecord *records;
  uint32_t sets;
  DeviceSignatureLayout layout;
  uint32_t *words;
  uint32_t *excess;

  __device__ uint32_t words_per_set() const { return layout.steps * step_words; }

  // Returns the bits of the words of a bitmap that are this thread's part, to all lanes of its warp the sum
  // of their parts. `threads` threads share the bitmap; this one is number `thread`.
  __device__ uint32_t count_bits(const uint32_t *bitmap, uint32_t thread, uint32_t threads) const {
    uint32_t bits = 0;
    for (uint32_t word = thread; word < words_per_set(); word += threads) bits += __popc(bitmap[word]);
    return __reduce_add_sync(~0u, bits);
  }

  // Writes the signature of a set from its bitmap, in which `bits` bits are set.
  __device__ void finish(uint64_t set, const uint32_t *bitmap, uint32_t bits, uint32_t thread,
                         uint32_t threads) const {
    const uint32_t more = records[set].stored - bits;
    const uint32_t counted = min(more, layout.excess_bits);
    const uint32_t last = counted == 0 ? 0 : ~0u >> (32 - counted) << (32 - layout.excess_bits);
    for (uint32_t word = thread; word < words_per_set(); word += threads) {
      words[signature_row(set, layout.steps, word / step_words) + word_in_row(set, word % step_words)] =
          bitmap[word] | (word + 1 == words_per_set() ? last : 0);
    }
    if (thread == 0) excess[set] = more - counted;
  }
};

// One warp per set, except for long sets.
__global__ void sign_sets(const SignedSets sets, LongSets longer) {
  __shared__ uint32_t bitmaps[block_warps][warp_steps * step_words];
  const uint32_t lane = threadIdx.x % warp_threads;
  uint32_t *bitmap = bitmaps[threadIdx.x / warp_threads];
  const uint64_t warps = uint64_t{gridDim.x} * block_warps;
  for (uint64_t set = uint64_t{blockIdx.x} * block_warps + threadIdx.x / warp_threads; set < sets.sets;
       set += warps) {
    const SetRecord record = sets.records[set];
    if (record.stored > warp_set_tokens) {
      if (lane == 0) longer.add(static_cast<uint32_t>(set));
      continue;
    }
    for (uint32_t word = lane; word < sets.words_per_set(); word += warp_threads) bitmap[word] = 0;
    __syncwarp();
    set_bits(sets.ranks + record.start, record.stored, sets.layout, bitmap, lane, warp_threads);
    __syncwarp();
    sets.finish(set, bitmap, sets.count_bits(bitmap, lane, warp_threads), lane, warp_threads);
    __syncwarp();
  }
}

// Signs a set with all threads of a block. `bitmap` and `bits` are in shared memory.
__device__ void sign_by_block(const SignedSets &sets, uint32_t set, uint32_t *bitmap, uint32_t &bits) {
  const SetRecord record = sets.records[set];
  for (uint32_t word = threadIdx.x; word < sets.words_per_set(); word += blockDim.x) bitmap[word] = 0;
  if (threadIdx.x == 0) bits = 0;
  __syncthreads();
  set_bits(sets.ranks + record.start, record.stored, sets.layout, bitmap, threadIdx.x, blockDim.x);
  __syncthreads();
  const uint32_t warp_bits = sets.count_bits(bitmap, threadIdx.x, blockDim.x);
  if (threadIdx.x % warp_threads == 0) atomicAdd(&bits, warp_bits);
  __syncthreads();
  sets.finish(set, bitmap, bits, threadIdx.x, blockDim.x);
  __syncthreads();
}

// One block per long set.
__global__ void sign_long_sets(const SignedSets sets, LongSets longer) {
  __shared__ uint32_t bitmap[warp_steps * step_words], bits;
  for (uint32_t i = blockIdx.x; i < *longer.count; i += gridDim.x) {
    sign_by_block(sets, longer.numbers[i], bitmap, bits);
  }
}

// One block per set, with signatures too wide for a warp.
__global__ void sign_wide(const SignedSets sets) {
  __shared__ uint32_t bitmap[most_steps * step_words], bits;
  for (uint32_t set = blockIdx.x; set < sets.sets; set += gridDim.x) sign_by_block(sets, set, bitmap, bits);
}

// One warp per block of sets.
__global__ void sum_up_blocks(const SetRecord *records, const uint32_t *excess, uint32_t sets,
                              uint32_t *block_excess, uint32_t *block_size) {
  const uint32_t lane = threadIdx.x % warp_threads;
  const uint64_t blocks = (uint64_t{sets} + signature_block - 1) / signature_block;
  const uint64_t warps = uint64_t{gridDim.x} * block_warps;
  for (uint64_t block = uint64_t{blockIdx.x} * block_warps + threadIdx.x / warp_threads; block < blocks;
       block += warps) {
    uint32_t most = 0;
    for (uint64_t set = block * signature_block + lane;
         set < min((block + 1) * signature_block, uint64_t{sets}); set += warp_threads) {
      most = max(most, excess[set]);
    }
    most = __reduce_max_sync(~0u, most);
    if (lane == 0) {
      block_excess[block] = most;
      block_size[block] = max(1u, records[block * signature_block].size);
    }
  }
}

}  // namespace

DeviceSignatureTable::DeviceSignatureTable(Device &device, const DeviceCollection &collection,
                                           const DeviceSide &side, uint32_t first, uint32_t sets,
                                           const DeviceSignatureLayout &layout)
    : first_(first), sets_(sets), steps_(layout.steps) {
  const uint64_t padded = padded_signatures(sets);
  const uint64_t blocks = padded / signature_block;
  words_ = DeviceBuffer<uint32_t>(device, padded * steps_ * step_words);
  excess_ = DeviceBuffer<uint32_t>(device, padded);
  block_excess_ = DeviceBuffer<uint32_t>(device, blocks);
  block_size_ = DeviceBuffer<uint32_t>(device, blocks);
  words_.fill(0);
  block_excess_.fill(0);
  block_size_.fill(0);
  if (sets == 0) return;
  const SignedSets signed_sets{
      collection.ranks.data(), side.records.data() + first, sets, layout, words_.data(), excess_.data()};
  if (layout.steps > warp_steps) {
    launch(device, sign_wide, long_set_shape(device, sets), signed_sets);
  } else {
    const LongSetList longer(device, collection.stored_tokens, side.classes.end()[-2].size);
    launch(device, sign_sets, blocks_for(device, sets, warp_threads), signed_sets, longer.view());
    if (longer.any()) launch(device, sign_long_sets, longer.shape(device), signed_sets, longer.view());
  }
  launch(device, sum_up_blocks, blocks_for(device, blocks, warp_threads), side.records.data() + first,
         excess_.data(), sets, block_excess_.data(), block_size_.data());
}

}  // namespace simjoin::gpu
