// The thread beside a join's caller.
#include "core/handover/engine_thread.hpp"

#include <gtest/gtest.h>

namespace simjoin::test {
namespace {

// Returns what the caller of a thread that throws Cancelled sees in the end.
StepResult end_of_cancelled(EngineThread &thread) {
  thread.open_queue(1);
  thread.start([] { throw Cancelled{}; });
  Batch none;
  for (;;) {
    const StepResult result = thread.pop(std::chrono::milliseconds{10}, none);
    if (result != StepResult::working) return result;
  }
}

// Otherwise a join would seem to be complete.
TEST(EngineThreadTest, CancelledByAnythingButTheFlagIsAFailure) {
  EngineThread thread;
  EXPECT_THROW(end_of_cancelled(thread), Cancelled);
}

}  // namespace
}  // namespace simjoin::test
