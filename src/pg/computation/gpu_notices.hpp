// GPUs as PostgreSQL sees them: failures and what the session is told of them, the device that a function has
// run on, and faults for tests.
#pragma once

#include "pg/base/pg.hpp"

#include <memory>

#include "core/device/gpu_attempt.hpp"
#include "core/join.hpp"
#include "pg/base/errors.hpp"

namespace simjoin::pg {

// Prepares a computation that may run on a GPU. Where no GPU was found for a reason that may have passed, the
// search is repeated. simjoin.gpu_idle_timeout is applied, and so are the faults of
// simjoin.debug_device_fault and simjoin.debug_device_loss.
void prepare_gpu_use();

// What a Notice becomes when it leaves C++.
struct GpuNotice {
  explicit GpuNotice(const std::unique_ptr<Notice> &notice);

  bool any;
  Notice::Cause cause;
  char message[512];
};

// Tells, at DEBUG1 and in EXPLAIN's words, which device a function's join has run on, and by which algorithm.
// The second form tells the device of another computation.
void report_device(const char *function, const JoinEngine *engine);
void report_device(const char *function, const GpuAttempt &attempt);

// Tells the session why the computation goes on on the CPU. Without a notice it does nothing.
void report_gpu_notice(const GpuNotice &notice);

// The same of an object that has take_notice().
template <class Work>
void report_gpu_notice_of(Work *work) {
  report_gpu_notice(call_cpp([&] { return GpuNotice(work->take_notice()); }));
}

}  // namespace simjoin::pg
