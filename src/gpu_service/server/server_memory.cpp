#include "gpu_service/server/server_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "core/base/memory.hpp"

namespace simjoin {
namespace {

// An asker gets another piece while it has fewer than this many times the free ones.
constexpr size_t share_of_free = 3;

}  // namespace

ServerPiece::~ServerPiece() {
  memory_->give_back(number_);
}

char *ServerPiece::data() const {
  return memory_->data() + size_t{number_} * HostPieces::usual_bytes;
}

ServerMemory::ServerMemory(size_t bytes)
    : bytes_(std::max(bytes / HostPieces::usual_bytes, size_t{1}) * HostPieces::usual_bytes) {
  const auto pieces = static_cast<uint32_t>(bytes_ / HostPieces::usual_bytes);
  free_.reserve(pieces);
  for (uint32_t piece = pieces; piece > 0; --piece) free_.push_back(piece - 1);
  descriptor_ = memfd_create("simjoin GPU service", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  // posix_fallocate tells of too little memory; a first touch would end the process.
  if (descriptor_ < 0 || posix_fallocate(descriptor_, 0, static_cast<off_t>(bytes_)) != 0) {
    if (descriptor_ >= 0) close(descriptor_);
    throw std::bad_alloc();
  }
  // No session can make it smaller under the others.
  fcntl(descriptor_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  void *data = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor_, 0);
  if (data == MAP_FAILED) {
    close(descriptor_);
    throw std::bad_alloc();
  }
  data_ = static_cast<char *>(data);
}

ServerMemory::~ServerMemory() {
  munmap(data_, bytes_);
  close(descriptor_);
}

std::shared_ptr<ServerPiece> ServerMemory::take(size_t held) {
  uint32_t number;
  {
    const std::lock_guard lock(mutex_);
    if (free_.empty() || held >= share_of_free * free_.size()) return nullptr;
    number = free_.back();
    free_.pop_back();
  }
  try {
    return std::make_shared<ServerPiece>(shared_from_this(), number);
  } catch (...) {
    give_back(number);
    throw;
  }
}

size_t ServerMemory::bytes_used() const {
  const std::lock_guard lock(mutex_);
  return bytes_ - free_.size() * HostPieces::usual_bytes;
}

void ServerMemory::give_back(uint32_t number) noexcept {
  const std::lock_guard lock(mutex_);
  free_.push_back(number);
}

}  // namespace simjoin
