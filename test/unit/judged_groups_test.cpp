// Groups of duplicates that keep to verdicts, against a naive grouping.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>
#include <vector>

#include "core/dedup/judged_groups.hpp"
#include "core/graph/random.hpp"

namespace simjoin::test {
namespace {

struct JudgedPair {
  uint32_t a;
  uint32_t b;
  double similarity;
};

struct JudgedRows {
  uint32_t count = 0;
  std::vector<uint32_t> places;
  std::vector<JudgedPair> pairs, same, different;
};

struct Judged {
  std::vector<uint32_t> representatives;
  std::vector<double> similarities;
  uint64_t contradictions;
  uint64_t refused;
};

JudgedRows any_judged_rows(uint64_t seed) {
  WalkRandom random(seed, 1);
  JudgedRows rows;
  rows.count = static_cast<uint32_t>(1 + random.below(12));
  const uint64_t density = 10 + random.below(60), verdicts = random.below(20);
  for (uint32_t a = 0; a < rows.count; ++a) {
    for (uint32_t b = 0; b < a; ++b) {
      JudgedPair pair = {a, b, 0.5 + static_cast<double>(random.below(5)) / 10};
      if (random.below(2) != 0) std::swap(pair.a, pair.b);
      if (random.below(100) < density) rows.pairs.push_back(pair);
      if (random.below(100) < verdicts) rows.same.push_back(pair);
      if (random.below(100) < verdicts) rows.different.push_back(pair);
    }
  }
  rows.places.resize(rows.count);
  std::iota(rows.places.begin(), rows.places.end(), 0u);
  for (uint32_t i = rows.count; i > 1; --i) std::swap(rows.places[i - 1], rows.places[random.below(i)]);
  for (size_t i = rows.pairs.size(); i > 1; --i) std::swap(rows.pairs[i - 1], rows.pairs[random.below(i)]);
  return rows;
}

Judged judge(const JudgedRows &rows) {
  MemoryCounter memory;
  JudgedGrouper grouper(rows.places.data(), rows.count, memory);
  for (const JudgedPair &pair : rows.pairs) grouper.add_pair(pair.a, pair.b, pair.similarity);
  for (const JudgedPair &pair : rows.same) grouper.add_verdict(pair.a, pair.b, true);
  for (const JudgedPair &pair : rows.different) grouper.add_verdict(pair.a, pair.b, false);
  StopFlag stop;
  WorkerPool pool(1, stop);
  const DuplicateGroups groups = grouper.groups(pool);
  return {{groups.representatives.begin(), groups.representatives.end()},
          {groups.similarities.begin(), groups.similarities.end()},
          grouper.report().contradictions,
          grouper.report().refused};
}

// Groups rows by trying one pair after the other, with a label for each row.
class NaiveJudge {
 public:
  explicit NaiveJudge(const JudgedRows &rows) : rows_(rows), labels_(rows.count) {
    std::iota(labels_.begin(), labels_.end(), 0u);
  }

  Judged groups() {
    Judged result = {{}, std::vector<double>(rows_.count, -1), 0, 0};
    for (const JudgedPair &pair : in_order(rows_.same))
      if (!unite(pair)) ++result.contradictions;
    for (const JudgedPair &pair : in_order(rows_.pairs)) {
      if (!unite(pair)) {
        ++result.refused;
        continue;
      }
      for (const uint32_t row : {pair.a, pair.b})
        result.similarities[row] = std::max(result.similarities[row], pair.similarity);
    }
    for (uint32_t row = 0; row < rows_.count; ++row) {
      uint32_t first = row;
      for (uint32_t other = 0; other < rows_.count; ++other)
        if (labels_[other] == labels_[row] && rows_.places[other] < rows_.places[first]) first = other;
      result.representatives.push_back(first);
      if (first == row) result.similarities[row] = -1;
    }
    return result;
  }

