// Long computations in PostgreSQL's hands: in steps, with interrupt checks between them.
#pragma once

#include "pg/base/pg.hpp"

#include <chrono>

#include "pg/base/errors.hpp"
#include "pg/base/gpu_notices.hpp"

namespace simjoin::pg {

// How long a computation works between two interrupt checks.
inline constexpr std::chrono::microseconds step_budget{10'000};

// Calls step() within call_cpp until it returns true. Interrupts are processed before each step.
template <class Step>
void run_steps(Step &&step) {
  do CHECK_FOR_INTERRUPTS();
  while (!call_cpp(step));
}

// Runs a computation that may use a GPU until its step(budget) returns true. Tells the session where the
// computation leaves the GPU.
template <class Work>
void run_to_end(Work *work) {
  for (bool done = false; !done;) {
    CHECK_FOR_INTERRUPTS();
    done = call_cpp([&] { return work->step(step_budget); });
    report_gpu_notice_of(work);
  }
}

}  // namespace simjoin::pg
