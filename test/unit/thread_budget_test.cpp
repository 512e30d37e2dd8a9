// The budget of threads that all processes of a server share.
#include "core/base/thread_budget.hpp"

#include <gtest/gtest.h>

#include <climits>

#include "core/base/worker_pool.hpp"

namespace simjoin {
namespace {

class ThreadBudget : public testing::Test {
 protected:
  ThreadBudget() { set_thread_count(&running_); }
  ~ThreadBudget() override {
    set_thread_count(nullptr);
    set_thread_limit(INT_MAX);
  }

  std::atomic<int> running_{0};
};

TEST_F(ThreadBudget, GivesWhatIsLeft) {
  set_thread_limit(5);
  EXPECT_EQ(take_threads(3), 3);
  EXPECT_EQ(take_threads(3), 2);
  EXPECT_EQ(take_threads(3), 0);
  give_back_threads(4);
  EXPECT_EQ(running_, 1);
  set_thread_limit(0);
  EXPECT_EQ(take_threads(1), 0);
  EXPECT_EQ(running_, 1);
  give_back_threads(1);
  EXPECT_EQ(running_, 0);
}

TEST_F(ThreadBudget, CountsThreadsWhileTheyLive) {
  set_thread_limit(3);
  {
    const CountedThreads first(2), second(2), third(0);
    EXPECT_EQ(first.taken(), 2);
    EXPECT_EQ(second.taken(), 1);
    EXPECT_EQ(third.taken(), 0);
    EXPECT_EQ(running_, 3);
  }
  EXPECT_EQ(running_, 0);
}

TEST_F(ThreadBudget, PoolsContinueWithFewerThreads) {
  set_thread_limit(3);
  const StopFlag stop;
  {
    WorkerPool first(3, stop), second(4, stop), third(2, stop);
    EXPECT_EQ(first.workers(), 3);
    EXPECT_EQ(second.workers(), 2);
    EXPECT_EQ(third.workers(), 1);
    EXPECT_EQ(running_, 3);
    std::atomic<int> sum = 0;
    for (WorkerPool *pool : {&first, &second, &third})
      pool->parallel(10, [&](int, size_t i) { sum += static_cast<int>(i); });
    EXPECT_EQ(sum, 3 * 45);
  }
  EXPECT_EQ(running_, 0);
}

TEST(ThreadBudgetOfNobody, GivesAll) {
  set_thread_limit(1);
  EXPECT_EQ(take_threads(10), 10);
  give_back_threads(10);
  set_thread_limit(INT_MAX);
}

}  // namespace
}  // namespace simjoin
