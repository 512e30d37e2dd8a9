// The attempt to run parts of a computation on a GPU: which device runs them, and the notices to the user.
#include "core/device/gpu_attempt.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/base/costs.hpp"
#include "unit/fake_gpu.hpp"

namespace simjoin::test {
namespace {

constexpr double always = std::numeric_limits<double>::infinity();

class GpuAttemptTest : public testing::Test {
 protected:
  // Runs a part whose GPU throws an error of kind `*fault`, and returns where it ran in the end.
  std::string run(GpuAttempt &attempt, const ErrorKind *fault = nullptr) {
    return attempt.run(
        [&](GpuBackend &gpu) -> std::string {
          EXPECT_EQ(&gpu, &backend_);
          if (fault != nullptr) fail_as(*fault);
          return "gpu";
        },
        [] { return std::string("cpu"); });
  }

  FakeGpu backend_;
};

TEST_F(GpuAttemptTest, EachPartRunsWhereItIsChosen) {
  GpuAttempt attempt(Device::automatic);
  EXPECT_EQ(run(attempt), "cpu") << "nothing is chosen yet";
  EXPECT_FALSE(attempt.outcome().gpu);
  EXPECT_TRUE(attempt.choose(100, 1));
  EXPECT_EQ(run(attempt), "gpu");
  EXPECT_EQ(run(attempt), "gpu") << "the choice holds until the next one";
  EXPECT_EQ(attempt.outcome().refused, "");
  EXPECT_FALSE(attempt.choose(1, 100));
  backend_.slower.byte_ns = 1;
  EXPECT_TRUE(attempt.choose(100, 1, 98e6));
  EXPECT_FALSE(attempt.choose(100, 1, 99e6));
  EXPECT_EQ(run(attempt), "cpu");
  EXPECT_TRUE(attempt.outcome().gpu) << "a part ran there";
  EXPECT_EQ(attempt.outcome().refused, cpu_is_faster);
  attempt.refuse("too few rows");
  EXPECT_EQ(attempt.outcome().refused, "too few rows");
  EXPECT_FALSE(attempt.failed());
  EXPECT_EQ(attempt.take_notice(), nullptr);
}

// A part is missed once, in the sum of all computations.
TEST_F(GpuAttemptTest, PartsStartAGpuTogether) {
  backend_.is_started = false;
  const double missed = costs::gpu_start_ms / 4;
  GpuAttempt first(Device::automatic), second(Device::automatic);
  for (int parts = 1; parts <= 3; ++parts) {
    EXPECT_FALSE(first.choose(missed + 5, 5));
    EXPECT_EQ(missed_on_gpu(), parts * missed);
  }
  EXPECT_FALSE(second.choose(1, 100)) << "the CPU is faster";
  EXPECT_EQ(missed_on_gpu(), 3 * missed);
  EXPECT_TRUE(second.choose(missed + 6, 5));
  EXPECT_EQ(missed_on_gpu(), 0) << "a GPU was looked for";
}

// Small parts of one computation count once they are no small saving together.
TEST_F(GpuAttemptTest, SmallPartsOfOneComputationAddUp) {
  backend_.is_started = false;
  GpuAttempt attempt(Device::automatic);
  for (int parts = 1; parts <= 2; ++parts) {
    EXPECT_FALSE(attempt.choose(10, 0));
    EXPECT_EQ(missed_on_gpu(), 0);
    EXPECT_FALSE(GpuAttempt(Device::automatic).choose(10, 0)) << "of another computation";
  }
  EXPECT_FALSE(attempt.choose(10, 0));
  EXPECT_EQ(missed_on_gpu(), 30);
  EXPECT_FALSE(attempt.choose(10, 0));
  EXPECT_EQ(missed_on_gpu(), 40);
}

TEST_F(GpuAttemptTest, TheCpuReplacesAGpuThatFails) {
  for (const ErrorKind kind :
       {ErrorKind::device_failure, ErrorKind::device_unavailable, ErrorKind::limit_exceeded}) {
    backend_.repair();
    GpuAttempt attempt(Device::automatic);
    ASSERT_TRUE(attempt.choose(always, 0));
    EXPECT_EQ(run(attempt, &kind), "cpu");
    EXPECT_TRUE(attempt.failed());
    EXPECT_EQ(attempt.outcome().refused, "injected");
    const std::unique_ptr<Notice> notice = attempt.take_notice();
    ASSERT_NE(notice, nullptr);
    EXPECT_EQ(notice->cause, cause_of(kind));
    EXPECT_EQ(attempt.take_notice(), nullptr) << "the user is told once";
    EXPECT_FALSE(attempt.choose(always, 0)) << "a GPU that failed is not tried again";
    EXPECT_EQ(run(attempt), "cpu");
    EXPECT_EQ(attempt.outcome().refused, "injected");
    EXPECT_EQ(gpu_failure(), kind == ErrorKind::device_failure ? "injected" : "");
  }
}

TEST_F(GpuAttemptTest, OtherErrorsAndDemandedGpusAreNotReplaced) {
  const ErrorKind wrong_data = ErrorKind::invalid_argument, too_large = ErrorKind::limit_exceeded;
  GpuAttempt attempt(Device::automatic);
  ASSERT_TRUE(attempt.choose(always, 0));
  EXPECT_THROW(run(attempt, &wrong_data), Error);
  EXPECT_EQ(attempt.take_notice(), nullptr);
  EXPECT_FALSE(attempt.failed());

  GpuAttempt demanding(Device::gpu);
  ASSERT_TRUE(demanding.choose(0, always));
  EXPECT_THROW(run(demanding, &too_large), Error);
  EXPECT_EQ(demanding.take_notice(), nullptr);
  backend_.present = false;
  EXPECT_THROW(demanding.choose(always, 0), Error);
}

TEST_F(GpuAttemptTest, WithoutAGpuTheReasonIsTold) {
  GpuAttempt attempt(Device::automatic), on_cpu(Device::cpu);
  backend_.present = false;
  EXPECT_FALSE(attempt.choose(always, 0));
  EXPECT_EQ(attempt.outcome().refused, "no driver");
  EXPECT_FALSE(on_cpu.choose(always, 0));
  EXPECT_EQ(on_cpu.outcome().refused, "");
  set_gpu_backend(nullptr);
  EXPECT_FALSE(attempt.choose(always, 0));
  EXPECT_EQ(run(attempt), "cpu");
  EXPECT_EQ(attempt.outcome().refused, no_gpu_reason());
}

}  // namespace
}  // namespace simjoin::test