 private:
  std::vector<JudgedPair> in_order(std::vector<JudgedPair> pairs) const {
    std::sort(pairs.begin(), pairs.end(),
              [this](const JudgedPair &a, const JudgedPair &b) { return key(a) < key(b); });
    return pairs;
  }
  std::tuple<double, uint32_t, uint32_t> key(const JudgedPair &pair) const {
    const uint32_t one = rows_.places[pair.a], other = rows_.places[pair.b];
    return {-pair.similarity, std::min(one, other), std::max(one, other)};
  }
  bool unite(const JudgedPair &pair) {
    const uint32_t one = labels_[pair.a], other = labels_[pair.b];
    for (const JudgedPair &apart : rows_.different) {
      const std::set<uint32_t> labels = {labels_[apart.a], labels_[apart.b]};
      if (one != other && labels == std::set<uint32_t>{one, other}) return false;
    }
    std::replace(labels_.begin(), labels_.end(), other, one);
    return true;
  }

  const JudgedRows &rows_;
  std::vector<uint32_t> labels_;
};

TEST(JudgedGroups, AreThoseOfOnePairAfterTheOther) {
  uint64_t contradictions = 0, refused = 0;
  for (uint64_t seed = 0; seed < 3'000; ++seed) {
    SCOPED_TRACE(seed);
    JudgedRows rows = any_judged_rows(seed);
    const Judged judged = judge(rows);
    for (JudgedPair &pair : rows.same) pair.similarity = 1;  // verdicts have no similarity, but an order
    const Judged naive = NaiveJudge(rows).groups();
    ASSERT_EQ(judged.representatives, naive.representatives);
    ASSERT_EQ(judged.similarities, naive.similarities);
    ASSERT_EQ(judged.contradictions, naive.contradictions);
    ASSERT_EQ(judged.refused, naive.refused);
    for (const JudgedPair &pair : rows.different)
      ASSERT_NE(judged.representatives[pair.a], judged.representatives[pair.b]);
    contradictions += judged.contradictions;
    refused += judged.refused;
  }
  EXPECT_GT(contradictions, 100u);
  EXPECT_GT(refused, 100u);
}

TEST(JudgedGroups, AreComponentsWithoutVerdicts) {
  for (uint64_t seed = 0; seed < 1'000; ++seed) {
    SCOPED_TRACE(seed);
    JudgedRows rows = any_judged_rows(seed);
    rows.same.clear();
    rows.different.clear();
    const Judged judged = judge(rows);
    MemoryCounter memory;
    DuplicateGrouper grouper(Grouping::components, rows.places.data(), rows.count, memory);
    for (const JudgedPair &pair : rows.pairs) grouper.add_pair(pair.a, pair.b, pair.similarity);
    StopFlag stop;
    WorkerPool pool(1, stop);
    const DuplicateGroups groups = grouper.groups(pool);
    ASSERT_TRUE(std::equal(groups.representatives.begin(), groups.representatives.end(),
                           judged.representatives.begin()));
    ASSERT_TRUE(
        std::equal(groups.similarities.begin(), groups.similarities.end(), judged.similarities.begin()));
  }
}

TEST(JudgedGroups, ARowIsNotDifferentFromItself) {
  MemoryCounter memory;
  const uint32_t places[] = {1, 0};
  JudgedGrouper grouper(places, 2, memory);
  for (const bool same : {true, false, false}) grouper.add_verdict(1, 1, same);
  grouper.add_pair(0, 1, 0.5);
  StopFlag stop;
  WorkerPool pool(1, stop);
  const DuplicateGroups groups = grouper.groups(pool);
  EXPECT_EQ(groups.representatives[0], 1u);
  EXPECT_EQ(grouper.report().of_one_row, 2u);
  EXPECT_EQ(grouper.report().contradictions, 0u);
}

TEST(JudgedGroups, TheWeakestPairOfAChainIsLeftOut) {
  const JudgedRows rows = {4, {0, 1, 2, 3}, {{0, 1, 0.7}, {1, 2, 0.6}, {2, 3, 0.9}}, {}, {{0, 3, 0}}};
  EXPECT_EQ(judge(rows).representatives, (std::vector<uint32_t>{0, 0, 2, 2}));
}

}  // namespace
}  // namespace simjoin::test
