#include "cuda/base/page_locked.hpp"

#include <cuda_runtime_api.h>

#include <atomic>
#include <bit>
#include <map>
#include <mutex>
#include <new>

#include "core/base/memory.hpp"
#include "cuda/base/device_errors.hpp"

namespace simjoin::gpu {
namespace {

std::mutex locking;  // guards locking of pieces; several devices may get the same block
std::atomic<size_t> locked{0};

void unlock_pages(void *data) noexcept {
  cudaHostUnregister(data);
  cudaGetLastError();
  --locked;
}

// Huge pages are page-locked in a quarter of the time of cudaHostAlloc, which uses small ones.
void *allocate_pinned(size_t bytes) {
  void *const data = map_huge(bytes);
  if (data == nullptr) throw std::bad_alloc();
  try {
    SIMJOIN_DEVICE_CALL(cudaHostRegister(data, bytes, cudaHostRegisterPortable));
  } catch (...) {
    unmap_huge(data, bytes);
    throw;
  }
  return data;
}

void free_pinned(void *data, size_t bytes) noexcept {
  cudaHostUnregister(data);
  cudaGetLastError();
  unmap_huge(data, bytes);
}

// Free buffers by size, each a power of two. The pool is never destroyed, because the driver may end before
// it.
struct PinnedPool {
  static constexpr size_t most_kept = size_t{64} << 20;

  std::mutex mutex;
  std::multimap<size_t, void *> kept;
  size_t kept_bytes = 0;

  void free_kept() {
    const std::lock_guard lock(mutex);
    for (const auto &[size, data] : kept) free_pinned(data, size);
    kept.clear();
    kept_bytes = 0;
  }
};

PinnedPool &pinned_pool() {
  static PinnedPool &pool = *new PinnedPool;
  return pool;
}

}  // namespace

bool lock_pages(HostPiece &piece, std::string &why) {
  const std::lock_guard lock(locking);
  if (piece.unlock != nullptr) return true;
  check(injected_fault(), "cudaHostRegister");
  cudaError_t result = cudaHostRegister(piece.data, piece.bytes, cudaHostRegisterPortable);
  if (result != cudaSuccess) {
    free_kept_page_locked();
    result = cudaHostRegister(piece.data, piece.bytes, cudaHostRegisterPortable);
  }
  if (result != cudaSuccess) {
    cudaGetLastError();  // cleared: copies work without page-locking
    why = cudaGetErrorString(result);
    return false;
  }
  ++locked;
  piece.unlock = unlock_pages;
  return true;
}

size_t locked_pieces() {
  return locked;
}

void free_kept_page_locked() noexcept {
  HostPieces::of_process().free_kept();
  pinned_pool().free_kept();
  cudaGetLastError();
}

void *take_pinned(size_t bytes) {
  const size_t size = std::bit_ceil(bytes);
  PinnedPool &pool = pinned_pool();
  {
    const std::lock_guard lock(pool.mutex);
    if (const auto found = pool.kept.find(size); found != pool.kept.end()) {
      void *data = found->second;
      pool.kept.erase(found);
      pool.kept_bytes -= size;
      return data;
    }
  }
  return allocate_pinned(size);
}

// After an error, a copy into the buffer may still be under way. Without the wait it would overwrite the next
// user's data.
void give_pinned_back(void *data, size_t bytes) noexcept {
  cudaDeviceSynchronize();
  cudaGetLastError();
  const size_t size = std::bit_ceil(bytes);
  PinnedPool &pool = pinned_pool();
  try {
    const std::lock_guard lock(pool.mutex);
    if (pool.kept_bytes + size <= PinnedPool::most_kept) {
      pool.kept.emplace(size, data);
      pool.kept_bytes += size;
      return;
    }
  } catch (const std::bad_alloc &) {
    // A buffer that cannot be recorded is freed.
  }
  free_pinned(data, size);
}

}  // namespace simjoin::gpu
