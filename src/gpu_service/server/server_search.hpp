// The search of a join of sets with weights in the GPU service: ranked sets in, candidate pairs out.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/memory.hpp"
#include "core/weighted/weighted_sets.hpp"
#include "gpu_service/server/server_work.hpp"

namespace simjoin {

// The arrays come once it is the search's turn. They are in this process alone, so what was checked stays so.
class ServerSearch final : public ServerWork {
 public:
  ServerSearch(ServerHost &host, std::shared_ptr<MessageSocket> socket, uint32_t number,
               const SentSearch &search);

  void add_bytes(std::span<const char> bytes) override;

 private:
  struct Incoming {
    Buffer<char> bytes;
    uint64_t expected;
  };

  void work(Admission::Turn &turn) override;
  void release() noexcept override;
  void wait_for_arrays(Admission::Turn &turn);
  void search(Admission::Turn &turn);
  WeightedSets take_sets(size_t side);
  void send_all(Answer answer, std::span<const char> bytes, Admission::Turn &turn);
  void skip_filled();
  bool complete() const { return filling_ == arrays_.size(); }

  const SentSearch sent_;
  // Guarded by mutex_ until all is there.
  std::vector<Incoming> arrays_;
  size_t filling_ = 0;     // the array whose bytes come next
  uint64_t messages_ = 0;  // with bytes, so far
  bool admitted_ = false, released_ = false, out_of_memory_ = false;
};

}  // namespace simjoin
