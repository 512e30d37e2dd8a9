// Exactly the copies of sets are found, and the joined sets represent all rows.
#include "core/dedup/set_copies.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "core/base/interruption.hpp"
#include "core/base/worker_pool.hpp"
#include "unit/cpu_time.hpp"
#include "unit/times_asked.hpp"

namespace simjoin::test {
namespace {

using Tokens = std::vector<int32_t>;

constexpr size_t enough_memory = size_t{1} << 30;

// Sets of few different tokens, in any order, with repetitions. Many of the sets are equal.
std::vector<Tokens> any_rows() {
  return *rc::gen::container<std::vector<Tokens>>(
      rc::gen::resize(4, rc::gen::container<Tokens>(rc::gen::inRange(-1, 3))));
}

bool add(SetCopies &copies, const Tokens &tokens, int type, std::span<const double> weights = {}) {
  const std::span<const int32_t> span(tokens);
  if (type == 0)
    return weights.empty() ? copies.add_prepared(span, copies.prepare(span)) : copies.add(span, weights);
  const std::vector<int64_t> longs(tokens.begin(), tokens.end());
  if (type == 1) return copies.add(std::span<const int64_t>(longs), weights);
  std::vector<std::string> texts;
  for (const int32_t token : tokens) texts.push_back(token < 0 ? "" : std::string(10, char('a' + token)));
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  return copies.add(std::span<const std::string_view>(views), weights);
}

RC_GTEST_PROP(SetCopies, RowsThatAreLeftOutHaveAnEqualOneThatIsJoined, ()) {
  const auto measure = *rc::gen::element(Measure::jaccard, Measure::overlap, Measure::overlap_coefficient);
  const double threshold = measure == Measure::overlap ? *rc::gen::inRange(1, 4) : 0.5;
  const int type = *rc::gen::inRange(0, 3);
  const size_t memory_limit = *rc::gen::element(size_t{0}, size_t{25'000}, size_t{25'200}, enough_memory);
  const std::vector<Tokens> rows = any_rows();
  MemoryCounter memory;
  SetCopies copies(measure, threshold, memory_limit, memory);
  std::vector<uint32_t> joined;
  for (uint32_t row = 0; row < rows.size(); ++row)
    if (add(copies, rows[row], type)) joined.push_back(row);
  copies.finish();
  for (uint32_t i = 0; i < joined.size(); ++i) RC_ASSERT(copies.joined_row(i) == joined[i]);

  const SetFamilies families = copies.families();
  std::map<Tokens, int> times;
  std::map<uint32_t, uint32_t> first_of_family;
  for (uint32_t row = 0; row < rows.size(); ++row) {
    Tokens sorted = rows[row];
    std::sort(sorted.begin(), sorted.end());
    const std::set<int32_t> set(sorted.begin(), sorted.end());
    const auto size = static_cast<int64_t>(set.size());
    const bool is_joined = std::binary_search(joined.begin(), joined.end(), row);
    const bool similar = size > 0 && similarity(measure, size, size, size) >= threshold;
    if (memory_limit == enough_memory) RC_ASSERT(is_joined == (!similar || times[sorted] < 2));
    ++times[sorted];
    const uint32_t family = families.count == 0 ? SetFamilies::none : families.of_row[row];
    if (family == SetFamilies::none) {
      RC_ASSERT(is_joined);
      continue;
    }
    RC_ASSERT(similar);
    RC_ASSERT(families.similarities[family] == similarity(measure, size, size, size));
    const auto [first, is_first] = first_of_family.emplace(family, row);
    RC_ASSERT(is_joined == is_first);
    const Tokens &those = rows[first->second];
    RC_ASSERT(std::set<int32_t>(those.begin(), those.end()) == set);
  }
}

// Sets with weights are copies if tokens and weights are equal, and some weight is positive.
RC_GTEST_PROP(SetCopies, RowsWithWeights, ()) {
  const int type = *rc::gen::inRange(0, 3);
  const std::vector<Tokens> rows = any_rows();
  MemoryCounter memory;
  SetCopies copies(Measure::jaccard, 0.5, enough_memory, memory);
  std::map<std::map<int32_t, double>, std::vector<uint32_t>> rows_of_set;
  for (uint32_t row = 0; row < rows.size(); ++row) {
    std::map<int32_t, double> set;
    for (const int32_t token : rows[row]) set[token] = *rc::gen::element(0.0, 0.5, 1.0);
    Tokens tokens;
    std::vector<double> weights;
    double total = 0;
    for (const auto &[token, weight] : set) {
      tokens.push_back(token);
      weights.push_back(weight);
      total += weight;
    }
    std::vector<uint32_t> &equal = rows_of_set[set];
    RC_ASSERT(add(copies, tokens, type, weights) == (total == 0 || equal.size() < 2));
    if (total > 0) equal.push_back(row);
  }
  copies.finish();
  const SetFamilies families = copies.families();
  for (const auto &[set, equal] : rows_of_set)
    for (size_t i = 0; i < equal.size(); ++i) {
      const uint32_t family = families.count == 0 ? SetFamilies::none : families.of_row[equal[i]];
      RC_ASSERT((family == SetFamilies::none) == (i == 0 || equal.size() == 2));
      if (family == SetFamilies::none) continue;
      RC_ASSERT(family == families.of_row[equal.back()]);
      RC_ASSERT(families.similarities[family] == 1.0);
    }
}

TEST(SetCopies, ManySetsAndOneThatRepeats) {
  MemoryCounter memory;
  SetCopies copies(Measure::jaccard, 0.5, enough_memory, memory);
  constexpr int32_t rows = 30000;
  size_t joined = 0;
  for (int32_t row = 0; row < rows; ++row)
    joined += add(copies, row % 3 == 0 ? Tokens{-7, -8} : Tokens{row, row + 1}, 0);
  EXPECT_EQ(joined, size_t{rows} * 2 / 3 + 2);
  EXPECT_EQ(copies.families().count, 1u);
}

// A session looks for interrupts between two rows, so a table of millions of sets must grow little by little.
TEST(SetCopies, NoRowTakesLong) {
  constexpr std::chrono::milliseconds short_call{40};
  std::chrono::nanoseconds longest = short_call;
  // Other work of the machine may sometimes lengthen a call.
  for (int run = 0; run < 3 && longest >= short_call; ++run) {
    MemoryCounter memory;
    SetCopies copies(Measure::jaccard, 0.5, enough_memory, memory);
    longest = {};
    for (int32_t row = 0; row < 6'000'000; row += 1000) {
      longest = std::max(longest, time_of([&] {
                           for (int32_t i = row; i < row + 1000; ++i)
                             copies.add(std::span<const int32_t>(&i, 1));
                         }));
    }
  }
  EXPECT_LT(longest, short_call);
}

// ---- Giving up ----

int asked = 0, most_asked = 0;

// Adds a set while the caller gives up each call that asks more than `most` times.
bool given_up(SetCopies &copies, std::span<const int32_t> set, int most) {
  asked = 0;
  most_asked = most;
  set_interruption([] { return ++asked > most_asked; });
  bool cancelled = false;
  try {
    copies.add(set);
  } catch (const Cancelled &) {
    cancelled = true;
  }
  set_interruption(nullptr);
  return cancelled;
}

TEST(SetCopies, AHugeSetIsGivenUp) {
  std::vector<int32_t> set(size_t{1} << 20);
  std::iota(set.rbegin(), set.rend(), 0);
  constexpr int in_a_pass = 15;  // times that a set is asked about
  const auto copies_of = [&](size_t rows, MemoryCounter &memory) {
    SetCopies copies(Measure::jaccard, 0.5, enough_memory, memory);
    for (size_t row = 0; row < rows; ++row) copies.add(std::span<const int32_t>(set));
    return copies;
  };
  MemoryCounter memory;
  SetCopies first = copies_of(0, memory), third = copies_of(2, memory), other = copies_of(2, memory);
  EXPECT_TRUE(given_up(first, set, in_a_pass - 1));
  EXPECT_TRUE(given_up(third, set, 2 * in_a_pass));  // compared, then measured, for which it is sorted
  std::reverse(set.begin(), set.end());
  EXPECT_TRUE(given_up(other, set, in_a_pass));  // compared with those in another order
}

// Once in 65,536 tokens at least, in each pass over them.
template <typename Token>
void expect_to_ask(const std::vector<Token> &set) {
  MemoryCounter memory;
  SetCopies copies(Measure::jaccard, 0.5, enough_memory, memory);
  const int passes[] = {1, 1, 3};  // hashed; hashed, then kept; hashed, compared and measured
  for (const int pass : passes)
    EXPECT_GE(times_asked([&] { copies.add(std::span<const Token>(set)); }), pass * 16 - 4) << pass;
}

TEST(SetCopies, AskWhileTheyTakeAHugeSet) {
  std::vector<int64_t> integers(size_t{1} << 20);
  std::iota(integers.begin(), integers.end(), 0);
  expect_to_ask(integers);
  std::vector<std::string> texts;
  for (const int64_t i : integers) texts.push_back(std::to_string(i));
  expect_to_ask(std::vector<std::string_view>(texts.begin(), texts.end()));
}

// Most copies are single ones. Sorting asks some twenty times as often as a pass.
TEST(SetCopies, ASetThatComesTwiceIsNotSorted) {
  std::vector<int64_t> set(size_t{1} << 20);
  std::iota(set.rbegin(), set.rend(), 0);
  MemoryCounter memory;
  SetCopies copies(Measure::jaccard, 0.5, enough_memory, memory);
  for (int row = 0; row < 2; ++row)
    EXPECT_LT(times_asked([&] { copies.add(std::span<const int64_t>(set)); }), 4 * 16) << row;
}

TEST(SetCopies, KeepsToItsMemory) {
  MemoryCounter memory;
  constexpr size_t limit = size_t{1} << 20;
  SetCopies copies(Measure::jaccard, 0.5, limit, memory);
  for (int32_t row = 0; row < 300000; ++row) add(copies, Tokens{row / 2, row / 2 + 1, -1}, 0);
  EXPECT_GT(memory.peak(), limit / 2);
  EXPECT_LT(memory.peak(), 2 * limit + 300000 * sizeof(uint32_t) * 5 / 4);
}

}  // namespace
}  // namespace simjoin::test
