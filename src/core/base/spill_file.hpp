// The temporary file of a join that exceeds its memory: one plain file descriptor, which any thread of the
// engine reads and writes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/base/worker_pool.hpp"

namespace simjoin {

// Errors are simjoin::Error: disk_full, io_failure, or file_limit_exceeded.
class SpillFile {
 public:
  // Takes over the descriptor of an empty file; removing its name is the caller's business. At most `limit`
  // bytes are written.
  SpillFile(int descriptor, uint64_t limit, const StopFlag &stop)
      : descriptor_(descriptor), limit_(limit), stop_(stop) {}
  ~SpillFile();
  SpillFile(const SpillFile &) = delete;
  SpillFile &operator=(const SpillFile &) = delete;

  // Reserves `bytes` bytes for the caller alone and returns their place. Called by one thread at a time.
  // Bytes that are never written take no space on the disk.
  uint64_t reserve(uint64_t bytes) { return end_ += bytes, end_ - bytes; }
  // write() and read() move all bytes, in pieces between which they look at the stop flag. Safe for several
  // threads.
  void write(uint64_t offset, const void *data, size_t bytes);
  // Writes over what was written before. These bytes do not count against the limit.
  void overwrite(uint64_t offset, const void *data, size_t bytes) const;
  void read(uint64_t offset, void *data, size_t bytes) const;
  // Returns the number of bytes written.
  uint64_t written() const { return written_.load(std::memory_order_relaxed); }

 private:
  const int descriptor_;
  const uint64_t limit_;
  const StopFlag &stop_;
  uint64_t end_ = 0;
  std::atomic<uint64_t> written_{0};
};

}  // namespace simjoin
