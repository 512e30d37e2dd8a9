#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <algorithm>
#include <bit>
#include <cub/cub.cuh>
#include <limits>

#include "cuda/base/cub_count.cuh"
#include "cuda/base/launch.cuh"
#include "cuda/sets/signature_layout.hpp"
#include "cuda/sets/token_ranks.hpp"

namespace simjoin::gpu {
namespace {

// Values index a table directly if it has at most this many entries, or this many per token.
constexpr uint64_t direct_entries = uint64_t{1} << 22;
constexpr uint64_t direct_entries_per_token = 2;
// Slot numbers have 32 bits. The table has twice to four times as many slots as tokens, and one more.
constexpr uint64_t most_hashed_tokens = uint64_t{1} << 30;
// Signature layouts need the frequencies of this many ranks.
constexpr uint32_t reported_frequencies = most_own_bits;
constexpr unsigned long long empty_slot = 1ull << 63;  // as a token: the smallest int64

// The slots of a table that values index directly. Neighbouring values are far apart, because they are
// often about equally frequent, and a device adds to the numbers of one cache line one after another.
struct ValueSlots {
  static constexpr uint32_t parts = 256;

  ValueSlots(int64_t least, uint64_t values)
      : minimum(least), part(static_cast<uint32_t>(values / parts + 1) | 1) {}

  uint64_t count() const { return uint64_t{part} * parts; }
  __device__ uint32_t slot(int64_t token) const {
    const auto value = static_cast<uint32_t>(token - minimum);
    return value % parts * part + value / parts;
  }
  // Returns what `slot` counts, less the minimum.
  __device__ uint32_t value(uint32_t slot) const { return slot % part * parts + slot / part; }

