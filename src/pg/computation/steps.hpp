// Long computations in PostgreSQL's hands: in steps, with interrupt checks between them.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "utils/wait_event.h"
}

#include <chrono>

#include "pg/base/compat.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/computation/gpu_notices.hpp"

namespace simjoin::pg {

// How long a computation works between two interrupt checks.
inline constexpr std::chrono::microseconds step_budget{10'000};

// Calls step() within call_cpp, and returns its result. Meanwhile pg_stat_activity shows that the session
// waits for simjoin's threads.
template <class Step>
auto call_step(Step &&step) {
  static const uint32 event = compat::extension_wait_event("Simjoin");
  pgstat_report_wait_start(event);
  const auto result = call_cpp(step);
  pgstat_report_wait_end();
  return result;
}

// Calls step() until it returns true. Interrupts are processed before each step.
template <class Step>
void run_steps(Step &&step) {
  do check_interrupts();
  while (!call_step(step));
}

// Runs a computation that may use a GPU until its step(budget) returns true. Tells the session where the
// computation leaves the GPU.
template <class Work>
void run_to_end(Work *work) {
  for (bool done = false; !done;) {
    check_interrupts();
    done = call_step([&] { return work->step(step_budget); });
    report_gpu_notice_of(work);
  }
}

}  // namespace simjoin::pg
