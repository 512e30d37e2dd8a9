// Sorting of sets of any size, and what else the engine's caller can give up.
#include "core/sort/long_sort.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/base/interruption.hpp"
#include "core/base/worker_pool.hpp"
#include "core/join.hpp"
#include "core/sets/text_feed.hpp"
#include "core/sort/hash_sort.hpp"
#include "unit/drive.hpp"
#include "unit/on_target.hpp"
#include "unit/typed_tokens.hpp"

namespace simjoin::test {
namespace {

constexpr size_t many = 3 * longest_short_run + 17;

// Sequences that the division by upper bits treats differently.
template <typename Number>
std::vector<std::vector<Number>> long_runs() {
  constexpr Number most = std::numeric_limits<Number>::max();
  std::mt19937_64 random(1);
  std::vector<std::vector<Number>> runs(6, std::vector<Number>(many));
  for (size_t i = 0; i < many; ++i) {
    runs[0][i] = static_cast<Number>(random());
    runs[1][i] = static_cast<Number>(random() % 100);
    runs[2][i] = 7;
    runs[3][i] = i % 1000 == 0 ? most - static_cast<Number>(i) : static_cast<Number>(random() % 1000000);
    runs[4][i] = static_cast<Number>(many - i);
    runs[5][i] = i == 5 ? most : 0;
  }
  return runs;
}

template <typename Number>
void check_long_runs() {
  const ShortSort sort;
  for (std::vector<Number> &run : long_runs<Number>()) {
    std::vector<Number> expected = run;
    std::sort(expected.begin(), expected.end());
    size_t checks = 0;
    sort_long(run.data(), run.size(), sort, [&] { ++checks; });
    EXPECT_EQ(run, expected);
    EXPECT_GE(checks, many >> 16);
    expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
    run.resize(leave_once(run.data(), run.size(), [] {}));
    EXPECT_EQ(run, expected);
  }
}

template <typename Number>
void check_hashes(size_t count, uint64_t distinct, uint64_t factor) {
  std::mt19937_64 random(count);
  std::vector<Number> numbers(count), room(count);
  for (Number &number : numbers) number = static_cast<Number>(random() % distinct * factor);
  std::vector<Number> expected = numbers;
  std::sort(expected.begin(), expected.end());
  sort_hashes(numbers.data(), count, room.data());
  EXPECT_EQ(numbers, expected) << count << " of " << distinct;
}

TEST(LongSort, SortsHashesAndOtherNumbers) {
  for (int64_t target : all_targets()) {
    const OnTarget on(target);
    for (size_t count : {0, 1, 2, 17, 31, 33, 64, 100, 128, 129, 206, 257, 500, 2000, 70'000}) {
      // Numbers that are spread evenly, with repeated ones, all in one bucket, and all the same.
      for (uint64_t distinct : {UINT64_MAX, uint64_t{50}, uint64_t{1}}) {
        check_hashes<uint32_t>(count, distinct, 0x9E3779B97F4A7C15u);
        check_hashes<uint64_t>(count, distinct, 0x9E3779B97F4A7C15u);
        check_hashes<uint32_t>(count, std::min<uint64_t>(distinct, 5000), 1);
        check_hashes<uint64_t>(count, std::min<uint64_t>(distinct, 5000), 1);
      }
    }
  }
}

TEST(LongSort, SortsAsAnySort) {
  check_long_runs<uint32_t>();
  check_long_runs<uint64_t>();
}

TEST(LongSort, ShortRunsAreNotDivided) {
  std::vector<uint32_t> run = {3, 1, 2, 2};
  sort_long(run.data(), run.size(), ShortSort(), [] { FAIL(); });
  EXPECT_EQ(run, (std::vector<uint32_t>{1, 2, 2, 3}));
  EXPECT_EQ(leave_once(run.data(), run.size(), [] { FAIL(); }), 3u);
}

// ---- Giving up ----

int asked = 0, most_asked = 0;

bool wants_to_give_up() {
  return asked++ >= most_asked;
}

class GivingUp : public testing::Test {
 protected:
  ~GivingUp() override { set_interruption(nullptr); }
};

template <typename T>
std::vector<T> large_set() {
  std::vector<T> set(many);
  for (size_t i = 0; i < many; ++i) set[i] = static_cast<T>((i * 2654435761u) % 4000037);
  return set;
}

// Adds a large set and gives it up at the first check, the second, the fourth, and so on, until it is added.
template <typename T>
void give_up() {
  const std::vector<T> set = large_set<T>();
  JoinSpec spec;
  spec.self_join = true;
  spec.threads = 1;
  spec.device = Device::cpu;
  int given_up = 0;
  for (most_asked = 0;; most_asked += 1 + most_asked) {
    asked = 0;
    const auto join = make_cpu_engine(spec);
    try {
      set_interruption(wants_to_give_up);
      add_set(*join, Side::left, std::span(set));
      break;
    } catch (const Cancelled &) {
      ++given_up;
    }
  }
  EXPECT_GT(given_up, 2);
}

// The thread that adds them numbers them, since there is no other.
TEST_F(GivingUp, ALargeSetOfTexts) {
  std::vector<std::string> texts(many);
  for (size_t i = 0; i < many; ++i) texts[i] = std::to_string(i);
  const std::vector<std::string_view> set(texts.begin(), texts.end());
  JoinSpec spec;
  spec.self_join = true;
  spec.threads = 1;
  spec.device = Device::cpu;
  const auto join = make_cpu_engine(spec);
  most_asked = asked = 0;
  set_interruption(wants_to_give_up);
  EXPECT_THROW(
      {
        for (int i = 0; i < 10; ++i) add_set(*join, Side::left, std::span(set));
      },
      Cancelled);
  EXPECT_LT(asked, 10);
}

TEST_F(GivingUp, ALargeSetOfIntegers) {
  give_up<int32_t>();
  give_up<int64_t>();
}

// A text that other threads hash for as long as a test wants, 20 s at most.
constexpr std::string_view slow_text = "slow";
std::atomic<bool> is_slow, is_met;
std::thread::id fast_thread;

uint32_t hash_slowly(std::string_view text) {
  if (text != slow_text || std::this_thread::get_id() == fast_thread) return 0;
  is_met = true;
  for (int i = 0; i < 20'000 && is_slow; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  is_slow = false;
  return 0;
}

// The caller has to wait for a row that another thread numbers, and gives up meanwhile.
TEST_F(GivingUp, AWaitForALongRowOfTexts) {
  MemoryCounter memory;
  TextNumbers numbers(memory);
  is_slow = true;
  is_met = false;
  fast_thread = std::this_thread::get_id();
  TextFeed feed(2, size_t{1} << 20, memory, {false, hash_slowly});
  const TextPacker row = packed(Texts(1000, std::string(slow_text)));
  set_interruption([] { return is_met.load(); });
  EXPECT_THROW(
      {
        for (int rows = 0; rows < 100'000; ++rows) {
          feed.add(Side::left, row.texts());
          if (feed.full()) feed.submit(numbers);
          feed.take(TextFeed::at_once);
        }
      },
      Cancelled);
  is_slow = false;
}

}  // namespace
}  // namespace simjoin::test
