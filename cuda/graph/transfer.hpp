// Copies large arrays between host memory and a device through two page-locked buffers. All threads fill or
// empty one buffer while the other is being transferred.
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/base/parallel_ranges.hpp"
#include "core/base/worker_pool.hpp"
#include "cuda/base/device.hpp"
#include "cuda/base/page_locked.hpp"

namespace simjoin::gpu {

class Staging {
 public:
  Staging(Device &device, WorkerPool &pool) : device_(device), pool_(pool) {}
  ~Staging() { cudaStreamSynchronize(device_.stream()); }  // copies from the buffers may be under way
  Staging(const Staging &) = delete;
  Staging &operator=(const Staging &) = delete;

  // Writes to[i] = make(i) for all i < count. Calls after(begin, end) when elements [begin, end) have been
  // uploaded in stream order.
  template <typename T, typename Make, typename After>
  void upload(T *to, size_t count, Make &&make, After &&after) {
    const size_t at_once = bytes / sizeof(T);
    for (size_t begin = 0; begin < count; begin += at_once) {
      Half &half = halves_[turn_ ^= 1];
      half.on_its_way.wait();
      T *staged = reinterpret_cast<T *>(half.bytes.data());
      const size_t end = std::min(count, begin + at_once);
      for_ranges(pool_, end - begin, entries_per_range, [&](size_t first, size_t last) {
        for (size_t i = first; i < last; ++i) staged[i] = make(begin + i);
      });
      copy_to_device(device_, to + begin, staged, end - begin);
      half.on_its_way.record(device_.stream());
      after(begin, end);
    }
  }
  template <typename T, typename Make>
  void upload(T *to, size_t count, Make &&make) {
    upload(to, count, make, [](size_t, size_t) {});
  }

  // Copies `count` elements to the host.
  template <typename T>
  void download(T *to, const T *from, size_t count) {
    const size_t at_once = bytes / sizeof(T);
    const auto fetch = [&](size_t begin) {
      Half &half = halves_[turn_ ^= 1];
      copy_to_host(device_, reinterpret_cast<T *>(half.bytes.data()), from + begin,
                   std::min(at_once, count - begin));
      half.on_its_way.record(device_.stream());
    };
    if (count > 0) fetch(0);
    for (size_t begin = 0; begin < count; begin += at_once) {
      Half &half = halves_[turn_];
      if (begin + at_once < count) fetch(begin + at_once);
      half.on_its_way.wait();
      const T *staged = reinterpret_cast<const T *>(half.bytes.data());
      for_ranges(pool_, std::min(at_once, count - begin), entries_per_range, [&](size_t first, size_t last) {
        std::copy(staged + first, staged + last, to + begin + first);
      });
    }
  }

 private:
  static constexpr size_t bytes = size_t{16} << 20;
  struct Half {
    PinnedBuffer<char> bytes{Staging::bytes};
    Event on_its_way;
  };

  Device &device_;
  WorkerPool &pool_;
  Half halves_[2];
  int turn_ = 0;
};

}  // namespace simjoin::gpu
