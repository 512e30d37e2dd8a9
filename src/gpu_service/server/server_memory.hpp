// The memory that the GPU service shares with sessions, in pieces of HostPieces::usual_bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "core/base/host_pieces.hpp"

namespace simjoin {

class ServerMemory;

// A piece while somebody has it. It is free again once nobody has.
class ServerPiece {
 public:
  ServerPiece(std::shared_ptr<ServerMemory> memory, uint32_t number)
      : memory_(std::move(memory)), number_(number) {}
  ~ServerPiece();
  ServerPiece(const ServerPiece &) = delete;
  ServerPiece &operator=(const ServerPiece &) = delete;

  uint32_t number() const { return number_; }
  char *data() const;

 private:
  const std::shared_ptr<ServerMemory> memory_;
  const uint32_t number_;
};

// Safe for use by several threads.
class ServerMemory : public std::enable_shared_from_this<ServerMemory> {
 public:
  // Makes and touches the memory. Throws std::bad_alloc.
  explicit ServerMemory(size_t bytes);
  ~ServerMemory();
  ServerMemory(const ServerMemory &) = delete;
  ServerMemory &operator=(const ServerMemory &) = delete;

  // Returns a piece, or null if none is free or the asker, who has `held`, has its share. One asker gets most
  // of the memory, and several get equal parts.
  std::shared_ptr<ServerPiece> take(size_t held);

  int descriptor() const { return descriptor_; }
  char *data() const { return data_; }
  size_t bytes() const { return bytes_; }
  size_t bytes_used() const;

 private:
  friend class ServerPiece;
  void give_back(uint32_t number) noexcept;

  int descriptor_ = -1;
  char *data_ = nullptr;
  const size_t bytes_;
  mutable std::mutex mutex_;
  std::vector<uint32_t> free_;
};

}  // namespace simjoin
