#include "core/base/thread_budget.hpp"

#include <algorithm>
#include <climits>

namespace simjoin {
namespace {

// Processes do not share locks, which a killed one would keep.
static_assert(std::atomic<int>::is_always_lock_free);

std::atomic<int> *running = nullptr;
std::atomic<int> limit = INT_MAX;

}  // namespace

void set_thread_count(std::atomic<int> *shared) {
  running = shared;
}

void set_thread_limit(int new_limit) {
  limit = new_limit;
}

int take_threads(int wanted) {
  if (running == nullptr) return wanted;
  int before = running->load(), taken;
  do taken = std::clamp(limit.load() - before, 0, wanted);
  while (!running->compare_exchange_weak(before, before + taken));
  return taken;
}

void give_back_threads(int threads) {
  if (running != nullptr) *running -= threads;
}

}  // namespace simjoin
