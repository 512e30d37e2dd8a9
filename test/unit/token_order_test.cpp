// Prefixes in a fixed order lose no similar pair, and rule out most others.
#include "core/lookup/token_order.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "core/base/worker_pool.hpp"
#include "unit/times_asked.hpp"

namespace simjoin::test {
namespace {

template <typename Token>
bool similar(const Bounds &bounds, const std::vector<Token> &a, const std::vector<Token> &b) {
  const std::set<Token> r(a.begin(), a.end()), s(b.begin(), b.end());
  const auto shared = std::count_if(r.begin(), r.end(), [&](const Token &t) { return s.contains(t); });
  return bounds.satisfied(shared, static_cast<int64_t>(r.size()), static_cast<int64_t>(s.size()));
}

struct OwnPrefix {
  int64_t size;
  std::vector<TokenKey> keys;
  std::vector<TokenCode> codes;
  std::vector<TokenCode> entries;
  std::vector<std::pair<std::vector<TokenCode>, std::vector<TokenCode>>> lookups;
  SetPrefix prefix() const { return {size, keys}; }
  IndexedPrefix indexed() const { return {size, entries}; }
};

// Returns the keys of the distinct tokens, ascending.
template <typename Token>
std::vector<TokenKey> keys_of(const TokenOrder &order, const std::vector<Token> &set) {
  const std::set<Token> distinct(set.begin(), set.end());
  const std::vector<Token> tokens(distinct.begin(), distinct.end());
  std::vector<TokenKey> keys(tokens.size());
  order.keys_of(std::span<const Token>(tokens), keys.data());
  std::sort(keys.begin(), keys.end());
  return keys;
}

template <typename Token>
OwnPrefix prefix_of(TokenOrder &order, const std::vector<Token> &set) {
  OwnPrefix own = {0, keys_of(order, set), {}, {}, {}};
  own.size = static_cast<int64_t>(own.keys.size());
  own.keys.resize(static_cast<size_t>(order.prefix_length(own.size)));
  for (const TokenKey key : own.keys) own.codes.push_back(code_of_key(key));
  own.entries.resize(own.keys.size());
  order.entries_of(own.prefix(), own.entries.data());
  const auto lookups = order.lookups(own.prefix(), SIZE_MAX);
  for (const PrefixLookup &lookup : *lookups)
    own.lookups.push_back(
        {{lookup.one.begin(), lookup.one.end()}, {lookup.other.begin(), lookup.other.end()}});
  return own;
}

template <typename Token>
IndexLookup lookup_of(TokenOrder &order, const std::vector<Token> &set, const Bounds &wanted) {
  std::vector<TokenKey> keys = keys_of(order, set);
  const auto size = static_cast<int64_t>(keys.size());
  keys.resize(std::min(keys.size(), most_looked_up));
  return order.lookup({size, keys}, wanted);
}

bool share_one(const std::vector<TokenCode> &a, const std::vector<TokenCode> &b) {
  return std::any_of(a.begin(), a.end(),
                     [&](TokenCode code) { return std::find(b.begin(), b.end(), code) != b.end(); });
}

// Returns whether the search for the partners of a finds b.
bool finds(const OwnPrefix &a, const OwnPrefix &b) {
  return std::any_of(a.lookups.begin(), a.lookups.end(), [&](const auto &lookup) {
    return share_one(lookup.first, b.entries) &&
           (lookup.second.empty() || share_one(lookup.second, b.entries));
  });
}

// Checks that each similar pair of the sets is found by a code and not ruled out. Returns the number of
// pairs.
template <typename Token>
size_t check_pairs(TokenOrder &order, const Bounds &bounds, const std::vector<std::vector<Token>> &sets) {
  std::vector<OwnPrefix> prefixes;
  for (const auto &set : sets) prefixes.push_back(prefix_of(order, set));
  size_t pairs = 0;
  for (size_t i = 0; i < sets.size(); ++i) {
    for (size_t j = 0; j < sets.size(); ++j) {
      if (!similar(bounds, sets[i], sets[j])) continue;
      ++pairs;
      RC_ASSERT(finds(prefixes[i], prefixes[j]));
      RC_ASSERT(order.may_be_similar(prefixes[i].prefix(), prefixes[j].indexed()));
    }
  }
  return pairs;
}

TEST(TokenOrder, SetsOfManyEntriesAreNotLookedUp) {
  TokenOrder order({}, Bounds(Measure::jaccard, 0.2));
  std::vector<TokenKey> keys(1000);
  std::iota(keys.begin(), keys.end(), TokenKey{7});
  const SetPrefix prefix = {static_cast<int64_t>(keys.size()), keys};
  size_t entries = 0;
  const auto lookups = order.lookups(prefix, SIZE_MAX);
  for (const PrefixLookup &lookup : *lookups) entries += lookup.one.size();
  EXPECT_GT(entries, 4 * keys.size());  // of several classes
  EXPECT_TRUE(order.lookups(prefix, entries));
  EXPECT_FALSE(order.lookups(prefix, entries - 1));
}

RC_GTEST_PROP(TokenOrder, LosesNoSimilarPair, ()) {
  const auto measure = *rc::gen::element(Measure::jaccard, Measure::cosine, Measure::dice, Measure::overlap,
                                         Measure::overlap_coefficient);
  const double threshold =
      measure == Measure::overlap ? *rc::gen::inRange(1, 6) : *rc::gen::inRange(1, 21) / 20.0;
  const Bounds bounds(measure, threshold);
  std::vector<std::vector<int32_t>> sets(8);
  std::vector<std::vector<std::string>> strings(sets.size());
  std::vector<std::vector<std::string_view>> texts(sets.size());
  TokenCounts counts;
  for (size_t i = 0; i < sets.size(); ++i) {
    sets[i] = *rc::gen::container<std::vector<int32_t>>(rc::gen::inRange(-2, 12));
    for (const int32_t token : sets[i]) strings[i].push_back(std::to_string(token));
    texts[i].assign(strings[i].begin(), strings[i].end());
    counts.add(std::span<const int32_t>(sets[i]));
  }
  std::vector<TokenCode> frequent = counts.most_frequent(*rc::gen::inRange<size_t>(0, 12));
  if (*rc::gen::arbitrary<bool>()) frequent.insert(frequent.end(), frequent.begin(), frequent.end());
  TokenOrder order(frequent, bounds);
  const size_t pairs = check_pairs(order, bounds, sets);
  RC_ASSERT(check_pairs(order, bounds, texts) == pairs);
}

// Sets of very different sizes, with prefixes of hundreds of tokens.
RC_GTEST_PROP(TokenOrder, LosesNoSimilarPairOfLargeSets, ()) {
  const Bounds bounds(Measure::jaccard, *rc::gen::inRange(1, 20) / 20.0);
  std::vector<std::vector<int32_t>> sets(6);
  TokenCounts counts;
  for (auto &set : sets) {
    const int32_t begin = *rc::gen::inRange(0, 40), end = begin + *rc::gen::inRange(1, 600);
    const int32_t left_out = *rc::gen::inRange(2, 30);
    for (int32_t token = begin; token < end; ++token)
      if (token % left_out != 0) set.push_back(token);
    counts.add(std::span<const int32_t>(set));
  }
  TokenOrder order(counts.most_frequent(*rc::gen::inRange<size_t>(0, 700)), bounds);
  check_pairs(order, bounds, sets);
}

TEST(TokenOrder, SetsOfOtherSizesAreNotMet) {
  TokenOrder order({}, Bounds(Measure::jaccard, 0.7));
  const OwnPrefix small = prefix_of(order, std::vector<int32_t>{1, 2, 3});
  std::vector<int32_t> tokens(50);
  for (int32_t i = 0; i < 50; ++i) tokens[static_cast<size_t>(i)] = i;
  EXPECT_FALSE(finds(small, prefix_of(order, tokens)));
  EXPECT_FALSE(finds(prefix_of(order, tokens), small));
  tokens.resize(47);
  EXPECT_TRUE(finds(prefix_of(order, tokens), prefix_of(order, tokens)));
}

// The codes of a search take memory in proportion to the set, not to its square.
TEST(TokenOrder, LooksForAVeryLargeSet) {
  std::vector<int32_t> tokens(1'000'000);
  std::iota(tokens.begin(), tokens.end(), 0);
  TokenOrder order({}, Bounds(Measure::jaccard, 0.3));
  OwnPrefix prefix = prefix_of(order, tokens);
  std::sort(prefix.entries.begin(), prefix.entries.end());
  size_t looked_up = 0, found = 0;
  for (const auto &[one, other] : prefix.lookups) {
    ASSERT_TRUE(other.empty());
    for (const TokenCode code : one)
      found += std::binary_search(prefix.entries.begin(), prefix.entries.end(), code);
    looked_up += one.size();
  }
  EXPECT_GT(found, 0u);  // an equal set
  EXPECT_GT(looked_up, prefix.codes.size());
}

// Two tokens have one code, so that the set has the code twice.
TEST(TokenOrder, TokensOfOneCode) {
  TokenOrder codes({}, Bounds(Measure::overlap, 1));
  // About ten pairs of 300,000 tokens have the same code.
  std::vector<std::pair<TokenCode, int64_t>> known;
  for (int64_t token = 0; token < 300'000; ++token)
    known.emplace_back(code_of_key(keys_of(codes, std::vector<int64_t>{token})[0]), token);
  std::sort(known.begin(), known.end());
  const auto same = std::adjacent_find(known.begin(), known.end(),
                                       [](const auto &a, const auto &b) { return a.first == b.first; });
  ASSERT_NE(same, known.end());
  const int64_t a = same->second, b = (same + 1)->second;
  for (const double threshold : {0.5, 0.6, 1.0}) {
    const Bounds bounds(Measure::jaccard, threshold);
    TokenOrder order({}, bounds);
    std::vector<std::vector<int64_t>> sets = {{a, b}, {a, b, 1'000'001}, {a}, {b}, {a, 1'000'001}};
    EXPECT_GE(check_pairs(order, bounds, sets), sets.size());
    EXPECT_EQ(prefix_of(order, sets[0]).size, 2);
  }
}

TEST(TokenOrder, RareTokensComeFirst) {
  TokenCounts counts;
  for (int32_t set = 0; set < 100; ++set) {
    const int32_t tokens[] = {1, set % 2 == 0 ? 2 : 3, set % 10 == 0 ? 4 : 5, 100 + set};
    counts.add(std::span<const int32_t>(tokens));
  }
  const std::vector<TokenCode> frequent = counts.most_frequent(100);
  EXPECT_EQ(frequent.size(), 5u);  // the others came only once
  EXPECT_EQ(counts.most_frequent(2), std::vector<TokenCode>(frequent.begin(), frequent.begin() + 2));
  TokenOrder order(frequent, Bounds(Measure::jaccard, 0.5));
  TokenOrder alone({}, Bounds(Measure::jaccard, 0.5));
  const auto code = [&](int32_t token) { return prefix_of(alone, std::vector<int32_t>{token}).codes[0]; };
  const OwnPrefix prefix = prefix_of(order, std::vector<int32_t>{1, 2, 4, 107});
  EXPECT_EQ(prefix.codes, (std::vector<TokenCode>{code(107), code(4), code(2), code(1)}));
}

TEST(TokenOrder, CountsASampleOfMany) {
  TokenCounts counts;
  for (int32_t set = 0; set < 600'000; ++set) {
    const int32_t tokens[] = {1, 2 + set % 4, 1000 + set % 100'000, 10, 11, 12, 13, 14, 15, 16, 17, 18};
    counts.add(std::span<const int32_t>(tokens, set % 2 == 0 ? 12 : 3));
  }
  const std::vector<TokenCode> frequent = counts.most_frequent(14);
  TokenOrder alone({}, Bounds(Measure::jaccard, 0.5));
  const auto code = [&](int32_t token) { return prefix_of(alone, std::vector<int32_t>{token}).codes[0]; };
  EXPECT_EQ(frequent[0], code(1));
  for (int32_t token = 2; token < 6; ++token)
    EXPECT_GE(std::find(frequent.begin(), frequent.end(), code(token)) - frequent.begin(), 10);
}

TEST(TokenOrder, RulesOutMostOfWhatSharesTooLittle) {
  const Bounds bounds(Measure::jaccard, 0.7);
  TokenOrder order({}, bounds);
  std::vector<OwnPrefix> prefixes;
  for (int32_t set = 0; set < 200; ++set) {
    std::vector<int32_t> tokens;
    for (int32_t i = 0; i < 20; ++i) tokens.push_back((set * 37 + i * i * 11) % 60);
    prefixes.push_back(prefix_of(order, tokens));
  }
  int met = 0, found = 0, passed = 0;
  for (const OwnPrefix &a : prefixes) {
    for (const OwnPrefix &b : prefixes) {
      met += share_one(a.codes, b.codes);
      found += finds(a, b);
      passed += order.may_be_similar(a.prefix(), b.indexed());
    }
  }
  EXPECT_LT(found, met / 2);
  EXPECT_LT(passed, found);
}

// Returns whether a lookup in an index finds a set with these entries.
bool finds(const IndexLookup &lookup, const std::vector<TokenCode> &indexed) {
  if (lookup.kind != IndexLookup::Kind::entries) return lookup.kind == IndexLookup::Kind::everything;
  size_t next = 0;
  for (const IndexLookup::SizeClass &size_class : lookup.classes) {
    uint32_t met = 0;
    for (uint32_t i = 0; i < size_class.entries; ++i, ++next)
      met += std::find(indexed.begin(), indexed.end(), lookup.entries[next]) != indexed.end();
    if (met >= size_class.least) return true;
  }
  return false;
}

Bounds any_bounds() {
  const auto measure = *rc::gen::element(Measure::jaccard, Measure::cosine, Measure::dice, Measure::overlap,
                                         Measure::overlap_coefficient);
  return {measure, measure == Measure::overlap ? *rc::gen::inRange(1, 8) : *rc::gen::inRange(1, 21) / 20.0};
}

// For any bounds of an index and any bounds of a look-up.
RC_GTEST_PROP(IndexLookup, LosesNoSimilarSet, ()) {
  const Bounds indexed = any_bounds(), wanted = any_bounds();
  std::vector<std::vector<int32_t>> sets(8);
  TokenCounts counts;
  const int tokens = *rc::gen::element(6, 14, 60);
  for (auto &set : sets) {
    set = *rc::gen::container<std::vector<int32_t>>(rc::gen::inRange(0, tokens));
    counts.add(std::span<const int32_t>(set));
  }
  TokenOrder order(counts.most_frequent(*rc::gen::inRange<size_t>(0, 12)), indexed);
  std::vector<OwnPrefix> prefixes;
  for (const auto &set : sets) prefixes.push_back(prefix_of(order, set));
  const bool served = wanted.measure() == indexed.measure() && wanted.threshold() >= indexed.threshold();
  for (const auto &set : sets) {
    const IndexLookup lookup = lookup_of(order, set, wanted);
    if (served) RC_ASSERT(lookup.kind != IndexLookup::Kind::everything);
    for (size_t i = 0; i < sets.size(); ++i)
      if (similar(wanted, set, sets[i])) RC_ASSERT(finds(lookup, prefixes[i].entries));
  }
}

// Ranges of sizes, where only the ends are looked at.
RC_GTEST_PROP(IndexLookup, LosesNoLargeSet, ()) {
  const double threshold = *rc::gen::inRange(10, 19) / 20.0;
  const int32_t size = *rc::gen::inRange(1, 8000), shared = *rc::gen::inRange(0, size + 1);
  std::vector<int32_t> a(static_cast<size_t>(size)),
      b(static_cast<size_t>(*rc::gen::inRange(shared, 2 * size + 1)));
  std::iota(a.begin(), a.end(), 0);
  std::iota(b.begin(), b.end(), size - shared);
  TokenOrder order({}, Bounds(Measure::jaccard, threshold));
  const Bounds wanted(*rc::gen::element(Measure::jaccard, Measure::cosine),
                      threshold + *rc::gen::inRange(0, 6) / 20.0);
  const OwnPrefix prefix = prefix_of(order, b);
  const IndexLookup lookup = lookup_of(order, a, wanted);
  if (similar(wanted, a, b)) RC_ASSERT(finds(lookup, prefix.entries));
}

TEST(IndexLookup, AsksForSeveralEntriesWhereTheIndexHasMore) {
  std::vector<int32_t> tokens(50), other(50);
  std::iota(tokens.begin(), tokens.end(), 0);
  std::iota(other.begin(), other.end(), 49);  // one token is shared
  TokenOrder order({}, Bounds(Measure::jaccard, 0.6));
  const OwnPrefix same = prefix_of(order, tokens), different = prefix_of(order, other);
  const IndexLookup lookup = lookup_of(order, tokens, Bounds(Measure::jaccard, 0.8));
  ASSERT_EQ(lookup.kind, IndexLookup::Kind::entries);
  for (const IndexLookup::SizeClass &size_class : lookup.classes) EXPECT_GT(size_class.least, 1u);
  EXPECT_TRUE(finds(lookup, same.entries));
  EXPECT_FALSE(finds(lookup, different.entries));
}

// Tokens that share an entry by chance find more sets, and never fewer.
RC_GTEST_PROP(IndexLookup, FindsSimilarSetsByShortEntries, ()) {
  const int bits = *rc::gen::inRange(least_entry_bits, most_entry_bits + 1);
  const auto size = *rc::gen::inRange(1, 120);
  const auto shared = *rc::gen::inRange(1, size + 1);
  std::vector<int32_t> a(static_cast<size_t>(size)),
      b(static_cast<size_t>(*rc::gen::inRange(shared, 2 * size + 1)));
  std::iota(a.begin(), a.end(), 0);
  std::iota(b.begin(), b.end(), size - shared);
  const bool overlap = *rc::gen::arbitrary<bool>();
  const double threshold = overlap ? *rc::gen::inRange(1, 4) : *rc::gen::inRange(2, 9) / 10.0;
  const Bounds bounds(overlap ? Measure::overlap : Measure::jaccard, threshold);
  TokenOrder order = TokenOrder::by_prints({}, bounds, bits);
  const OwnPrefix prefix = prefix_of(order, b);
  for (const TokenCode entry : prefix.entries)
    RC_ASSERT(uint64_t{static_cast<uint32_t>(entry)} >> bits == 0U);
  const IndexLookup lookup = lookup_of(order, a, bounds);
  if (similar(bounds, a, b)) RC_ASSERT(finds(lookup, prefix.entries));
}

// An entry has some sets where many tokens are rare, and a token of its own where there are few.
TEST(TokenCounts, GivesEntriesFewerBitsForMoreTokens) {
  TokenCounts counts;
  EXPECT_EQ(counts.entry_bits(), most_entry_bits);
  std::vector<int32_t> tokens(size_t{1} << 20);
  std::iota(tokens.begin(), tokens.end(), 0);
  counts.add(std::span<const int32_t>(tokens).first(1000));
  EXPECT_EQ(counts.entry_bits(), most_entry_bits);
  counts.add(std::span<const int32_t>(tokens));
  const int bits = counts.entry_bits();
  EXPECT_GE(bits, 16);
  EXPECT_LE(bits, 18);
  for (int i = 0; i < 3; ++i) counts.add(std::span<const int32_t>(tokens));
  EXPECT_EQ(counts.entry_bits(), bits + 2);
}

// Partners that share some tokens are of all sizes. Each token is looked up once.
TEST(IndexLookup, LooksEachTokenOfAnOverlapUpOnce) {
  std::vector<int32_t> set(90);
  std::iota(set.begin(), set.end(), 7);
  for (const int shared : {1, 2, 4}) {
    TokenOrder order = TokenOrder::by_prints({}, Bounds(Measure::overlap, shared));
    EXPECT_LE(lookup_of(order, set, Bounds(Measure::overlap, shared)).entries.size(), set.size());
  }
}

// Once in 65,536 codes at least.
TEST(TokenOrder, AsksWhileItLooksALargeSetUp) {
  TokenOrder order({}, Bounds(Measure::jaccard, 0.5));
  std::vector<TokenKey> keys(size_t{1} << 20);
  std::iota(keys.begin(), keys.end(), 0);
  const SetPrefix prefix = {static_cast<int64_t>(keys.size()), keys};
  std::vector<TokenCode> entries(keys.size());
  order.entries_of(prefix, entries.data());
  size_t codes = 0;
  const int asked = times_asked([&] {
    const auto lookups = order.lookups(prefix, SIZE_MAX);
    for (const PrefixLookup &lookup : *lookups) codes += lookup.one.size();
  });
  EXPECT_GT(codes, keys.size());
  EXPECT_GE(static_cast<size_t>(asked) + 100, codes >> 16);
  EXPECT_GE(times_asked([&] { EXPECT_TRUE(order.may_be_similar(prefix, {prefix.size, entries})); }), 15);
  set_interruption([] { return true; });
  EXPECT_THROW(order.lookups(prefix, SIZE_MAX), Cancelled);
  set_interruption(nullptr);
}

TEST(IndexLookup, SaysWhatAnIndexCannotServe) {
  const std::vector<int32_t> set = {1, 2, 3, 4, 5, 6, 7, 8};
  TokenOrder order({}, Bounds(Measure::jaccard, 0.7));
  using Kind = IndexLookup::Kind;
  EXPECT_EQ(lookup_of(order, set, Bounds(Measure::jaccard, 0.5)).kind, Kind::everything);
  EXPECT_EQ(lookup_of(order, set, Bounds(Measure::overlap, 4)).kind, Kind::everything);
  EXPECT_EQ(lookup_of(order, set, Bounds(Measure::overlap, 9)).kind, Kind::nothing);
  EXPECT_EQ(lookup_of(order, set, Bounds(Measure::jaccard, 1.1)).kind, Kind::nothing);
  EXPECT_EQ(lookup_of(order, std::vector<int32_t>(), Bounds(Measure::jaccard, 0.5)).kind, Kind::nothing);
  EXPECT_EQ(lookup_of(order, set, Bounds(Measure::dice, 0.9)).kind, Kind::entries);
  EXPECT_EQ(lookup_of(order, set, Bounds(Measure::cosine, 0.9)).kind, Kind::entries);
}

}  // namespace
}  // namespace simjoin::test
