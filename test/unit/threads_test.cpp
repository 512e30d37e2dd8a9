// If the system gives no threads, pools work with their caller's thread alone, and everything else reports
// it.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <numeric>
#include <string>

#include "core/base/background_task.hpp"
#include "core/base/error.hpp"
#include "core/lsh/lsh_join.hpp"
#include "unit/drive.hpp"

namespace simjoin::test {
namespace {

// Returns whether `body` returns true in a child process that cannot start threads. The system limits the
// threads of a user, but not of root.
bool holds_without_threads(const std::function<bool()> &body) {
  const pid_t child = fork();
  if (child == 0) {
    constexpr uid_t nobody = 65534;
    const rlimit none{0, 0};
    const bool limited =
        (geteuid() != 0 || setresuid(nobody, nobody, nobody) == 0) && setrlimit(RLIMIT_NPROC, &none) == 0;
    _exit(limited && body() ? 0 : 1);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Returns whether it throws the error for missing threads.
bool says_no_threads(const std::function<void()> &body) {
  try {
    body();
  } catch (const Error &error) {
    return error.kind() == ErrorKind::no_threads &&
           std::string(error.what()).starts_with("could not start a thread: ");
  }
  return false;
}

Input<int32_t> input_of(int32_t rows) {
  Input<int32_t> input;
  input.self_join = true;
  IntSet set(30);
  for (int32_t row = 0; row < rows; ++row) {
    std::iota(set.begin(), set.end(), row * 7 % 1000);
    input.left.push_back(set);
  }
  return input;
}

TEST(NoThreads, APoolMakesDoWithItsCaller) {
  EXPECT_TRUE(holds_without_threads([] {
    const StopFlag stop;
    WorkerPool pool(8, stop);
    std::atomic<size_t> sum{0};
    pool.parallel(1000, [&](int worker, size_t i) { sum += worker == 0 ? i : 1000000; });
    return pool.workers() == 1 && sum == 999 * 1000 / 2;
  }));
}

// A question to another process can be given up by a thread of the task. The task has then no result.
TEST(BackgroundTask, TellsThatACallWasGivenUp) {
  BackgroundTask task(1, [](WorkerPool &) { throw Cancelled{}; });
  const auto wait = [&] {
    while (!task.wait(std::chrono::milliseconds{5})) {
    }
  };
  EXPECT_THROW(wait(), Cancelled);
}

TEST(NoThreads, ABackgroundTaskSaysSo) {
  EXPECT_TRUE(holds_without_threads(
      [] { return says_no_threads([] { BackgroundTask task(2, [](WorkerPool &) {}); }); }));
}

TEST(NoThreads, ALargeJoinSaysSoAndASmallOneIsDone) {
  const Input<int32_t> large = input_of(3000), small = input_of(20);
  JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.5);
  const std::vector<Pair> expected = run(spec, small);
  EXPECT_TRUE(holds_without_threads([&] { return says_no_threads([&] { run(spec, large); }); }));
  EXPECT_TRUE(holds_without_threads([&] { return run(spec, small) == expected; }));
}

TEST(NoThreads, AJoinByBandsSaysSo) {
  const Input<int32_t> input = input_of(20);
  EXPECT_TRUE(holds_without_threads([&] {
    return says_no_threads([&] {
      LshSpec spec;
      spec.self_join = true;
      const auto engine = make_lsh_join(spec);
      feed(*engine, input);
      pull(*engine);
    });
  }));
}

}  // namespace
}  // namespace simjoin::test
