// The copy of a RegionPool in device memory, which follows the changes of the host's.
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/cluster_index.hpp"
#include "cuda/launch.cuh"

namespace simjoin::gpu {

// An array of the host that can be copied while the CPU goes on; its size only grows.
template <typename T>
class Staging {
 public:
  // Returns room for `count` elements; what was there before is lost. No copy from it may be under way.
  T *reserve(size_t count) {
    if (count > pinned_.size()) pinned_ = PinnedBuffer<T>(std::max<size_t>(count + count / 2, 4096));
    return pinned_.data();
  }
  T *data() const { return pinned_.data(); }

 private:
  PinnedBuffer<T> pinned_;
};

// Makes a device array have room for `size` elements, and keeps the first `used`.
template <typename T>
void grow(Device &device, DeviceBuffer<T> &buffer, size_t size, size_t used) {
  if (size <= buffer.size()) return;
  DeviceBuffer<T> larger(device, std::max<size_t>(size + size / 2, 4096));
  copy_on_device(device, larger.data(), buffer.data(), used);
  buffer = std::move(larger);
}

struct RegionChange {
  PoolRegion region;
  uint32_t key;
};

template <typename T>
struct ElementChange {
  uint64_t position;
  T value;
};

template <typename T>
__global__ void apply_changes(const RegionChange *region_changes, uint64_t regions_changed,
                              const ElementChange<T> *element_changes, uint64_t elements_changed,
                              PoolRegion *regions, T *elements) {
  SIMJOIN_GRID_STRIDE(i, regions_changed + elements_changed) {
    if (i < regions_changed) {
      regions[region_changes[i].key] = region_changes[i].region;
    } else {
      const ElementChange<T> &change = element_changes[i - regions_changed];
      elements[change.position] = change.value;
    }
  }
}

template <typename T>
class DevicePool {
 public:
  const PoolRegion *regions() const { return regions_.data(); }
  const T *elements() const { return elements_.data(); }
  uint64_t keys() const { return keys_; }
  // Returns how many elements a key has room for on average.
  uint64_t elements_a_key() const { return keys_ == 0 ? 0 : used_ / keys_; }

  // Copies all of it.
  void load(Device &device, const RegionPool<T> &pool, const StopFlag &stop) {
    make_room(device, pool);
    copy(device, regions_.data(), pool.regions().data(), pool.keys(), stop);
    copy(device, elements_.data(), pool.elements().data(), pool.elements().size(), stop);
  }

  // Copies what has changed of the keys: their elements from first_changed(key) on. Throws Cancelled.
  template <class First>
  void update(Device &device, const RegionPool<T> &pool, std::span<const uint32_t> keys,
              First &&first_changed, const StopFlag &stop) {
    make_room(device, pool);
    if (keys.empty()) return;
    size_t count = 0;
    for (const uint32_t key : keys) count += pool.region(key).size - first_changed(key);
    RegionChange *regions = region_staging_.reserve(keys.size());
    ElementChange<T> *elements = element_staging_.reserve(count);
    size_t next = 0;
    for (size_t i = 0; i < keys.size(); ++i) {
      if (i % keys_a_look == 0) stop.check();
      const PoolRegion &region = pool.region(keys[i]);
      regions[i] = {region, keys[i]};
      const std::span<const T> values = pool[keys[i]];
      for (uint32_t j = first_changed(keys[i]); j < region.size; ++j)
        elements[next++] = {region.start + j, values[j]};
    }
    grow(device, region_changes_, keys.size(), 0);
    grow(device, element_changes_, count, 0);
    copy_to_device(device, region_changes_.data(), regions, keys.size());
    copy_to_device(device, element_changes_.data(), elements, count);
    launch(device, apply_changes<T>, blocks_for(device, keys.size() + count), region_changes_.data(),
           uint64_t{keys.size()}, element_changes_.data(), uint64_t{count}, regions_.data(),
           elements_.data());
  }

 private:
  // Pageable memory is copied at some 10 GB/s: a piece takes 6 ms.
  static constexpr size_t bytes_a_piece = size_t{64} << 20;
  // Keys staged between two looks at the stop flag: some 1 ms.
  static constexpr size_t keys_a_look = 4096;

  void make_room(Device &device, const RegionPool<T> &pool) {
    const size_t capacity = regions_.size();
    grow(device, regions_, pool.keys(), keys_);
    // Keys that nobody has changed yet have no elements.
    if (regions_.size() > capacity)
      SIMJOIN_DEVICE_CALL(cudaMemsetAsync(regions_.data() + keys_, 0,
                                          (regions_.size() - keys_) * sizeof(PoolRegion), device.stream()));
    grow(device, elements_, pool.elements().size(), used_);
    keys_ = pool.keys();
    used_ = pool.elements().size();
  }

  template <typename Element>
  static void copy(Device &device, Element *to, const Element *from, size_t count, const StopFlag &stop) {
    constexpr size_t piece = bytes_a_piece / sizeof(Element);
    for (size_t begin = 0; begin < count; begin += piece) {
      stop.check();
      copy_to_device(device, to + begin, from + begin, std::min(piece, count - begin));
      device.synchronize();
    }
  }

  size_t keys_ = 0;
  size_t used_ = 0;
  DeviceBuffer<PoolRegion> regions_;
  DeviceBuffer<T> elements_;
  Staging<RegionChange> region_staging_;
  Staging<ElementChange<T>> element_staging_;
  DeviceBuffer<RegionChange> region_changes_;
  DeviceBuffer<ElementChange<T>> element_changes_;
};

}  // namespace simjoin::gpu
