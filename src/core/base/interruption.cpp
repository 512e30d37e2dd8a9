#include "core/base/interruption.hpp"

#include <atomic>

#include "core/base/worker_pool.hpp"

namespace simjoin {
namespace {

std::atomic<bool (*)()> interruption_wanted = nullptr;

}  // namespace

void set_interruption(bool (*wanted)()) {
  interruption_wanted = wanted;
}

void check_interruption() {
  bool (*const wanted)() = interruption_wanted.load(std::memory_order_relaxed);
  if (wanted != nullptr && wanted()) throw Cancelled{};
}

}  // namespace simjoin
