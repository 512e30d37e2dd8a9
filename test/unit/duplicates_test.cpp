// Groups of duplicates: the guarantees of each method, against naive groupings of random graphs.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "core/dedup/duplicate_groups.hpp"
#include "core/dedup/id_order.hpp"
#include "core/graph/random.hpp"
#include "unit/times_asked.hpp"

namespace simjoin::test {
namespace {

struct SimilarPair {
  uint32_t a;
  uint32_t b;
  double similarity;
};

// Rows with similar pairs, each pair once, and the order in which rows are preferred as survivors.
struct Rows {
  uint32_t count;
  std::vector<SimilarPair> pairs;
  std::vector<uint32_t> places;

  double similarity(uint32_t a, uint32_t b) const {
    for (const auto &pair : pairs)
      if ((pair.a == a && pair.b == b) || (pair.a == b && pair.b == a)) return pair.similarity;
    return -1;
  }
};

Rows any_rows() {
  Rows rows;
  rows.count = *rc::gen::inRange<uint32_t>(0, 14);
  WalkRandom random(*rc::gen::arbitrary<uint64_t>(), 0);
  const int density = *rc::gen::inRange(5, 60);
  for (uint32_t a = 0; a < rows.count; ++a) {
    for (uint32_t b = 0; b < a; ++b) {
      if (random.below(100) >= static_cast<uint64_t>(density)) continue;
      SimilarPair pair{a, b, 0.5 + static_cast<double>(random.below(5)) / 10};
      if (random.below(2) != 0) std::swap(pair.a, pair.b);
      rows.pairs.push_back(pair);
    }
  }
  rows.places.resize(rows.count);
  std::iota(rows.places.begin(), rows.places.end(), 0u);
  for (uint32_t i = rows.count; i > 1; --i) std::swap(rows.places[i - 1], rows.places[random.below(i)]);
  for (size_t i = rows.pairs.size(); i > 1; --i) std::swap(rows.pairs[i - 1], rows.pairs[random.below(i)]);
  return rows;
}

struct Result {
  std::vector<uint32_t> representatives;
  std::vector<double> similarities;
};

Result group(Grouping grouping, const Rows &rows, const SetFamilies &families = {}) {
  MemoryCounter memory;
  StopFlag stop;
  WorkerPool pool(1, stop);
  DuplicateGrouper grouper(grouping, rows.places.data(), rows.count, memory, families);
  for (const auto &pair : rows.pairs) grouper.add_pair(pair.a, pair.b, pair.similarity);
  const DuplicateGroups groups = grouper.groups(pool);
  return {{groups.representatives.begin(), groups.representatives.end()},
          {groups.similarities.begin(), groups.similarities.end()}};
}

// Returns for each row the first row that links connect it with.
std::vector<uint32_t> connected(const Rows &rows, const std::vector<SimilarPair> &links) {
  std::vector<uint32_t> first(rows.count);
  std::iota(first.begin(), first.end(), 0u);
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto &link : links) {
      uint32_t &a = first[link.a], &b = first[link.b];
      if (a == b) continue;
      changed = true;
      a = b = rows.places[a] < rows.places[b] ? a : b;
    }
  }
  return first;
}

// Returns the row most similar to this one, the first of equal ones, or the row itself if there is none.
uint32_t best_partner(const Rows &rows, uint32_t row) {
  uint32_t best = row;
  double most = -1;
  for (uint32_t other = 0; other < rows.count; ++other) {
    const double similarity = other == row ? -1 : rows.similarity(row, other);
    if (similarity < 0) continue;
    if (similarity > most || (similarity == most && rows.places[other] < rows.places[best])) {
      best = other;
      most = similarity;
    }
  }
  return best;
}

// Tests that each group has one survivor, which is its first row, and that all others have a similarity.
void check_groups(const Rows &rows, const Result &result) {
  for (uint32_t row = 0; row < rows.count; ++row) {
    const uint32_t representative = result.representatives[row];
    RC_ASSERT(result.representatives[representative] == representative);
    RC_ASSERT(rows.places[representative] <= rows.places[row]);
    RC_ASSERT((result.similarities[row] < 0) == (representative == row));
  }
}

RC_GTEST_PROP(Duplicates, ComponentsAreConnectedRows, ()) {
  const Rows rows = any_rows();
  const Result result = group(Grouping::components, rows);
  check_groups(rows, result);
  RC_ASSERT(result.representatives == connected(rows, rows.pairs));
  for (uint32_t row = 0; row < rows.count; ++row)
    if (result.representatives[row] != row)
      RC_ASSERT(result.similarities[row] == rows.similarity(row, best_partner(rows, row)));
}

