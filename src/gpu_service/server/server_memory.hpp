// The memory that the GPU service shares with sessions, in pieces of HostPieces::usual_bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "core/base/host_pieces.hpp"

namespace simjoin {

class ServiceMemory;

// A piece while somebody has it. It is free again once nobody has.
class ServicePiece {
 public:
  ServicePiece(std::shared_ptr<ServiceMemory> memory, uint32_t number)
      : memory_(std::move(memory)), number_(number) {}
  ~ServicePiece();
  ServicePiece(const ServicePiece &) = delete;
  ServicePiece &operator=(const ServicePiece &) = delete;

  uint32_t number() const { return number_; }
  char *data() const;

 private:
  const std::shared_ptr<ServiceMemory> memory_;
  const uint32_t number_;
};

// Safe for use by several threads.
class ServiceMemory : public std::enable_shared_from_this<ServiceMemory> {
 public:
  // Makes and touches the memory. Throws std::bad_alloc.
  explicit ServiceMemory(size_t bytes);
  ~ServiceMemory();
  ServiceMemory(const ServiceMemory &) = delete;
  ServiceMemory &operator=(const ServiceMemory &) = delete;

  // Returns a piece, or null if none is free or the asker, who has `held`, has its share. One asker gets most
  // of the memory, and several get equal parts.
  std::shared_ptr<ServicePiece> take(size_t held);

  int descriptor() const { return descriptor_; }
  char *data() const { return data_; }
  size_t bytes() const { return bytes_; }
  size_t bytes_used() const;

 private:
  friend class ServicePiece;
  void give_back(uint32_t number) noexcept;

  int descriptor_ = -1;
  char *data_ = nullptr;
  const size_t bytes_;
  mutable std::mutex mutex_;
  std::vector<uint32_t> free_;
};

}  // namespace simjoin
