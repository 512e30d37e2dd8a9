// The parts that sets of a distributed join go to: each pair meets once.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/base/error.hpp"
#include "core/measure.hpp"
#include "core/routing/parts.hpp"

namespace simjoin::test {
namespace {

// A set as the routed table has it: its parts, the first one being copy number 1.
struct Routed {
  int64_t id;
  uint32_t size;
  std::vector<uint32_t> parts;
};

std::vector<uint32_t> home_first(const PartRange &range) {
  std::vector<uint32_t> parts = {range.home};
  for (uint32_t part = range.first; part <= range.last; ++part)
    if (part != range.home) parts.push_back(part);
  return parts;
}

std::vector<uint32_t> parts_of_group(uint32_t group, uint32_t parts) {
  std::vector<uint32_t> result;
  for (const uint16_t step : difference_set(parts)) result.push_back((group + step) % parts);
  return result;
}

// Counts the rows of a join on part = part with this condition on the copies' numbers (from 1) and the ids.
template <class Condition>
int meetings(const Routed &a, const Routed &b, Condition &&condition) {
  int count = 0;
  for (size_t i = 0; i < a.parts.size(); ++i)
    for (size_t j = 0; j < b.parts.size(); ++j)
      count += a.parts[i] == b.parts[j] && condition(i + 1, j + 1) ? 1 : 0;
  return count;
}

TEST(PartsById, AnyTwoGroupsMeetOnce) {
  for (const uint32_t parts : part_numbers_by_id())
    for (uint32_t g = 0; g < parts; ++g) {
      const Routed a = {0, 0, parts_of_group(g, parts)};
      for (const uint32_t part : a.parts) EXPECT_LT(part, parts);
      for (uint32_t h = 0; h < parts; ++h) {
        const Routed b = {1, 0, parts_of_group(h, parts)};
        ASSERT_EQ(meetings(a, b, [](size_t n, size_t m) { return n != m || n == 1; }), 1)
            << parts << " parts, groups " << g << " and " << h;
      }
    }
}

TEST(PartsById, OtherNumbersOfPartsAreRefused) {
  for (const int64_t parts : {-1, 0, 2, 4, 16, 274, INT32_MAX}) EXPECT_THROW(difference_set(parts), Error);
}

// The routed tables of users hold these.
TEST(PartsById, GroupsAreTheSameForGood) {
  std::vector<uint32_t> groups;
  for (const int64_t id : {int64_t{0}, int64_t{1}, int64_t{-1}, INT64_MAX, INT64_MIN})
    groups.push_back(group_of_id(id, 1000));
  EXPECT_EQ(groups, (std::vector<uint32_t>{883, 566, 893, 165, 281}));
}

TEST(PartsById, GroupsAreOfOneSize) {
  std::vector<int> members(13);
  for (int64_t id = 0; id < 13000; ++id) ++members[group_of_id(id, 13)];
  for (const int count : members) EXPECT_NEAR(count, 1000, 150);
}

std::vector<SizeCount> any_sizes() {
  std::vector<SizeCount> sizes(*rc::gen::inRange<size_t>(0, 30));
  for (SizeCount &some : sizes)
    some = {*rc::gen::inRange<uint32_t>(0, 40), static_cast<double>(*rc::gen::inRange(0, 1000))};
  return sizes;
}

RC_GTEST_PROP(PartsBySize, PairsMeetOnce, ()) {
  const auto measure = *rc::gen::element(Measure::jaccard, Measure::cosine, Measure::dice, Measure::overlap,
                                         Measure::overlap_coefficient);
  const double threshold =
      measure == Measure::overlap ? *rc::gen::element(1.0, 3.0) : *rc::gen::element(0.1, 0.5, 0.8, 0.9, 1.0);
  const Bounds bounds(measure, threshold);
  std::vector<SizeCount> sizes = any_sizes();
  const auto cuts = cuts_by_size(sizes, *rc::gen::element<uint32_t>(1, 2, 16, 64));
  RC_ASSERT(std::is_sorted(cuts.begin(), cuts.end()));
  std::vector<Routed> forward(60), both(60);
  for (int64_t id = 0; id < 60; ++id) {
    const auto size = *rc::gen::inRange<uint32_t>(0, 40);
    forward[id] = {id, size, home_first(parts_by_size(size, id, bounds, cuts, false))};
    both[id] = {id, size, home_first(parts_by_size(size, id, bounds, cuts, true))};
    for (const uint32_t part : both[id].parts) RC_ASSERT(part <= cuts.size());
  }
  for (const Routed &a : forward)
    for (const Routed &b : forward) {
      if (a.id >= b.id) continue;
      const auto count = [&](const Routed &l, const Routed &r) {
        return meetings(l, r, [&](size_t n, size_t m) { return n == 1 && (m > 1 || l.id < r.id); });
      };
      const int met = count(a, b) + count(b, a);
      const bool possible = bounds.satisfied(std::min(a.size, b.size), a.size, b.size);
      if (possible)
        RC_ASSERT(met == 1);
      else
        RC_ASSERT(met <= 1);
      // Both ways: each set meets the other at home.
      const Routed &a2 = both[a.id], &b2 = both[b.id];
      const auto at_home = [](size_t n, size_t) { return n == 1; };
      RC_ASSERT(!possible || meetings(a2, b2, at_home) == 1);
      RC_ASSERT(!possible || meetings(b2, a2, at_home) == 1);
    }
}

TEST(PartsBySize, CutsBalanceTokens) {
  std::vector<SizeCount> sizes;
  for (uint32_t size = 1; size <= 100; ++size) sizes.push_back({size, 100000.0 / size});
  sizes.push_back({7, 500000});  // a size that takes several parts
  std::reverse(sizes.begin(), sizes.end());
  const auto cuts = cuts_by_size(sizes, 16);
  std::vector<double> tokens(16);
  double all = 0;
  int64_t id = 0;
  for (const SizeCount &some : sizes)
    for (int i = 0; i < some.count; ++i) {
      tokens[parts_by_size(some.size, ++id, {Measure::jaccard, 1.0}, cuts, false).home] += some.size;
      all += some.size;
    }
  for (const double part : tokens) EXPECT_NEAR(part / all, 1.0 / 16, 0.002);
}

TEST(PartsBySize, OddInput) {
  EXPECT_EQ(cuts_by_size({}, 4).size(), 3u);
  EXPECT_TRUE(cuts_by_size({}, 1).empty());
  std::vector<SizeCount> empty_sets = {{0, 10}};
  EXPECT_EQ(cuts_by_size(empty_sets, 4).size(), 3u);
  std::vector<SizeCount> most = {{INT32_MAX, 9e18}, {1, 9e18}};
  const auto cuts = cuts_by_size(most, 1000);
  EXPECT_TRUE(std::is_sorted(cuts.begin(), cuts.end()));
  const PartRange range = parts_by_size(INT32_MAX, 1, {Measure::jaccard, 0.1}, cuts, true);
  EXPECT_LE(range.last, 999u);
  EXPECT_EQ(range.first, 0u);
}

}  // namespace
}  // namespace simjoin::test
