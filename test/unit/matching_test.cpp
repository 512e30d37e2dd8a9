// Matches of rows, against definitions and against searches that are simple.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "core/base/error.hpp"
#include "core/matching/match_finder.hpp"

namespace simjoin::test {
namespace {

struct MatchPair {
  int64_t left;
  int64_t right;
  double similarity;

  auto operator<=>(const MatchPair &) const = default;
};

using MatchPairs = std::vector<MatchPair>;

__extension__ using Sum = __int128;

// Exact for similarities of at most 1 that are multiples of 2^-110.
Sum exact(double similarity) {
  int exponent = 0;
  const auto mantissa = static_cast<int64_t>(std::ldexp(std::frexp(similarity, &exponent), 53));
  const int shift = 110 + exponent - 53;
  return shift >= 0 ? Sum{mantissa} << shift : Sum{mantissa} >> -shift;
}

Sum total(const MatchPairs &pairs) {
  Sum sum = 0;
  for (const MatchPair &pair : pairs) sum += exact(pair.similarity);
  return sum;
}

struct Found {
  MatchPairs pairs;
  size_t greedy_components;
};

Found find_matches(const MatchPairs &pairs, MatchMethod method, int workers = 1,
                   uint64_t most_looked_at = most_pairs_looked_at) {
  MemoryCounter memory;
  const StopFlag never;
  WorkerPool pool(workers, never);
  Found found;
  {
    MatchFinder finder(method, memory, most_looked_at);
    for (const MatchPair &pair : pairs) finder.add(pair.left, pair.right, pair.similarity);
    const Matches matches = finder.matches(pool);
    for (size_t i = 0; i < matches.left.size(); ++i)
      found.pairs.push_back({matches.left[i], matches.right[i], matches.similarities[i]});
    found.greedy_components = matches.greedy_components;
  }
  EXPECT_EQ(memory.current(), 0u);
  return found;
}

// Random pairs, some of them repeated, whose similarities have many ties, or few.
MatchPairs any_pairs(int rows, size_t most) {
  const auto rights = *rc::gen::inRange(1, rows + 1);
  const auto scale = *rc::gen::element(4, 1000, 1 << 30);
  const auto spread = *rc::gen::element<int64_t>(1, 1'000'000'007, int64_t{1} << 55);
  MatchPairs pairs(*rc::gen::inRange<size_t>(0, most));
  for (MatchPair &pair : pairs)
    pair = {*rc::gen::inRange(-rows / 2, rows - rows / 2) * spread, *rc::gen::inRange(0, rights) * spread,
            static_cast<double>(*rc::gen::inRange(0, scale + 1)) / scale};
  return pairs;
}

// The greatest similarity of each pair.
std::map<std::pair<int64_t, int64_t>, double> distinct_pairs(const MatchPairs &pairs) {
  std::map<std::pair<int64_t, int64_t>, double> distinct;
  for (const MatchPair &pair : pairs) {
    double &similarity = distinct.emplace(std::pair(pair.left, pair.right), pair.similarity).first->second;
    similarity = std::max(similarity, pair.similarity);
  }
  return distinct;
}

// The pairs in the order in which they are taken.
MatchPairs by_similarity(const MatchPairs &pairs) {
  MatchPairs sorted = pairs;
  std::sort(sorted.begin(), sorted.end(), [](const MatchPair &a, const MatchPair &b) {
    return std::tuple(-a.similarity, a.left, a.right) < std::tuple(-b.similarity, b.left, b.right);
  });
  return sorted;
}

MatchPairs greedy_oracle(const MatchPairs &pairs) {
  std::set<int64_t> left, right;
  MatchPairs kept;
  for (const MatchPair &pair : by_similarity(pairs))
    if (!left.contains(pair.left) && !right.contains(pair.right)) {
      left.insert(pair.left);
      right.insert(pair.right);
      kept.push_back(pair);
    }
  std::sort(kept.begin(), kept.end());
  return kept;
}

MatchPairs best_oracle(const MatchPairs &pairs, bool mutual) {
  std::map<int64_t, MatchPair> of_left, of_right;
  for (const MatchPair &pair : by_similarity(pairs)) {
    of_left.emplace(pair.left, pair);
    of_right.emplace(pair.right, pair);
  }
  MatchPairs kept;
  for (const auto &[left, pair] : of_left)
    if (!mutual || of_right.at(pair.right).left == left) kept.push_back(pair);
  return kept;
}

// The greatest sum over all ways to match the rows from `left` on with rights that are free.
Sum greatest_sum(const std::vector<std::map<int64_t, double>> &partners, size_t left,
                 std::set<int64_t> &taken) {
  if (left == partners.size()) return 0;
  Sum greatest = greatest_sum(partners, left + 1, taken);
  for (const auto &[right, similarity] : partners[left])
    if (taken.insert(right).second) {
      greatest = std::max(greatest, exact(similarity) + greatest_sum(partners, left + 1, taken));
      taken.erase(right);
    }
  return greatest;
}

Sum greatest_sum(const MatchPairs &pairs) {
  std::map<int64_t, std::map<int64_t, double>> by_left;
  for (const auto &[ids, similarity] : distinct_pairs(pairs)) by_left[ids.first][ids.second] = similarity;
  std::vector<std::map<int64_t, double>> partners;
  for (const auto &[left, rights] : by_left) partners.push_back(rights);
  std::set<int64_t> taken;
  return greatest_sum(partners, 0, taken);
}

// The Hungarian algorithm over a square matrix of costs, in cubic time. Returns the least sum.
Sum hungarian(const std::vector<std::vector<Sum>> &costs) {
  const size_t n = costs.size();
  std::vector<Sum> row_potential(n + 1), column_potential(n + 1);
  std::vector<size_t> row_of(n + 1), before(n + 1);
  for (size_t row = 1; row <= n; ++row) {
    row_of[0] = row;
    size_t column = 0;
    std::vector<Sum> slack(n + 1, Sum{1} << 125);
    std::vector<bool> used(n + 1);
    do {
      used[column] = true;
      size_t next = 0;
      Sum least = Sum{1} << 125;
      for (size_t j = 1; j <= n; ++j) {
        if (used[j]) continue;
        const Sum reduced =
            costs[row_of[column] - 1][j - 1] - row_potential[row_of[column]] - column_potential[j];
        if (reduced < slack[j]) slack[j] = reduced, before[j] = column;
        if (slack[j] < least) least = slack[j], next = j;
      }
      for (size_t j = 0; j <= n; ++j)
        if (used[j])
          row_potential[row_of[j]] += least, column_potential[j] -= least;
        else
          slack[j] -= least;
      column = next;
    } while (row_of[column] != 0);
    for (; column != 0; column = before[column]) row_of[column] = row_of[before[column]];
  }
  Sum sum = 0;
  for (size_t j = 1; j <= n; ++j) sum += costs[row_of[j] - 1][j - 1];
  return sum;
}

// Returns whether the matches are pairs, and no row is in two of them.
bool is_matching(const MatchPairs &matches, const MatchPairs &pairs) {
  const auto distinct = distinct_pairs(pairs);
  std::set<int64_t> left, right;
  return std::all_of(matches.begin(), matches.end(), [&](const MatchPair &match) {
    const auto pair = distinct.find({match.left, match.right});
    return pair != distinct.end() && pair->second == match.similarity && left.insert(match.left).second &&
           right.insert(match.right).second;
  });
}

RC_GTEST_PROP(Matching, BestMutualAndGreedyAsTheyAreDefined, ()) {
  const MatchPairs pairs = any_pairs(12, 60);
  RC_ASSERT(find_matches(pairs, MatchMethod::best).pairs == best_oracle(pairs, false));
  RC_ASSERT(find_matches(pairs, MatchMethod::mutual).pairs == best_oracle(pairs, true));
  RC_ASSERT(find_matches(pairs, MatchMethod::one_to_one).pairs == greedy_oracle(pairs));
}

RC_GTEST_PROP(Matching, AssignmentsHaveTheGreatestSumOfAll, ()) {
  const MatchPairs pairs = any_pairs(7, 25);
  const MatchPairs matches = find_matches(pairs, MatchMethod::assignment).pairs;
  RC_ASSERT(is_matching(matches, pairs));
  RC_ASSERT(total(matches) == greatest_sum(pairs));
  RC_ASSERT(std::is_sorted(matches.begin(), matches.end()));
  RC_ASSERT(std::none_of(matches.begin(), matches.end(), [](auto &match) { return match.similarity == 0; }));
}

// Pairs among `rows` rows a side: a share of all pairs, of similarities with `steps` steps.
MatchPairs drawn_pairs(int rows, double share, int steps, std::mt19937 &random) {
  MatchPairs pairs;
  for (int left = 0; left < rows; ++left)
    for (int right = 0; right < rows; ++right)
      if (std::generate_canonical<double, 32>(random) < share)
        pairs.push_back({left, 1000 + right, static_cast<double>(1 + random() % steps) / steps});
  return pairs;
}

TEST(Matching, AssignmentsHaveTheSumOfTheHungarianAlgorithm) {
  std::mt19937 random(7);
  for (const int rows : {30, 90, 200})
    for (const double share : {0.02, 0.1, 0.6, 1.0})
      for (const int steps : {3, 97, 1 << 30}) {
        const MatchPairs pairs = drawn_pairs(rows, share, steps, random);
        std::vector<std::vector<Sum>> costs(rows, std::vector<Sum>(rows));
        for (const MatchPair &pair : pairs)
          costs[static_cast<size_t>(pair.left)][static_cast<size_t>(pair.right - 1000)] =
              -exact(pair.similarity);
        const Found found = find_matches(pairs, MatchMethod::assignment, 2);
        ASSERT_EQ(found.greedy_components, 0u);
        ASSERT_TRUE(is_matching(found.pairs, pairs));
        ASSERT_TRUE(total(found.pairs) == -hungarian(costs)) << rows << " " << share << " " << steps;
      }
}

TEST(Matching, SumsAreExact) {
  // Doubles add up to the same in both ways.
  const double tiny = std::ldexp(1, -60);
  const MatchPairs pairs = {{1, 1, 1}, {1, 2, 1}, {2, 1, tiny / 2}, {2, 2, tiny}};
  EXPECT_EQ(find_matches(pairs, MatchMethod::assignment).pairs, (MatchPairs{{1, 1, 1}, {2, 2, tiny}}));
  const MatchPairs turned = {{1, 1, 1}, {1, 2, 1}, {2, 1, tiny}, {2, 2, tiny / 2}};
  EXPECT_EQ(find_matches(turned, MatchMethod::assignment).pairs, (MatchPairs{{1, 2, 1}, {2, 1, tiny}}));
}

TEST(Matching, SimilaritiesOfAnySizeHaveWeights) {
  const double large = std::numeric_limits<double>::max(), least = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(find_matches({{1, 1, large}, {1, 2, large}, {2, 1, large / 2}}, MatchMethod::assignment).pairs,
            (MatchPairs{{1, 2, large}, {2, 1, large / 2}}));
  EXPECT_EQ(
      find_matches({{1, 1, 2 * least}, {1, 2, 2 * least}, {2, 1, least}}, MatchMethod::assignment).pairs,
      (MatchPairs{{1, 2, 2 * least}, {2, 1, least}}));
  // The least one counts as 0 beside the greatest of its component, and not beside those of others.
  EXPECT_EQ(find_matches({{1, 1, large}, {1, 2, 1}, {2, 2, least}}, MatchMethod::assignment).pairs,
            (MatchPairs{{1, 1, large}}));
  EXPECT_EQ(find_matches({{1, 1, large}, {2, 2, least}}, MatchMethod::assignment).pairs,
            (MatchPairs{{1, 1, large}, {2, 2, least}}));
  EXPECT_EQ(find_matches({{1, 1, 0}, {2, 2, -0.0}}, MatchMethod::assignment).pairs, MatchPairs());
  EXPECT_EQ(find_matches({{2, 2, -0.0}, {2, 1, 0}}, MatchMethod::one_to_one).pairs, (MatchPairs{{2, 1, 0}}));
}

TEST(Matching, NeitherOrderNorThreadsMatter) {
  std::mt19937 random(11);
  MatchPairs pairs;
  for (int block = 0; block < 300; ++block)  // many components, one of them large
    for (const MatchPair &pair : drawn_pairs(block == 17 ? 120 : 4, 0.5, 5, random))
      pairs.push_back({pair.left + 1000 * block, pair.right + 1000 * block, pair.similarity});
  for (const MatchMethod method :
       {MatchMethod::best, MatchMethod::mutual, MatchMethod::one_to_one, MatchMethod::assignment}) {
    const MatchPairs expected = find_matches(pairs, method).pairs;
    EXPECT_GT(expected.size(), 300u);
    for (const int workers : {1, 4}) {
      std::shuffle(pairs.begin(), pairs.end(), random);
      EXPECT_EQ(find_matches(pairs, method, workers).pairs, expected);
    }
  }
}

TEST(Matching, ComponentsThatTakeTooLongAreMatchedGreedily) {
  std::mt19937 random(13);
  MatchPairs pairs = drawn_pairs(40, 1, 1 << 30, random);
  const MatchPairs large = pairs;
  const MatchPairs small = {{5001, 1, 1}, {5001, 2, 1}, {5002, 1, 0.5}};
  pairs.insert(pairs.end(), small.begin(), small.end());
  const Found found = find_matches(pairs, MatchMethod::assignment, 2, 100);
  EXPECT_EQ(found.greedy_components, 1u);
  MatchPairs expected = greedy_oracle(large);
  EXPECT_LT(total(expected), total(find_matches(large, MatchMethod::assignment).pairs));
  expected.insert(expected.end(), {{5001, 2, 1}, {5002, 1, 0.5}});
  EXPECT_EQ(found.pairs, expected);
}

TEST(Matching, RefusesWhatIsNoSimilarity) {
  for (const double similarity : {-0.5, std::nan(""), std::numeric_limits<double>::infinity()}) {
    MemoryCounter memory;
    MatchFinder finder(MatchMethod::best, memory);
    try {
      finder.add(3, -4, similarity);
      FAIL();
    } catch (const Error &error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      EXPECT_NE(std::string(error.what()).find("the similarity of a pair is "), std::string::npos);
    }
  }
}

TEST(Matching, RefusesToTakeMoreMemory) {
  const StopFlag never;
  WorkerPool pool(1, never);
  for (const MatchMethod method : {MatchMethod::best, MatchMethod::assignment}) {
    MemoryCounter memory;
    memory.set_limit(size_t{4} << 20, {"the matches need", "leave pairs out"});
    MatchFinder finder(method, memory);
    // A best match takes memory for each row, and the other methods for each pair.
    const auto add_pairs = [&] {
      for (int64_t i = 0; i < 300'000; ++i) finder.add(i % 100, i % 64, 0.5);
      finder.matches(pool);
    };
    if (method == MatchMethod::best) {
      add_pairs();
      continue;
    }
    try {
      add_pairs();
      FAIL();
    } catch (const Error &error) {
      EXPECT_EQ(error.kind(), ErrorKind::memory_limit_exceeded);
    }
  }
}

TEST(Matching, StopsPromptly) {
  // The costs of this matrix make every search long.
  MemoryCounter memory;
  MatchFinder finder(MatchMethod::assignment, memory, UINT64_MAX);
  constexpr int rows = 1500;
  for (int left = 1; left <= rows; ++left)
    for (int right = 1; right <= rows; ++right) finder.add(left, right, left * right);
  StopFlag stop;
  WorkerPool pool(1, stop);
  std::thread stopping = start_thread([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    stop.set();
  });
  EXPECT_THROW(finder.matches(pool), Cancelled);
  stopping.join();
}

}  // namespace
}  // namespace simjoin::test
