// Large pieces of host memory that the process keeps and uses again. Touching memory for the first time costs
// more than copying into it, and page-locking it for a GPU costs as much again.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "core/base/thread_budget.hpp"

namespace simjoin {

struct HostPiece {
  char *data = nullptr;
  size_t bytes = 0;
  // Undoes the page-locking; null if the piece is not page-locked. The device layer sets it
  // (cuda/sets/upload).
  void (*unlock)(void *data) noexcept = nullptr;
  // Not null if the memory is another process's, too. It goes back when the last copy of the pointer goes.
  std::shared_ptr<void> loan;
};

// The pieces of this process. Safe for use by several threads.
class HostPieces {
 public:
  static constexpr size_t usual_bytes = size_t{4} << 20;

  static HostPieces &of_process();

  // Returns a piece of at least `bytes` with undefined content. A kept piece is used again if usual_bytes are
  // enough. Throws std::bad_alloc.
  HostPiece take(size_t bytes);
  // Returns such a piece of what is lent to this process; an empty one if nothing is.
  HostPiece borrow(size_t bytes);
  // Sets the lender of pieces of usual_bytes, or none. It returns an empty piece if it has none left.
  void set_lender(std::function<HostPiece()> lender);
  // Takes a piece back. At most `most_kept` bytes are kept for the next take(), the rest is freed. Pieces
  // that are not page-locked are cheap to make, so at most `most_plain_kept` bytes of them are kept.
  static constexpr size_t most_kept = size_t{512} << 20, most_plain_kept = size_t{16} << 20;
  void give_back(const HostPiece &piece) noexcept;
  // Frees all kept pieces.
  void free_kept() noexcept;
  // Returns the number of bytes that are kept.
  size_t kept() const;

 private:
  mutable std::mutex mutex_;
  std::vector<HostPiece> kept_;  // each of usual_bytes
  std::function<HostPiece()> lender_;
};

// Large pieces for a join that fills one after the other. Threads touch the pages of the next ones meanwhile,
// since that takes longer than to fill them.
class PiecesAhead {
 public:
  // Such pieces are page-locked for a GPU, and unlocked, in half or a third of the time of usual ones.
  static constexpr size_t piece_bytes = size_t{64} << 20;

  PiecesAhead() = default;
  ~PiecesAhead() { clear(); }
  PiecesAhead(const PiecesAhead &) = delete;
  PiecesAhead &operator=(const PiecesAhead &) = delete;

  // Returns a piece of at least `bytes` and piece_bytes with undefined content. Throws std::bad_alloc.
  HostPiece take(size_t bytes);
  // Gives back what was not taken.
  void clear() noexcept;

 private:
  static constexpr int most_ahead = 2;

  struct Coming {
    HostPiece piece;
    std::thread thread;
  };
  void begin_next() noexcept;

  std::optional<CountedThreads> threads_;  // from the first piece until clear()
  std::deque<std::unique_ptr<Coming>> coming_;
};

}  // namespace simjoin