RC_GTEST_PROP(Duplicates, BestLinksAreConnectedRows, ()) {
  const Rows rows = any_rows();
  const Result result = group(Grouping::best_link, rows);
  check_groups(rows, result);
  std::vector<SimilarPair> links;
  for (uint32_t row = 0; row < rows.count; ++row) links.push_back({row, best_partner(rows, row), 0});
  RC_ASSERT(result.representatives == connected(rows, links));
  for (uint32_t row = 0; row < rows.count; ++row)
    if (result.representatives[row] != row)
      RC_ASSERT(result.similarities[row] == rows.similarity(row, best_partner(rows, row)));
}

RC_GTEST_PROP(Duplicates, StarsHaveASimilarCentre, ()) {
  const Rows rows = any_rows();
  const Result result = group(Grouping::star, rows);
  check_groups(rows, result);
  for (uint32_t row = 0; row < rows.count; ++row) {
    const uint32_t centre = result.representatives[row];
    double most = -1;  // to an earlier representative
    for (uint32_t other = 0; other < rows.count; ++other)
      if (result.representatives[other] == other && rows.places[other] < rows.places[row])
        most = std::max(most, rows.similarity(row, other));
    // A row represents itself exactly if no earlier representative is similar to it.
    RC_ASSERT((centre == row) == (most < 0));
    if (centre != row) RC_ASSERT(result.similarities[row] == most);
    if (centre != row) RC_ASSERT(rows.similarity(row, centre) == most);
  }
}

// Rows of several classes. All rows of a class are equally similar to those of another, and to each other.
// Some rows of a class are a family, others stand by themselves.
struct RowsWithFamilies {
  Rows all;  // with the pairs of all rows
  std::vector<uint32_t> family_of_row;
  std::vector<double> similarities;
  std::vector<SimilarPair> pairs;  // of one row of each family, and of the rows without one
};

RowsWithFamilies any_rows_with_families() {
  RowsWithFamilies result;
  result.all = any_rows();
  Rows &all = result.all;
  WalkRandom random(*rc::gen::arbitrary<uint64_t>(), 0);
  const auto classes = *rc::gen::inRange<uint32_t>(1, 7);
  std::vector<std::vector<double>> similar(classes, std::vector<double>(classes, -1));
  for (uint32_t a = 0; a < classes; ++a)
    for (uint32_t b = 0; b <= a; ++b)
      if (a == b || random.below(2) == 0)
        similar[a][b] = similar[b][a] = 0.5 + static_cast<double>(random.below(5)) / 10;
  std::vector<uint32_t> class_of(all.count), speaker(classes, SetFamilies::none);
  std::vector<uint32_t> joined;
  for (uint32_t row = 0; row < all.count; ++row) {
    class_of[row] = static_cast<uint32_t>(random.below(classes));
    const bool alone = random.below(4) == 0;
    result.family_of_row.push_back(alone ? SetFamilies::none : class_of[row]);
    if (!alone && random.below(3) == 0) speaker[class_of[row]] = row;
  }
  for (uint32_t row = 0; row < all.count; ++row) {
    uint32_t &chosen = speaker[class_of[row]];
    if (result.family_of_row[row] != SetFamilies::none && chosen == SetFamilies::none) chosen = row;
    if (result.family_of_row[row] == SetFamilies::none || chosen == row) joined.push_back(row);
  }
  for (uint32_t c = 0; c < classes; ++c) result.similarities.push_back(similar[c][c]);
  const auto similar_pair = [&](uint32_t a, uint32_t b, std::vector<SimilarPair> &pairs) {
    const double similarity = similar[class_of[a]][class_of[b]];
    if (similarity >= 0) pairs.push_back({a, b, similarity});
  };
  all.pairs.clear();
  for (uint32_t a = 0; a < all.count; ++a)
    for (uint32_t b = 0; b < a; ++b) similar_pair(a, b, all.pairs);
  for (size_t i = 0; i < joined.size(); ++i)
    for (size_t j = 0; j < i; ++j) similar_pair(joined[i], joined[j], result.pairs);
  for (size_t i = result.pairs.size(); i > 1; --i)
    std::swap(result.pairs[i - 1], result.pairs[random.below(i)]);
  return result;
}

RC_GTEST_PROP(Duplicates, FamiliesAreGroupedAsByAllTheirPairs, ()) {
  const RowsWithFamilies rows = any_rows_with_families();
  Rows few = rows.all;
  few.pairs = rows.pairs;
  const SetFamilies families = {rows.family_of_row.data(), rows.similarities.data(),
                                static_cast<uint32_t>(rows.similarities.size())};
  for (const auto grouping : {Grouping::components, Grouping::star, Grouping::best_link}) {
    const Result expected = group(grouping, rows.all), result = group(grouping, few, families);
    RC_ASSERT(result.representatives == expected.representatives);
    RC_ASSERT(result.similarities == expected.similarities);
  }
}

