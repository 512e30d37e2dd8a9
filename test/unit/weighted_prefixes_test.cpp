// Lookups by the prefixes of weighted sets find every similar pair, and rule out most others.
#include "core/lookup/weighted_prefixes.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "unit/times_asked.hpp"

namespace simjoin::test {
namespace {

using WeightedSet = std::map<uint32_t, double>;

double similarity_of(Measure measure, const WeightedSet &r, const WeightedSet &s) {
  double low = 0, high = 0, product = 0, r_squares = 0, s_squares = 0;
  for (const auto &[token, weight] : r) {
    const double other = s.contains(token) ? s.at(token) : 0;
    low += std::min(weight, other);
    high += std::max(weight, other);
    product += weight * other;
    r_squares += weight * weight;
  }
  for (const auto &[token, weight] : s) {
    s_squares += weight * weight;
    if (!r.contains(token)) high += weight;
  }
  if (!(high > 0)) return 0;
  return measure == Measure::cosine ? product / std::sqrt(r_squares * s_squares) : low / high;
}

// A set as an index has it, with tokens of one code where `codes` are few.
struct Indexed {
  std::vector<WeightedKey> keys;
  WeightedKeys set;
  std::vector<TokenCode> entries;
  std::vector<double> masses;
};

Indexed index_set(const WeightedPrefixes &prefixes, const WeightedSet &weights, uint32_t codes) {
  Indexed result;
  for (const auto &[token, weight] : weights)
    if (weight > 0) result.keys.push_back({token % codes, prefixes.mass(weight)});
  std::sort(result.keys.begin(), result.keys.end(),
            [](const WeightedKey &a, const WeightedKey &b) { return a.key < b.key; });
  result.set = prefixes.set_of(result.keys);
  result.entries.resize(result.set.prefix);
  result.masses.resize(result.set.prefix);
  prefixes.entries_of(result.set, result.entries.data(), result.masses.data());
  return result;
}

bool finds(WeightedPrefixes *prefixes, const Indexed &probe, const Indexed &indexed) {
  bool met = false;
  const auto lookups = prefixes->lookups(probe.set, SIZE_MAX);
  for (const PrefixLookup &lookup : *lookups)
    for (const TokenCode entry : lookup.one)
      met |= std::find(indexed.entries.begin(), indexed.entries.end(), entry) != indexed.entries.end();
  const double total = indexed.set.total;
  return met && total >= prefixes->least_partner(probe.set.total) &&
         total <= prefixes->most_partner(probe.set.total) &&
         prefixes->may_be_similar({total, indexed.entries, indexed.masses});
}

WeightedSet any_set(uint32_t tokens) {
  WeightedSet set;
  const auto scale = *rc::gen::element(0.1, 1.0, 1e-20, 3e37);
  for (uint32_t token = 0; token < tokens; ++token)
    if (*rc::gen::inRange(0, 3) > 0) set[token] = *rc::gen::inRange(0, 12) * scale;
  return set;
}

RC_GTEST_PROP(WeightedPrefixes, LoseNoSimilarPair, ()) {
  const auto measure = *rc::gen::element(Measure::jaccard, Measure::cosine);
  const auto codes = *rc::gen::element(3U, 1000U);
  const WeightedSet r = any_set(12);
  WeightedSet s = *rc::gen::inRange(0, 3) > 0 ? r : any_set(12);
  for (uint32_t i = 0; i < 2; ++i) s[*rc::gen::inRange(0U, 12U)] *= *rc::gen::element(0.0, 0.5, 1.5);
  const double similarity = similarity_of(measure, r, s);
  if (!(similarity > 0)) return;
  WeightedPrefixes prefixes(measure, std::min(similarity * (1 - 1e-12), 1.0));
  const Indexed a = index_set(prefixes, r, codes), b = index_set(prefixes, s, codes);
  RC_ASSERT(finds(&prefixes, a, b));
  RC_ASSERT(finds(&prefixes, b, a));
}

TEST(WeightedPrefixes, EqualSetsAreFoundAtThresholdOne) {
  for (const Measure measure : {Measure::jaccard, Measure::cosine}) {
    WeightedPrefixes prefixes(measure, 1);
    const Indexed set = index_set(prefixes, {{1, 0.1}, {2, 0.2}, {5, 0.7}}, 1000);
    EXPECT_EQ(set.set.prefix, 1);
    EXPECT_TRUE(finds(&prefixes, set, set));
  }
}

TEST(WeightedPrefixes, LargeSetsAreFound) {
  WeightedPrefixes prefixes(Measure::jaccard, 0.9);
  WeightedSet tokens;
  for (uint32_t token = 0; token < 300000; ++token) tokens[token] = 1;
  const Indexed probe = index_set(prefixes, tokens, 1U << 31);
  for (uint32_t token = 0; token < 20000; ++token) tokens.erase(10 * token);
  const Indexed indexed = index_set(prefixes, tokens, 1U << 31);
  EXPECT_FALSE(prefixes.lookups(probe.set, SIZE_MAX)->empty());
  EXPECT_TRUE(prefixes.may_be_similar({indexed.set.total, indexed.entries, indexed.masses}));
}

// Once in 65,536 tokens at least.
TEST(WeightedPrefixes, AskWhileTheyTakeALargeSet) {
  WeightedPrefixes prefixes(Measure::jaccard, 0.5);
  std::vector<WeightedKey> keys(size_t{1} << 20);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = {i, 1};
  WeightedKeys set;
  EXPECT_GE(times_asked([&] { set = prefixes.set_of(keys); }), 3 * 16 - 10);
  EXPECT_GE(times_asked([&] { EXPECT_FALSE(prefixes.lookups(set, SIZE_MAX)->empty()); }), 16);
}

// A set with more entries than the caller wants has no lookups, and may be compared all the same.
TEST(WeightedPrefixes, SetsOfManyEntriesAreNotLookedUp) {
  WeightedPrefixes prefixes(Measure::jaccard, 0.2);
  WeightedSet tokens;
  for (uint32_t token = 0; token < 50000; ++token) tokens[token] = 1;
  const Indexed probe = index_set(prefixes, tokens, 1U << 31);
  std::vector<TokenCode> entries;
  const auto lookups = prefixes.lookups(probe.set, SIZE_MAX);
  for (const PrefixLookup &lookup : *lookups)
    entries.insert(entries.end(), lookup.one.begin(), lookup.one.end());
  EXPECT_GT(entries.size(), 4 * probe.set.prefix);  // of several classes
  EXPECT_TRUE(prefixes.lookups(probe.set, entries.size()));
  EXPECT_FALSE(prefixes.lookups(probe.set, entries.size() - 1));
  EXPECT_TRUE(prefixes.may_be_similar({probe.set.total, probe.entries, probe.masses}));
  std::sort(entries.begin(), entries.end());
  const auto distinct = std::unique(entries.begin(), entries.end()) - entries.begin();
  EXPECT_GT(distinct, static_cast<ptrdiff_t>(entries.size() * 99 / 100));  // other classes have other salts
}

}  // namespace
}  // namespace simjoin::test
