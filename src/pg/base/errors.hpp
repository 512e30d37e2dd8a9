// The border between the two error regimes: C++ exceptions on one side, PostgreSQL's ereport on the other.
//
// An exception must not cross a PostgreSQL frame, and an ereport (a longjmp) must not cross a frame that
// holds an object with a destructor. So code that uses C++ objects runs inside call_cpp, and calls nothing of
// PostgreSQL that can error. Code that calls PostgreSQL holds plain pointers to objects that belong to a
// memory context (own).
#pragma once

#include "pg/base/pg.hpp"

#include <exception>
#include <memory>
#include <type_traits>

extern "C" {
#include "utils/memutils.h"
#include "utils/palloc.h"
}

namespace simjoin::pg {

// An exception turned into plain data, so that nothing is left to destroy when it is reported.
struct ErrorReport {
  bool interrupted;  // the work was given up since an interrupt is pending (check_interruption)
  int sqlstate;
  char message[512];
  char hint[512];
};

// Fills the report from the exception being handled. Call in a catch block.
void describe_current_exception(ErrorReport *report) noexcept;

// Raises the report as a PostgreSQL ERROR.
[[noreturn]] void raise(const ErrorReport &report);

// Runs f and returns its result, which is trivially destructible. f must not call anything of PostgreSQL that
// can error. An exception becomes a PostgreSQL ERROR, once everything in f is destroyed.
template <class F>
auto call_cpp(F &&f) -> std::invoke_result_t<F> {
  static_assert(std::is_trivially_destructible_v<std::invoke_result_t<F>> ||
                std::is_void_v<std::invoke_result_t<F>>);
  ErrorReport report;
  try {
    return f();
  } catch (...) {
    describe_current_exception(&report);
  }
  raise(report);
}

// Makes an object that lives as long as the memory context: make() returns a std::unique_ptr<T>. The object
// is destroyed when the context is reset or deleted, also after an ERROR. Returns a plain pointer to it.
template <class Make>
auto own(MemoryContext context, Make &&make) -> typename std::invoke_result_t<Make>::element_type * {
  using T = typename std::invoke_result_t<Make>::element_type;
  auto *callback =
      static_cast<MemoryContextCallback *>(MemoryContextAllocZero(context, sizeof(MemoryContextCallback)));
  callback->func = [](void *object) { delete static_cast<T *>(object); };
  MemoryContextRegisterResetCallback(context, callback);
  callback->arg = call_cpp([&] { return make().release(); });
  return static_cast<T *>(callback->arg);
}

}  // namespace simjoin::pg
