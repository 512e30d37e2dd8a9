// Right rows by descending similarity, for one left row after the other.
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "core/nearest/key_search.hpp"
#include "core/nearest/nearest_join.hpp"
#include "core/set_slices.hpp"

namespace simjoin::test {
namespace {

using NearSet = std::vector<int64_t>;

constexpr NearestOrder near_orders[] = {
    {Measure::jaccard, false},       {Measure::jaccard, true},
    {Measure::cosine, false},        {Measure::dice, false},
    {Measure::overlap, false},       {Measure::overlap_coefficient, false},
    {Measure::containment, false},   {Measure::reverse_containment, false},
    {Measure::jaccard, false, true}, {Measure::jaccard, true, true}};

struct NearPair {
  double score;
  uint32_t row;
  uint32_t overlap;
  bool operator==(const NearPair &) const = default;
};

std::ostream &operator<<(std::ostream &out, const NearPair &pair) {
  return out << pair.score << " row " << pair.row << " shares " << pair.overlap;
}

// Sets of tokens of which some are frequent. A few are empty, and tokens repeat.
std::vector<NearSet> near_sets(size_t count, uint32_t largest, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<NearSet> sets(count);
  for (NearSet &set : sets) {
    set.resize(random() % (largest + 1));
    for (int64_t &token : set) token = random() % (1 + random() % 60);
  }
  return sets;
}

template <typename Number>
void add_numbers(RowSearch &join, Side side, const NearSet &set) {
  const std::vector<Number> tokens(set.begin(), set.end());
  const auto size = static_cast<uint32_t>(tokens.size());
  join.add(side, row_of(std::span<const Number>(tokens), size));
}

void add_texts(RowSearch &join, Side side, const NearSet &set) {
  TextPacker packer;
  std::vector<std::string> texts;
  for (const int64_t token : set) texts.push_back("token " + std::to_string(token));
  for (const std::string &text : texts) packer.add(text);
  const PackedTexts packed = packer.texts();
  join.add(side, row_of(packed));
}

NearSet distinct(NearSet set) {
  std::sort(set.begin(), set.end());
  set.erase(std::unique(set.begin(), set.end()), set.end());
  return set;
}

// Returns the pairs of a left row that share tokens, in order.
std::vector<NearPair> pairs_of(const NearestOrder &order, const NearSet &left,
                               const std::vector<NearSet> &rights, double least) {
  const NearSet l = distinct(left);
  std::vector<NearPair> pairs;
  for (uint32_t row = 0; row < rights.size(); ++row) {
    const NearSet r = distinct(rights[row]);
    NearSet shared;
    std::set_intersection(l.begin(), l.end(), r.begin(), r.end(), std::back_inserter(shared));
    const double score = order.score(static_cast<int64_t>(shared.size()), static_cast<int64_t>(l.size()),
                                     static_cast<int64_t>(r.size()));
    if (!shared.empty() && score >= least)
      pairs.push_back({score, row, static_cast<uint32_t>(shared.size())});
  }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const NearPair &a, const NearPair &b) { return a.score > b.score; });
  return pairs;
}

// Steps to the end, or until there are `most` pairs.
std::vector<NearPair> found_pairs(NearestJoin &join, const NearestOrder &order, size_t most) {
  std::vector<NearPair> pairs;
  Batch batch;
  while (pairs.size() < most && join.step({}, batch) == StepResult::batch)
    for (size_t i = 0; i < batch.size(); ++i) {
      EXPECT_EQ(batch.left[i], 0U);
      pairs.push_back({order.score(batch.overlap[i], join.set_size(Side::left, 0),
                                   join.set_size(Side::right, batch.right[i])),
                       batch.right[i], batch.overlap[i]});
    }
  return pairs;
}

template <typename Add>
void compare_with_all(const std::vector<NearSet> &lefts, const std::vector<NearSet> &rights, Add add) {
  for (const NearestOrder &order : near_orders) {
    NearestJoin join(order);
    for (const NearSet &set : rights) add(join, Side::right, set);
    join.index(StopFlag());
    uint32_t pairs = 1;
    for (const NearSet &set : lefts) {
      pairs = pairs % 7 + 1;
      const double any = order.score(0, 1, 1);
      const double least = pairs % 3 == 0 ? order.score(2, 3, 4) : any;
      const std::vector<NearPair> expected = pairs_of(order, set, rights, least);
      add(join, Side::left, set);
      join.limit(pairs, least);
      ASSERT_EQ(found_pairs(join, order, SIZE_MAX), expected) << measure_name(order.measure);
      // The first batch alone.
      add(join, Side::left, set);
      join.limit(pairs, least);
      std::vector<NearPair> first = expected;
      first.resize(std::min<size_t>(pairs, first.size()));
      ASSERT_EQ(found_pairs(join, order, 1), first) << measure_name(order.measure);
      const std::vector<NearPair> sharing = pairs_of(order, set, rights, any);
      for (uint32_t row = 0; row < rights.size(); ++row)
        ASSERT_EQ(join.shares_tokens(row),
                  std::any_of(sharing.begin(), sharing.end(), [&](auto &pair) { return pair.row == row; }));
    }
  }
}

