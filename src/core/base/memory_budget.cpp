#include "core/base/memory_budget.hpp"

#include <algorithm>
#include <utility>

namespace simjoin {
namespace {

// Processes do not share locks, which a killed one would keep.
static_assert(std::atomic<size_t>::is_always_lock_free);

constexpr size_t megabyte = size_t{1} << 20;
// One part in so many is the most that a process draws which does not know of the others.
constexpr size_t alone = 8;
// One part in so many of the most that may be drawn is for those that come when the rest is drawn.
constexpr size_t last_part = 8;
// Where less than one part in so many is drawn, the system tells what it has.
constexpr size_t small_part = 16;

MemoryAccount own_account = {};
MemoryAccount *account = &own_account;
std::atomic<size_t> server_memory = 0;

// Returns what is left of what the system has, and of the most that may be drawn, beside `drawn` bytes.
size_t left_beside(size_t drawn, size_t available) {
  // If all that is drawn is in use, there is that much more without it. If other processes have grown, less.
  const size_t upper = available + drawn;
  if (drawn <= upper / small_part || account->whole > upper) account->whole = upper;
  const size_t whole = account->whole;
  size_t left = std::min(whole - std::min(whole, drawn), available);
  if (const size_t most = server_memory; most > 0) {
    const size_t shared = most - most / last_part;
    left = std::min(left, shared - std::min(shared, drawn));
  }
  return left;
}

}  // namespace

void set_memory_account(MemoryAccount *shared) {
  account = shared == nullptr ? &own_account : shared;
}

void set_server_memory(size_t most) {
  server_memory = most;
}

DrawnMemory::DrawnMemory(size_t asked, size_t available) {
  size_t drawn = account->drawn;
  do {
    const size_t share = left_beside(drawn, available) / (account == &own_account ? alone : 2);
    bytes_ = std::min(asked, std::max(share / megabyte * megabyte, least_draw));
  } while (!account->drawn.compare_exchange_weak(drawn, drawn + bytes_));
}

void DrawnMemory::give_back() {
  account->drawn -= std::exchange(bytes_, 0);
}

}  // namespace simjoin