  int64_t minimum;
  uint32_t part;  // the slots of a part; odd, so that parts begin in different banks of shared memory
};

template <typename T>
__global__ void count_direct(const T *tokens, uint64_t count, ValueSlots slots, uint32_t *counts) {
  SIMJOIN_GRID_STRIDE(i, count) atomicAdd(&counts[slots.slot(tokens[i])], 1u);
}

// Counts as count_direct does, in shared memory if the whole table fits. Frequent tokens then collide there
// instead of in global memory.
template <typename T>
__global__ void count_shared(const T *tokens, uint64_t count, ValueSlots slots, uint32_t entries,
                             uint32_t *counts) {
  extern __shared__ uint32_t local[];
  for (uint32_t i = threadIdx.x; i < entries; i += blockDim.x) local[i] = 0;
  __syncthreads();
  SIMJOIN_GRID_STRIDE(i, count) atomicAdd(&local[slots.slot(tokens[i])], 1u);
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < entries; i += blockDim.x) {
    if (local[i] != 0) atomicAdd(&counts[i], local[i]);
  }
}

__device__ uint64_t scramble(uint64_t x) {
  x ^= x >> 32;
  x *= 0x9E3779B97F4A7C15ull;
  x ^= x >> 29;
  x *= 0xD6E8FEB86659FD93ull;
  return x ^ x >> 32;
}

// Counts tokens in a hash table with open addressing and mask + 1 keys. The slot after them stands for the
// value that marks empty slots.
template <typename T>
__global__ void count_hashed(const T *tokens, uint64_t count, unsigned long long *keys, uint64_t mask,
                             uint32_t *counts, uint32_t *slots) {
  SIMJOIN_GRID_STRIDE(i, count) {
    const auto key = static_cast<unsigned long long>(static_cast<int64_t>(tokens[i]));
    uint64_t slot = mask + 1;
    if (key != empty_slot) {
      for (slot = scramble(key) & mask;; slot = (slot + 1) & mask) {
        unsigned long long found = keys[slot];
        if (found == empty_slot) found = atomicCAS(&keys[slot], empty_slot, key);
        if (found == empty_slot || found == key) break;
      }
    }
    slots[i] = static_cast<uint32_t>(slot);
    atomicAdd(&counts[slot], 1u);
  }
}

__global__ void fill_keys(unsigned long long *keys, uint64_t count) {
  SIMJOIN_GRID_STRIDE(i, count) keys[i] = empty_slot;
}

__global__ void gather_values(const uint32_t *slots, uint32_t count, const unsigned long long *keys,
                              int64_t *values) {
  SIMJOIN_GRID_STRIDE(i, count) values[i] = static_cast<int64_t>(keys[slots[i]]);
}

__global__ void gather_counts(const uint32_t *slots, uint32_t count, const uint32_t *counts,
                              uint32_t *frequencies) {
  SIMJOIN_GRID_STRIDE(i, count) frequencies[i] = counts[slots[i]];
}

// The place of a slot's rank in the table of ranks.
struct SamePlace {
  __device__ uint32_t operator()(uint32_t slot) const { return slot; }
};
struct PlaceOfValue {
  ValueSlots slots;
  __device__ uint32_t operator()(uint32_t slot) const { return slots.value(slot); }
};

template <typename Place>
__global__ void assign_ranks(const uint32_t *slots, uint32_t count, Place place, uint32_t *table) {
  SIMJOIN_GRID_STRIDE(i, count) table[place(slots[i])] = static_cast<uint32_t>(i);
}

struct IsShareable {
  const uint32_t *counts;
  __device__ bool operator()(uint32_t slot) const { return counts[slot] > 1; }
};

struct IsUsed {
  __device__ uint64_t operator()(uint32_t count) const { return count > 0; }
};

// Returns the slots with more than one occurrence, ascending.
DeviceBuffer<uint32_t> shareable_slots(Device &device, const DeviceBuffer<uint32_t> &counts, uint64_t tokens,
                                       uint32_t &selected) {
  DeviceBuffer<uint32_t> slots(device, std::min<uint64_t>(counts.size(), tokens / 2 + 1));
  DeviceBuffer<uint32_t> number(device, 1);
  with_scratch(device, [&](void *scratch, size_t &bytes) {
    return cub::DeviceSelect::If(scratch, bytes, thrust::counting_iterator<uint32_t>(0), slots.data(),
                                 number.data(), cub_count(counts.size()), IsShareable{counts.data()},
                                 device.stream());
  });
  selected = read_value(device, number.data());
  return slots;
}

template <typename Key>
void sort_slots(Device &device, DeviceBuffer<Key> &keys, DeviceBuffer<uint32_t> &slots, uint32_t count,
                int bits) {
  DeviceBuffer<Key> other_keys(device, keys.size());
  DeviceBuffer<uint32_t> other_slots(device, slots.size());
  cub::DoubleBuffer<Key> key_buffers(keys.data(), other_keys.data());
  cub::DoubleBuffer<uint32_t> slot_buffers(slots.data(), other_slots.data());
  with_scratch(device, [&](void *scratch, size_t &bytes) {
    return cub::DeviceRadixSort::SortPairs(scratch, bytes, key_buffers, slot_buffers, cub_count(count), 0,
                                           bits, device.stream());
  });
  if (key_buffers.Current() != keys.data()) std::swap(keys, other_keys);
  if (slot_buffers.Current() != slots.data()) std::swap(slots, other_slots);
}

// Sorts the slots by their counts, and makes the rank table of them. There must be at least one slot. Starts
// the copy of the last ranks' frequencies; the caller must wait for the stream.
template <typename Place>
void order_slots(Device &device, const DeviceBuffer<uint32_t> &counts, DeviceBuffer<uint32_t> &slots,
                 uint32_t selected, uint64_t tokens, Place place, TokenRanks &result) {
  DeviceBuffer<uint32_t> frequencies(device, selected);
  launch(device, gather_counts, blocks_for(device, selected), slots.data(), selected, counts.data(),
         frequencies.data());
  sort_slots(device, frequencies, slots, selected, std::bit_width(std::min<uint64_t>(tokens, UINT32_MAX)));
  launch(device, assign_ranks<Place>, blocks_for(device, selected), slots.data(), selected, place,
         result.table.data());
  result.most_frequent.resize(std::min(selected, reported_frequencies));
  copy_to_host(device, result.most_frequent.data(),
               frequencies.data() + (selected - result.most_frequent.size()), result.most_frequent.size());
}

// Makes the rank table of the slots with more than one occurrence, and counts the slots with any.
template <typename Place>
void finish_ranks(Device &device, const DeviceBuffer<uint32_t> &counts, DeviceBuffer<uint32_t> &slots,
                  uint32_t selected, uint64_t tokens, Place place, TokenRanks &result) {
  DeviceBuffer<uint64_t> used(device, 1);
  with_scratch(device, [&](void *scratch, size_t &bytes) {
    return cub::DeviceReduce::Sum(scratch, bytes, thrust::make_transform_iterator(counts.data(), IsUsed{}),
                                  used.data(), cub_count(counts.size()), device.stream());
  });
  result.table = DeviceBuffer<uint32_t>(device, counts.size());
  result.table.fill(0xFF);
  result.ranks = selected;
  if (selected > 0) order_slots(device, counts, slots, selected, tokens, place, result);
  result.distinct = read_value(device, used.data());
  std::reverse(result.most_frequent.begin(), result.most_frequent.end());
}

// Counts in shared memory if the table fits there and there are enough tokens for it to pay. Returns whether
// it did.
template <typename T>
bool count_in_shared(Device &device, const T *tokens, uint64_t count, const ValueSlots &slots,
                     uint32_t *counts) {
  constexpr uint64_t tokens_per_entry = 64;
  const size_t bytes = slots.count() * sizeof(uint32_t);
  if (bytes > device.shared_memory() || count < slots.count() * tokens_per_entry) return false;
  constexpr unsigned threads = 1024;
  const unsigned blocks =
      static_cast<unsigned>(device.processors()) * (bytes <= device.shared_memory() / 2 ? 2 : 1);
  launch(device, count_shared<T>, LaunchShape(blocks, threads, bytes), tokens, count, slots,
         static_cast<uint32_t>(slots.count()), counts);
  return true;
}

// Ranks the tokens, whose values are the `values` from the minimum on.
template <typename T>
void rank_direct(Device &device, const T *tokens, uint64_t count, uint64_t values, const StopFlag &stop,
                 TokenRanks &result) {
  const ValueSlots places(result.minimum, values);
  DeviceBuffer<uint32_t> counts(device, places.count());
  counts.fill(0);
  if (!count_in_shared(device, tokens, count, places, counts.data())) {
    launch(device, count_direct<T>, blocks_for(device, count), tokens, count, places, counts.data());
  }
  uint32_t selected = 0;
  DeviceBuffer<uint32_t> slots = shareable_slots(device, counts, count, selected);
  stop.check();
  finish_ranks(device, counts, slots, selected, count, PlaceOfValue{places}, result);
}

template <typename T>
void rank_hashed(Device &device, const T *tokens, uint64_t count, const StopFlag &stop, TokenRanks &result) {
  if (count > most_hashed_tokens) throw Error(ErrorKind::limit_exceeded, "too many tokens for one GPU join");
  const uint64_t capacity = std::bit_ceil(2 * count);
  DeviceBuffer<unsigned long long> keys(device, capacity + 1);
  DeviceBuffer<uint32_t> counts(device, capacity + 1);
  result.slots = DeviceBuffer<uint32_t>(device, count);
  launch(device, fill_keys, blocks_for(device, capacity + 1), keys.data(), capacity + 1);
  counts.fill(0);
  launch(device, count_hashed<T>, blocks_for(device, count), tokens, count, keys.data(), capacity - 1,
         counts.data(), result.slots.data());
  uint32_t selected = 0;
  DeviceBuffer<uint32_t> slots = shareable_slots(device, counts, count, selected);
  stop.check();
  if (selected > 0) {
    DeviceBuffer<int64_t> values(device, selected);
    // The slot after the table is that of the smallest value. Its key is never set, and reads as that value.
    launch(device, gather_values, blocks_for(device, selected), slots.data(), selected, keys.data(),
           values.data());
    sort_slots(device, values, slots, selected, 64);
  }
  finish_ranks(device, counts, slots, selected, count, SamePlace{}, result);
}

// The least and the largest of some values.
template <typename T>
struct Limits {
  T least, largest;
};
template <typename T>
struct LimitsOfOne {
  __device__ Limits<T> operator()(T value) const { return {value, value}; }
};
struct JoinLimits {
  template <typename T>
  __device__ Limits<T> operator()(const Limits<T> &a, const Limits<T> &b) const {
    return {min(a.least, b.least), max(a.largest, b.largest)};
  }
};

template <typename T>
Limits<T> limits_of(Device &device, const T *tokens, uint64_t count) {
  constexpr Limits<T> none{std::numeric_limits<T>::max(), std::numeric_limits<T>::min()};
  DeviceBuffer<Limits<T>> limits(device, 1);
  with_scratch(device, [&](void *scratch, size_t &bytes) {
    return cub::DeviceReduce::Reduce(scratch, bytes,
                                     thrust::make_transform_iterator(tokens, LimitsOfOne<T>{}), limits.data(),
                                     cub_count(count), JoinLimits{}, none, device.stream());
  });
  return read_value(device, limits.data());
}

template <typename T>
TokenRanks rank_values(Device &device, const T *tokens, uint64_t count, const StopFlag &stop) {
  const Limits<T> limits = limits_of(device, tokens, count);
  stop.check();
  TokenRanks result;
  result.minimum = limits.least;
  const uint64_t range = static_cast<uint64_t>(limits.largest) - static_cast<uint64_t>(limits.least);
  if (range < std::max(direct_entries, direct_entries_per_token * count) &&
      range < UINT32_MAX - 2 * ValueSlots::parts) {
    rank_direct(device, tokens, count, range + 1, stop, result);
  } else {
    rank_hashed(device, tokens, count, stop, result);
  }
  stop.check();
  return result;
}

}  // namespace

TokenRanks rank_tokens(Device &device, const RawTokens &tokens, const StopFlag &stop) {
  if (tokens.count == 0) return {};
  return tokens.wide ? rank_values(device, static_cast<const int64_t *>(tokens.data), tokens.count, stop)
                     : rank_values(device, static_cast<const int32_t *>(tokens.data), tokens.count, stop);
}

}  // namespace simjoin::gpu
