// Large pieces of host memory that the process keeps and uses again: memory that is touched for the first
// time costs more than copying into it, and page-locking it for a GPU costs once more.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

namespace simjoin {

struct HostPiece {
  char *data = nullptr;
  size_t bytes = 0;
  // Undoes the page-locking; null where the piece is not page-locked. Set and called by the device layer's
  // code, see cuda/sets/upload.
  void (*unlock)(void *data) noexcept = nullptr;
};

// The pieces of this process. Safe for use by several threads.
class HostPieces {
 public:
  static constexpr size_t usual_bytes = size_t{4} << 20;

  static HostPieces &of_process();

  // Returns a piece of at least `bytes`, its content undefined: one of usual_bytes that was given back, where
  // that is enough. Throws std::bad_alloc.
  HostPiece take(size_t bytes);
  // Takes a piece back. Up to so many bytes are kept for the next take(), the rest is freed. Pieces that are
  // not page-locked are soon made again: of these fewer are kept.
  static constexpr size_t most_kept = size_t{512} << 20, most_plain_kept = size_t{16} << 20;
  void give_back(const HostPiece &piece) noexcept;
  // Frees all that is kept.
  void free_kept() noexcept;
  // Returns how many bytes are kept.
  size_t kept() const;

 private:
  mutable std::mutex mutex_;
  std::vector<HostPiece> kept_;  // of usual_bytes each
};

}  // namespace simjoin
