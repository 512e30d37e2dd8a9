#include <algorithm>
#include <bit>

#include "core/minhash/weighted_minhash_kernels.hpp"
#include "cuda/base/launch.cuh"
#include "cuda/minhash/sign_weighted.hpp"

namespace simjoin::gpu {
namespace {

// Marks a free place. It can be an identity, too, but that identity is never kept in the table.
constexpr uint64_t free_place = 0x9AE16A3B2F90404Full;
constexpr size_t least_places = size_t{1} << 16;
constexpr size_t numbers_per_sample = 3;

// Returns the most tokens whose table takes at most `limit` bytes while it grows. A growing table holds the
// old and the new random numbers and identities of all tokens. A token has up to four places.
size_t most_tokens(size_t limit, uint32_t stride) {
  constexpr size_t a_place = sizeof(uint64_t) + sizeof(uint32_t);
  const size_t a_token = 2 * numbers_per_sample * stride * sizeof(float) + 2 * sizeof(uint64_t) + 4 * a_place;
  if (limit <= least_places * a_place) return 0;
  return std::min<size_t>((limit - least_places * a_place) / a_token, no_token - 1);
}

// One thread per token.
__global__ void find_tokens(unsigned long long *keys, uint32_t *numbers, uint32_t mask, bool add,
                            const uint64_t *tokens, uint64_t count, uint32_t *places, uint64_t *identities,
                            uint32_t *counter) {
  SIMJOIN_GRID_STRIDE(i, count) {
    const uint64_t identity = tokens[i];
    places[i] = no_token;
    if (identity == free_place) continue;
    for (uint32_t place = static_cast<uint32_t>(mix64(identity)) & mask;; place = (place + 1) & mask) {
      // Other threads write here: do not read from the cache of a multiprocessor.
      uint64_t found = __ldcg(keys + place);
      if (found == free_place && add) {
        found = atomicCAS(keys + place, static_cast<unsigned long long>(free_place),
                          static_cast<unsigned long long>(identity));
        if (found == free_place) {
          const uint32_t number = atomicAdd(counter, 1u);
          numbers[place] = number;
          identities[number] = identity;
          found = identity;
        }
      }
      if (found == identity) places[i] = place;
      if (found == identity || found == free_place) break;
    }
  }
}

// One thread per token of the table, which moves it to a larger table.
__global__ void move_tokens(unsigned long long *keys, uint32_t *numbers, uint32_t mask,
                            const uint64_t *identities, uint64_t count) {
  SIMJOIN_GRID_STRIDE(number, count) {
    const uint64_t identity = identities[number];
    uint32_t place = static_cast<uint32_t>(mix64(identity)) & mask;
    while (atomicCAS(keys + place, static_cast<unsigned long long>(free_place),
                     static_cast<unsigned long long>(identity)) != free_place)
      place = (place + 1) & mask;
    numbers[place] = static_cast<uint32_t>(number);
  }
}

__global__ void mark_free(uint64_t *keys, uint64_t count) {
  SIMJOIN_GRID_STRIDE(i, count) keys[i] = free_place;
}

// One thread per token and sample.
__global__ void draw_numbers(const uint64_t *identities, uint64_t first, uint64_t count, uint64_t seed,
                             uint32_t stride, float *draws) {
  SIMJOIN_GRID_STRIDE(i, count * stride) {
    const uint64_t number = first + i / stride;
    const auto sample = static_cast<uint32_t>(i % stride);
    const uint64_t identity = identities[number];
    const SampleNumbers drawn =
        sample_numbers(seed, static_cast<uint32_t>(identity), static_cast<uint32_t>(identity >> 32), sample);
    float *to = draws + number * numbers_per_sample * stride + sample;
    to[0] = drawn.r;
    to[stride] = drawn.ln_c;
    to[uint64_t{2} * stride] = drawn.beta;
  }
}

template <class T>
DeviceBuffer<T> grown(Device &device, const DeviceBuffer<T> &old, size_t used, size_t size) {
  DeviceBuffer<T> larger(device, size);
  copy_on_device(device, larger.data(), old.data(), used);
  return larger;
}

}  // namespace

DrawTable::DrawTable(Device &device, uint32_t samples, uint64_t seed, size_t limit)
    : device_(device),
      samples_(samples),
      stride_((samples + 3) / 4 * 4),
      seed_(seed),
      most_tokens_(most_tokens(limit, stride_)),
      counter_(device, 1) {
  counter_.fill(0);
}

bool DrawTable::prepare(size_t tokens) {
  const size_t wanted = count_ + tokens;
  const bool fits = tokens > 0 && wanted <= most_tokens_, pays = count_ * 2 <= found_;
  found_ += tokens;
  if (!fits || !pays) return false;
  // With this many places, there are at least two for each token.
  grow_places(std::bit_ceil(std::max(least_places, wanted * 2)));
  if (identities_.size() < wanted)
    identities_ = grown(device_, identities_, count_, std::min(most_tokens_, wanted * 3 / 2));
  return true;
}

void DrawTable::grow_places(size_t places) {
  if (places <= keys_.size()) return;
  keys_.reset();
  numbers_.reset();
  keys_ = DeviceBuffer<uint64_t>(device_, places);
  numbers_ = DeviceBuffer<uint32_t>(device_, places);
  launch(device_, mark_free, blocks_for(device_, places), keys_.data(), uint64_t{places});
  if (count_ == 0) return;
  launch(device_, move_tokens, blocks_for(device_, count_),
         reinterpret_cast<unsigned long long *>(keys_.data()), numbers_.data(),
         static_cast<uint32_t>(places - 1), identities_.data(), uint64_t{count_});
}

void DrawTable::find(const uint64_t *identities, size_t count, bool add, uint32_t *places) {
  if (count == 0) return;
  if (keys_.empty()) {
    SIMJOIN_DEVICE_CALL(cudaMemsetAsync(places, 0xFF, count * sizeof(uint32_t), device_.stream()));
    return;
  }
  launch(device_, find_tokens, blocks_for(device_, count),
         reinterpret_cast<unsigned long long *>(keys_.data()), numbers_.data(),
         static_cast<uint32_t>(keys_.size() - 1), add, identities, uint64_t{count}, places,
         identities_.data(), counter_.data());
}

void DrawTable::fill() {
  const size_t count = read_value(device_, counter_.data());
  if (count == count_) return;
  grow_draws(count);
  launch(device_, draw_numbers, blocks_for(device_, (count - count_) * stride_), identities_.data(),
         uint64_t{count_}, uint64_t{count - count_}, seed_, stride_, draws_.data());
  count_ = count;
}

void DrawTable::grow_draws(size_t tokens) {
  if (tokens <= capacity_) return;
  const size_t row = numbers_per_sample * stride_;
  const size_t capacity = std::min(most_tokens_, tokens * 3 / 2);
  draws_ = grown(device_, draws_, count_ * row, capacity * row);
  capacity_ = capacity;
}

}  // namespace simjoin::gpu
