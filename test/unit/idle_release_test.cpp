// Device resources are given back when the device has been idle, and not before.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "core/base/idle_release.hpp"
#include "unit/cpu_time.hpp"
#include "unit/process.hpp"

namespace simjoin::test {
namespace {

using namespace std::chrono_literals;

TEST(IdleRelease, ReleasesOnceAfterEachIdleTime) {
  std::atomic<int> releases{0};
  std::atomic<bool> blocked{false};
  IdleRelease idle([&] {
    blocked = interrupts_are_blocked();
    ++releases;
    return true;
  });
  idle.set_timeout(1ms);
  for (int i = 1; i <= 3; ++i) {
    idle.begin();
    idle.begin();
    idle.end();
    idle.end();
    ASSERT_TRUE(comes_true([&] { return releases == i; }));
    EXPECT_TRUE(blocked) << "the thread would take the process's signals";
    std::this_thread::sleep_for(10ms);
    EXPECT_EQ(releases, i) << "nothing was in use since";
  }
}

TEST(IdleRelease, NothingIsReleasedWhileItIsUsed) {
  std::atomic<int> releases{0}, uses{0};
  std::atomic<bool> wrong{false};
  IdleRelease idle([&] {
    wrong = wrong || uses > 0;
    std::this_thread::sleep_for(1ms);
    wrong = wrong || uses > 0;
    ++releases;
    return true;
  });
  idle.set_timeout(1ms);
  const auto use = [&] {
    for (int i = 0; i < 50; ++i) {
      idle.begin();
      ++uses;
      std::this_thread::sleep_for(std::chrono::microseconds(i % 7 * 500));
      --uses;
      idle.end();
      std::this_thread::sleep_for(std::chrono::microseconds(i % 5 * 1000));
    }
  };
  std::thread others[] = {std::thread(use), std::thread(use)};
  for (std::thread &other : others) other.join();
  EXPECT_TRUE(comes_true([&] { return releases > 0; }));
  EXPECT_FALSE(wrong);
}

TEST(IdleRelease, WithoutATimeoutAllIsKept) {
  std::atomic<int> releases{0};
  IdleRelease idle([&] {
    ++releases;
    return true;
  });
  idle.begin();
  idle.end();
  std::this_thread::sleep_for(10ms);
  EXPECT_EQ(releases, 0);
  idle.set_timeout(1ms);  // also applies to resources that are idle already
  EXPECT_TRUE(comes_true([&] { return releases == 1; }));
  idle.set_timeout(0ms);
  idle.begin();
  idle.end();
  std::this_thread::sleep_for(10ms);
  EXPECT_EQ(releases, 1);
}

TEST(IdleRelease, WhatCannotBeReleasedYetIsTriedAgain) {
  std::atomic<int> releases{0};
  IdleRelease idle([&] { return ++releases == 3; });
  idle.set_timeout(1ms);
  idle.begin();
  idle.end();
  ASSERT_TRUE(comes_true([&] { return releases == 3; }));
  std::this_thread::sleep_for(10ms);
  EXPECT_EQ(releases, 3);
}

// A session that ends does not wait for the timeout, which is longer than any test may take.
TEST(IdleRelease, EndsAtOnce) {
  IdleRelease idle([] { return true; });
  idle.set_timeout(24h);
  idle.begin();
  idle.end();
}

}  // namespace
}  // namespace simjoin::test
