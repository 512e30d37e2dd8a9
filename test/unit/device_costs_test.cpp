// The expected speed of several kinds of GPUs.
#include <gtest/gtest.h>

#include "core/device/device_costs.hpp"

namespace simjoin::test {
namespace {

// Streaming multiprocessors, boost clock and bandwidth as the makers state them.
constexpr GpuTraits h200{90, 132, 1.98, 4917}, a100{80, 108, 1.41, 2039}, l4{89, 58, 2.04, 300},
    rtx4090{89, 128, 2.52, 1008}, b200{100, 148, 1.965, 8000}, rtx5060{120, 30, 2.497, 448};

TEST(GpuSlowdown, FollowsFromProcessorsClockBandwidthAndKernel) {
  EXPECT_EQ(slowdown_of(h200).work, 1);
  EXPECT_EQ(slowdown_of(h200).compare, 1);
  EXPECT_NEAR(slowdown_of(a100).work, 2.4, 0.1);
  EXPECT_NEAR(slowdown_of(a100).compare, 2.45, 0.1);
  EXPECT_NEAR(slowdown_of(l4).work, 16.4, 0.1);  // of its memory
  EXPECT_NEAR(slowdown_of(l4).compare, 6.3, 0.1);
  EXPECT_NEAR(slowdown_of(rtx4090).work, 4.9, 0.1);
  EXPECT_NEAR(slowdown_of(rtx4090).compare, 2.3, 0.1);
  // No binary tensor cores.
  EXPECT_EQ(slowdown_of(b200).work, 1) << "faster than an H200, which was not measured";
  EXPECT_NEAR(slowdown_of(b200).compare, 25.7, 0.2);
  EXPECT_NEAR(slowdown_of(rtx5060).work, 11, 0.1);
  EXPECT_NEAR(slowdown_of(rtx5060).compare, 99.7, 0.5);
}

TEST(GpuSlowdown, WhatADriverDoesNotTellIsNotHeldAgainstTheGpu) {
  EXPECT_EQ(slowdown_of({}).work, 1);
  EXPECT_EQ(slowdown_of({}).compare, 1);
  const GpuSlowdown without_memory = slowdown_of({90, 66, 1.98, 0});
  EXPECT_NEAR(without_memory.work, 2, 1e-9);
  EXPECT_NEAR(without_memory.compare, 2, 1e-9);
}

// Millions of titles of 8 words at 0.9, which prefixes and sizes separate. 16 cores are faster than the
// ordinary cores of a GPU, and slower than the tensor cores of an H200.
TEST(DeviceCosts, AGpuWithoutBinaryTensorCoresDoesNotPayWhereManyCoresAreSooner) {
  JoinLoad load;
  load.rows[0] = 2e7;
  load.tokens = 1.6e8;
  load.self_join = true;
  load.threshold = 0.9;
  const double cores = cpu_join_ms(load, 16);
  EXPECT_GT(cores, 2 * gpu_join_ms(load, slowdown_of(h200)));
  EXPECT_LT(cores, gpu_join_ms(load, slowdown_of(rtx5060)) / 2);
  // Long sets at a low threshold are work for any GPU.
  load.rows[0] = 1e5;
  load.tokens = 1e7;
  load.threshold = 0.3;
  for (const GpuTraits &gpu : {h200, a100, l4, rtx4090, b200, rtx5060}) {
    EXPECT_GT(cpu_join_ms(load, 16), gpu_join_ms(load, slowdown_of(gpu))) << gpu.capability;
  }
}

}  // namespace
}  // namespace simjoin::test