TEST(Nearest, RowsComeInOrder) {
  compare_with_all(near_sets(60, 12, 1), near_sets(400, 12, 2), add_numbers<int32_t>);
  compare_with_all(near_sets(30, 12, 3), near_sets(200, 12, 4), add_numbers<int64_t>);
  compare_with_all(near_sets(30, 12, 5), near_sets(200, 12, 6), add_texts);
}

TEST(Nearest, SetsOfManySizes) {
  std::vector<NearSet> sets = near_sets(40, 90, 7);
  for (const size_t size : {65535U, 65536U, 66000U}) {
    NearSet set(size);
    for (size_t i = 0; i < size; ++i) set[i] = static_cast<int64_t>(i / 2 * 3 + i % 2);
    sets.push_back(std::move(set));
  }
  std::vector<NearSet> lefts = near_sets(3, 90, 8);
  lefts.push_back(sets.back());
  compare_with_all(lefts, sets, add_numbers<int32_t>);
}

// Sets of about these sizes, whose tokens are among `tokens`: many rows have as many in common.
std::vector<NearSet> sets_of_sizes(std::initializer_list<uint32_t> sizes, uint32_t tokens, size_t count,
                                   uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<NearSet> sets;
  for (size_t i = 0; i < count; ++i)
    for (const uint32_t size : sizes) {
      NearSet set(tokens);
      std::iota(set.begin(), set.end(), 0);
      std::shuffle(set.begin(), set.end(), random);
      set.resize(std::min(size, tokens));
      sets.push_back(std::move(set));
    }
  return sets;
}

// Sizes at the borders of vectors, of blocks of entries and of what a signature holds.
TEST(Nearest, SizesAtBorders) {
  compare_with_all(sets_of_sizes({0, 1, 31, 32, 33}, 80, 2, 9),
                   sets_of_sizes({0, 1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65}, 80, 12, 10),
                   add_numbers<int32_t>);
  compare_with_all(sets_of_sizes({3, 254, 255, 256}, 300, 1, 11),
                   sets_of_sizes({1, 3, 253, 254, 255, 256, 257, 300}, 300, 5, 12), add_numbers<int64_t>);
}

// Lists are of several blocks, and rows that are as near come by row.
TEST(Nearest, ManyRowsAreAsNear) {
  compare_with_all(sets_of_sizes({2, 4}, 9, 4, 13), sets_of_sizes({1, 2, 3, 5}, 9, 300, 14),
                   add_numbers<int32_t>);
}

TEST(Nearest, WithoutRows) {
  NearestJoin join(near_orders[0]);
  join.index(StopFlag());
  add_numbers<int32_t>(join, Side::left, {1, 2});
  Batch batch;
  EXPECT_EQ(join.step({}, batch), StepResult::done);
}

// ---- Rows that share a key ----

template <typename Add>
void compare_keys(const std::vector<NearSet> &lefts, const std::vector<NearSet> &rights, Add add) {
  KeySearch search;
  for (const NearSet &set : rights) add(search, Side::right, set);
  search.index(StopFlag());
  for (const NearSet &set : lefts) {
    std::vector<uint32_t> expected;
    for (const NearPair &pair : pairs_of(near_orders[4], set, rights, 0)) expected.push_back(pair.row);
    std::sort(expected.begin(), expected.end());
    add(search, Side::left, set);
    Batch batch;
    std::vector<uint32_t> found;
    while (search.step({}, batch) == StepResult::batch)
      found.insert(found.end(), batch.right.begin(), batch.right.end());
    ASSERT_EQ(found, expected);
    for (uint32_t row = 0; row < rights.size(); ++row)
      ASSERT_EQ(search.shares_tokens(row), std::binary_search(expected.begin(), expected.end(), row));
  }
  EXPECT_LE(search.stats().memory_peak,
            KeySearch::bytes_of(rights.size(), 2 * search.stats().tokens[1] + 16));
}

TEST(Nearest, RowsThatShareAKey) {
  compare_keys(near_sets(60, 12, 1), near_sets(400, 12, 2), add_numbers<int32_t>);
  compare_keys(near_sets(30, 3, 3), near_sets(200, 3, 4), add_numbers<int64_t>);
  compare_keys(near_sets(30, 12, 5), near_sets(200, 2, 6), add_texts);
  compare_keys(near_sets(3, 12, 5), {}, add_texts);
}

}  // namespace
}  // namespace simjoin::test
