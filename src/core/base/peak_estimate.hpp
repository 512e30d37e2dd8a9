// An estimate of the memory that a join will take, while its input grows.
#pragma once

#include <cstddef>
#include <cstdint>

namespace simjoin {

// It takes time, so it is made only now and then, with room for what comes until the next time.
class PeakEstimate {
 public:
  // Estimates the peak of an input of this size, by calling estimate(), if the input has grown by enough
  // since the last time. Returns the peak that is estimated now, in bytes.
  template <class Estimate>
  size_t update(uint64_t size, Estimate &&estimate) {
    if (size < next_) return bytes_;
    next_ = size + size / growth;
    const size_t now = estimate();
    return bytes_ = now + now / growth;
  }
  size_t bytes() const { return bytes_; }

  // Returns a memory limit with which a join that takes `peak` bytes needs no file: estimates have room.
  static size_t limit_for(size_t peak) { return peak + 2 * peak / growth; }

 private:
  static constexpr uint64_t growth = 64;  // the input grows by one part in this many

  size_t bytes_ = 0;
  uint64_t next_ = 0;
};

}  // namespace simjoin
