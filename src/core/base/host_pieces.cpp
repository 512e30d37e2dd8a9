#include "core/base/host_pieces.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"

namespace simjoin {
namespace {

void free_piece(const HostPiece &piece) noexcept {
  if (piece.unlock != nullptr) piece.unlock(piece.data);
  unmap_huge(piece.data, piece.bytes);
}

// Returns a piece whose pages are there, or an empty one. Without the advice they come when they are written.
HostPiece touched_piece() noexcept {
  try {
    HostPiece piece = HostPieces::of_process().take(PiecesAhead::piece_bytes);
#ifdef MADV_POPULATE_WRITE
    madvise(piece.data, piece.bytes, MADV_POPULATE_WRITE);
#endif
    return piece;
  } catch (const std::bad_alloc &) {
    return {};
  }
}

}  // namespace

// The object is never destroyed. The device layer, whose code unlocks the pieces, may be gone before it.
HostPieces &HostPieces::of_process() {
  static HostPieces &pieces = *new HostPieces;
  return pieces;
}

HostPiece HostPieces::take(size_t bytes) {
  if (bytes <= usual_bytes) {
    const std::lock_guard lock(mutex_);
    kept_.reserve(most_kept / usual_bytes);  // so that give_back() allocates nothing
    if (!kept_.empty()) {
      const HostPiece piece = kept_.back();
      kept_.pop_back();
      return piece;
    }
  }
  constexpr size_t page = size_t{1} << 12;
  const size_t size = (std::max(bytes, usual_bytes) + page - 1) / page * page;
  char *const data = static_cast<char *>(map_huge(size));
  if (data == nullptr) throw std::bad_alloc();
  return {data, size, nullptr, nullptr};
}

HostPiece HostPieces::borrow(size_t bytes) {
  std::function<HostPiece()> lender;
  {
    const std::lock_guard lock(mutex_);
    lender = lender_;
  }
  return lender && bytes <= usual_bytes ? lender() : HostPiece();
}

void HostPieces::set_lender(std::function<HostPiece()> lender) {
  const std::lock_guard lock(mutex_);
  lender_ = std::move(lender);
}

void HostPieces::give_back(const HostPiece &piece) noexcept {
  if (piece.data == nullptr) return;
  if (piece.loan) {
    if (piece.unlock != nullptr) piece.unlock(piece.data);
    return;
  }
  if (piece.bytes == usual_bytes) {
    const std::lock_guard lock(mutex_);
    const size_t most = piece.unlock != nullptr ? most_kept : most_plain_kept;
    if ((kept_.size() + 1) * usual_bytes <= most) {
      kept_.push_back(piece);
      return;
    }
  }
  free_piece(piece);
}

void HostPieces::free_kept() noexcept {
  for (;;) {
    HostPiece piece;
    {
      const std::lock_guard lock(mutex_);
      if (kept_.empty()) return;
      piece = kept_.back();
      kept_.pop_back();
    }
    free_piece(piece);
  }
}

size_t HostPieces::kept() const {
  const std::lock_guard lock(mutex_);
  return kept_.size() * usual_bytes;
}

HostPiece PiecesAhead::take(size_t bytes) {
  HostPiece piece;
  if (bytes <= piece_bytes) {
    if (!threads_) threads_.emplace(most_ahead);
    if (!coming_.empty()) {
      coming_.front()->thread.join();
      piece = std::exchange(coming_.front()->piece, {});
      coming_.pop_front();
    }
    while (static_cast<int>(coming_.size()) < threads_->taken()) begin_next();
  }
  return piece.data != nullptr ? piece : HostPieces::of_process().take(std::max(bytes, piece_bytes));
}

// Without a thread, or memory for one, nothing comes and the budget is left alone.
void PiecesAhead::begin_next() noexcept {
  const size_t before = coming_.size();
  try {
    coming_.push_back(std::make_unique<Coming>());
    Coming *next = coming_.back().get();
    next->thread = start_thread([next] { next->piece = touched_piece(); });
  } catch (const std::exception &) {
    coming_.resize(before);
    threads_.emplace(0);
  }
}

void PiecesAhead::clear() noexcept {
  for (const std::unique_ptr<Coming> &next : coming_) {
    next->thread.join();
    HostPieces::of_process().give_back(next->piece);
  }
  coming_.clear();
  threads_.reset();
}

}  // namespace simjoin
