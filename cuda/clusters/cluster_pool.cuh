// The index in device memory: centroids, which mirror the host's, and lists of clusters.
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/check.hpp"
#include "core/clusters/cluster_index.hpp"
#include "cuda/base/launch.cuh"
#include "cuda/base/page_locked.hpp"

namespace simjoin::gpu {

// A host array that can be copied while the CPU continues. It only grows.
template <typename T>
class PinnedArray {
 public:
  // Returns room for `count` elements and discards the old ones. No copy from the array may be under way.
  T *reserve(size_t count) {
    if (count > pinned_.size()) pinned_ = PinnedBuffer<T>(std::max<size_t>(count + count / 2, 4096));
    return pinned_.data();
  }
  T *data() const { return pinned_.data(); }

 private:
  PinnedBuffer<T> pinned_;
};

// Makes room for `size` elements in a device array, and keeps the first `used` ones.
template <typename T>
void grow(Device &device, DeviceBuffer<T> &buffer, size_t size, size_t used) {
  if (size <= buffer.size()) return;
  DeviceBuffer<T> larger(device, std::max<size_t>(size + size / 2, 4096));
  copy_on_device(device, larger.data(), buffer.data(), used);
  buffer = std::move(larger);
}

// The same, with zeros behind the `used` elements if the array grows.
template <typename T>
void grow_with_zeros(Device &device, DeviceBuffer<T> &buffer, size_t size, size_t used) {
  if (size <= buffer.size()) return;
  grow(device, buffer, size, used);
  SIMJOIN_DEVICE_CALL(
      cudaMemsetAsync(buffer.data() + used, 0, (buffer.size() - used) * sizeof(T), device.stream()));
}

// An array that is uploaded repeatedly.
template <typename T>
class Staged {
 public:
  const T *data() const { return buffer_.data(); }
  // Returns room for `count` values to be filled for upload(). The previous upload must have ended.
  T *reserve(Device &device, size_t count) {
    grow(device, buffer_, count, 0);
    return staging_.reserve(count);
  }
  void upload(Device &device, size_t count) {
    SIMJOIN_CHECK(count <= buffer_.size());
    copy_to_device(device, buffer_.data(), staging_.data(), count);
  }
  void upload(Device &device, std::span<const T> values) {
    std::copy(values.begin(), values.end(), reserve(device, values.size()));
    upload(device, values.size());
  }

 private:
  PinnedArray<T> staging_;
  DeviceBuffer<T> buffer_;
};

// Regions by key and their elements, as in RegionPool.
template <typename T>
class DevicePool {
 public:
  const PoolRegion *regions() const { return regions_.data(); }
  PoolRegion *regions() { return regions_.data(); }
  const T *elements() const { return elements_.data(); }
  T *elements() { return elements_.data(); }
  uint64_t keys() const { return keys_; }
  uint64_t used() const { return used_; }

  // Makes room for keys and elements. New keys have no elements. Unused elements are copied, too, so they
  // must have values.
  void make_room(Device &device, size_t keys, size_t elements) {
    grow_with_zeros(device, regions_, keys, keys_);
    grow_with_zeros(device, elements_, elements, used_);
    keys_ = std::max(keys_, keys);
    used_ = std::max(used_, elements);
  }
  // Forgets all elements.
  void clear() {
    regions_.fill(0);
    used_ = 0;
  }

 private:
  size_t keys_ = 0;
  size_t used_ = 0;
  DeviceBuffer<PoolRegion> regions_;
  DeviceBuffer<T> elements_;
};

// The centroids: a copy of the host's.
class DeviceCentroids {
 public:
  const DevicePool<TermWeight> &pool() const { return pool_; }
  // Returns the most terms that a centroid ever had.
  uint32_t longest() const { return longest_; }

  // Copies all centroids. Throws Cancelled.
  void load(Device &device, const RegionPool<TermWeight> &pool, const StopFlag &stop);
  // Copies the centroids of `clusters`. Throws Cancelled.
  void update(Device &device, const RegionPool<TermWeight> &pool, std::span<const uint32_t> clusters,
              const StopFlag &stop);

 private:
  DevicePool<TermWeight> pool_;
  uint32_t longest_ = 0;
  Staged<uint32_t> clusters_;
  Staged<PoolRegion> regions_;
  Staged<uint64_t> ends_;
  Staged<TermWeight> terms_;
};

// The lists of clusters by term. They exist only on the device.
class DeviceLists {
 public:
  const DevicePool<uint32_t> &pool() const { return pool_; }

  // Adds postings. Their terms must be below `term_end`.
  void append(Device &device, std::span<const ClusterPosting> postings, uint32_t term_end);
  // Rebuilds all lists from the terms of all centroids. `postings` is the number of those terms.
  void make(Device &device, const DevicePool<TermWeight> &centroids, size_t postings, uint32_t term_end);

 private:
  void append(Device &device, const ClusterPosting *postings, size_t count, uint32_t term_end);

  DevicePool<uint32_t> pool_;
  Staged<ClusterPosting> postings_;
  DeviceBuffer<uint32_t> added_;   // by term: postings added by the current append(); 0 between two appends
  DeviceBuffer<uint32_t> orders_;  // by posting: its place among those added to its term
  DeviceBuffer<uint64_t> starts_;  // by posting: the new place of its term's list, or `stays`
  DeviceBuffer<uint64_t> end_;     // one element: the end of all regions
};

}  // namespace simjoin::gpu
