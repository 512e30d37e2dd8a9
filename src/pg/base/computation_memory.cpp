#include "pg/base/computation_memory.hpp"

extern "C" {
#include "storage/ipc.h"
}

#include <algorithm>
#include <chrono>
#include <memory>

#include "core/base/available_memory.hpp"
#include "core/base/memory_budget.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/settings.hpp"

namespace simjoin::pg {
namespace {

// A short computation should not take longer to learn what memory there is than to run.
constexpr std::chrono::milliseconds between_looks{100};
// What is taken to be there where the system does not tell.
constexpr size_t unknown_memory = size_t{8} << 30;

// What a running computation has drawn. All of the session form a list.
struct Draw {
  Draw(MemoryContext computation, size_t asked, size_t available)
      : context(computation), memory(asked, available), next(newest) {
    newest = this;
  }
  ~Draw() {
    Draw **link = &newest;
    while (*link != this) link = &(*link)->next;
    *link = next;
  }
  Draw(const Draw &) = delete;
  Draw &operator=(const Draw &) = delete;

  static inline Draw *newest = nullptr;

  MemoryContext context;
  DrawnMemory memory;
  Draw *next;
};

// Returns what the system has, as of a short time ago at most.
size_t memory_there_is() {
  static size_t known = 0;
  static std::chrono::steady_clock::time_point looked;
  const auto now = std::chrono::steady_clock::now();
  if (known == 0 || now - looked >= between_looks) {
    known = available_memory().value_or(unknown_memory);
    looked = now;
  }
  return known;
}

// A session that ends at once may not end its memory contexts.
void give_all_back(int, Datum) {
  for (Draw *draw = Draw::newest; draw != nullptr; draw = draw->next) draw->memory.give_back();
}

Draw *draw_for(MemoryContext computation, size_t asked) {
  static bool registered = false;
  if (!registered) on_shmem_exit(give_all_back, 0);
  registered = true;
  return own(computation, [&] { return std::make_unique<Draw>(computation, asked, memory_there_is()); });
}

}  // namespace

size_t expected_memory_limit() {
  if (!Settings::memory_is_drawn()) return Settings::fixed_memory_limit();
  return std::min(ordinary_memory, Settings::max_memory());
}

size_t memory_limit_of(MemoryContext computation, size_t asked) {
  if (!Settings::memory_is_drawn()) return Settings::fixed_memory_limit();
  Draw *draw = Draw::newest;
  while (draw != nullptr && draw->context != computation) draw = draw->next;
  if (draw == nullptr) draw = draw_for(computation, std::min(asked, Settings::max_memory()));
  return draw->memory.bytes();
}

}  // namespace simjoin::pg