TEST(Duplicates, AChainSnowballsOnlyAsComponent) {
  Rows rows{100, {}, {}};
  rows.places.resize(rows.count);
  std::iota(rows.places.begin(), rows.places.end(), 0u);
  for (uint32_t i = 1; i < rows.count; ++i) rows.pairs.push_back({i - 1, i, i % 3 == 1 ? 0.9 : 0.8});
  const auto groups = [&](Grouping grouping) {
    const Result result = group(grouping, rows);
    size_t count = 0;
    for (uint32_t row = 0; row < rows.count; ++row) count += result.representatives[row] == row;
    return count;
  };
  EXPECT_EQ(groups(Grouping::components), 1u);
  EXPECT_EQ(groups(Grouping::star), 50u);
  EXPECT_EQ(groups(Grouping::best_link), 33u);
}

TEST(Duplicates, RowsWithThemselvesAndRepeatedPairsDoNoHarm) {
  Rows rows{3, {{0, 0, 1.0}, {1, 2, 0.7}, {2, 1, 0.7}, {1, 2, 0.7}}, {0, 1, 2}};
  for (const auto grouping : {Grouping::components, Grouping::star, Grouping::best_link}) {
    const Result result = group(grouping, rows);
    EXPECT_EQ(result.representatives, (std::vector<uint32_t>{0, 1, 1}));
    EXPECT_EQ(result.similarities, (std::vector<double>{-1, -1, 0.7}));
  }
}

// ---- The order of ids ----

using Ids = std::vector<int64_t>;

Ids shuffled(const std::set<int64_t> &ids, unsigned seed) {
  Ids result(ids.begin(), ids.end());
  std::shuffle(result.begin(), result.end(), std::mt19937(seed));
  return result;
}

// Distinct ids of `bits` bits around 0.
Ids random_ids(size_t count, int bits) {
  std::mt19937_64 random(static_cast<unsigned>(bits));
  std::set<int64_t> ids;
  while (ids.size() < count) ids.insert(static_cast<int64_t>(random()) >> (64 - bits));
  return shuffled(ids, 1);
}

void expect_order(const Ids &ids) {
  std::vector<uint32_t> places(ids.size(), UINT32_MAX), order(ids.size());
  place_by_id(ids.data(), static_cast<uint32_t>(ids.size()), places.data());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return ids[a] < ids[b]; });
  for (uint32_t place = 0; place < order.size(); ++place) EXPECT_EQ(places[order[place]], place);
  EXPECT_FALSE(repeated_id(ids.data(), ids.size()));
}

TEST(IdOrder, PlacesOfRows) {
  expect_order({});
  expect_order({7});
  expect_order({2, 1});
  expect_order({-1, 0, 5});
  expect_order({std::numeric_limits<int64_t>::max(), 0, std::numeric_limits<int64_t>::min()});
  for (const int bits : {17, 40, 63, 64}) expect_order(random_ids(70'000, bits));
}

// The ids differ only in bits that are left out of their keys, but for one.
TEST(IdOrder, CloseIdsAndOneFarAway) {
  std::set<int64_t> ids = {std::numeric_limits<int64_t>::min()};
  for (int64_t i = 0; i < 5000; ++i) ids.insert(std::numeric_limits<int64_t>::max() - i);
  expect_order(shuffled(ids, 2));
}

TEST(IdOrder, TheSmallestRepeatedId) {
  const auto repeated = [](const Ids &ids) { return repeated_id(ids.data(), ids.size()); };
  EXPECT_EQ(repeated({}), std::nullopt);
  EXPECT_EQ(repeated({3, 3}), 3);
  EXPECT_EQ(repeated({1, 5, 5, -2, 9, -2, 9}), -2);
  Ids many = random_ids(70'000, 64);
  many.back() = many.front();
  EXPECT_EQ(repeated(many), many.front());
}

TEST(IdOrder, AsksMeanwhile) {
  const Ids ids = random_ids(size_t{1} << 17, 64);
  std::vector<uint32_t> places(ids.size());
  EXPECT_GE(times_asked([&] { place_by_id(ids.data(), size_t{1} << 17, places.data()); }), 6);
  EXPECT_GE(times_asked([&] { repeated_id(ids.data(), ids.size()); }), 4);
}

}  // namespace
}  // namespace simjoin::test
