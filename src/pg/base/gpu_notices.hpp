// GPUs as PostgreSQL sees them: what the session forgets and is told of failures, what functions have run on,
// and faults that a test asks for.
#pragma once

#include "pg/base/pg.hpp"

#include <memory>

#include "core/device/device_work.hpp"
#include "core/join.hpp"
#include "pg/base/errors.hpp"

namespace simjoin::pg {

// Call before a computation that may run on a GPU. A look for one that failed for a reason that may have
// passed is forgotten, simjoin.gpu_idle_timeout holds from here on, and the fault of
// simjoin.debug_device_fault and simjoin.debug_device_loss is armed.
void prepare_gpu_use();

// What a Notice becomes when it leaves C++.
struct GpuNotice {
  explicit GpuNotice(const std::unique_ptr<Notice> &notice);

  bool any;
  Notice::Cause cause;
  char message[512];
};

// Tells, at DEBUG1 and in EXPLAIN's words, what a function's join has run on, and by which algorithm; what
// another computation has run on.
void report_device(const char *function, const JoinEngine *engine);
void report_device(const char *function, const DeviceUse &use);

// Tells the session why the computation goes on on the CPU, where there is something to tell.
void report_gpu_notice(const GpuNotice &notice);

// The same of an object that has take_notice().
template <class Work>
void report_gpu_notice_of(Work *work) {
  report_gpu_notice(call_cpp([&] { return GpuNotice(work->take_notice()); }));
}

}  // namespace simjoin::pg
