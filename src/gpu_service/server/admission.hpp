// Which joins have the GPU of the service: a few at a time, in the order in which they were complete.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>

#include "core/base/worker_pool.hpp"

namespace simjoin {

// Two joins at a time keep a GPU busy: one is uploaded or handed over while the other one is computed. More
// would take more device memory and end no sooner. Safe for use by several threads.
class Admission {
 public:
  static constexpr int most_early = 1, most_running = 2;
  static constexpr std::chrono::seconds longest_wait{10};

  // The place of one join.
  class Turn {
   public:
    explicit Turn(Admission &admission) : admission_(admission) {}
    ~Turn() { leave(); }
    Turn(const Turn &) = delete;
    Turn &operator=(const Turn &) = delete;

    // Returns whether the join may use the GPU before its sets are complete.
    bool try_early();
    // Waits for the join's turn. Throws Cancelled, or device_unavailable if the turn has not come in time.
    void wait(const StopFlag &stop, std::chrono::milliseconds longest = longest_wait);
    // Lets others have the place while the join waits for its session. It may come back at any time, since
    // what it has on the GPU stays there.
    void leave() noexcept;
    void come_back();
    bool has_place() const { return place_ != Place::none; }

   private:
    enum class Place : uint8_t { none, early, running };

    Admission &admission_;
    Place place_ = Place::none;
    Place left_ = Place::none;
  };

  int running() const;
  int waiting() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int early_ = 0;
  int running_ = 0;
  uint64_t tickets_ = 0;
  std::deque<uint64_t> waiting_;  // tickets in their order
};

}  // namespace simjoin
