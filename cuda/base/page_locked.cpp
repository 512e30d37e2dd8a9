#include "cuda/base/page_locked.hpp"

#include <cuda_runtime_api.h>
#include <sys/mman.h>

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

// A forked process does not get the memory. While it had the pages, too, what this one writes could go to new
// ones, which devices do not read.
cudaError_t register_pages(void *data, size_t bytes) {
  madvise(data, bytes, MADV_DONTFORK);
  return cudaHostRegister(data, bytes, cudaHostRegisterPortable);
}

// Huge pages are page-locked in a fraction of the time that cudaHostAlloc takes with small ones. It is for
// systems that do not let others' memory be page-locked.
void *allocate_pinned(size_t bytes) {
  check(injected_fault(), "cudaHostRegister");
  void *data = map_huge(bytes);
  if (data != nullptr) {
    if (register_pages(data, bytes) == cudaSuccess) return data;
    cudaGetLastError();
    unmap_huge(data, bytes);
  }
  SIMJOIN_DEVICE_CALL(cudaHostAlloc(&data, bytes, cudaHostAllocPortable));
  return data;
}

// Memory that cannot be unlocked is cudaHostAlloc's, or stays, since a device that is lost may read it.
void free_pinned(void *data, size_t bytes) noexcept {
  if (cudaHostUnregister(data) == cudaSuccess) {
    unmap_huge(data, bytes);
  } else {
    cudaFreeHost(data);
  }
  cudaGetLastError();
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
  cudaError_t result = register_pages(piece.data, piece.bytes);
  if (result != cudaSuccess) {
    free_kept_page_locked();
    result = register_pages(piece.data, piece.bytes);
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
