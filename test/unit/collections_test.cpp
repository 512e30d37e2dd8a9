// The benchmark's synthetic collections are the same on every machine, and match their profiles.
#include "bench/collections.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace simjoin::test {
namespace {

using bench::Collection;
using bench::GenerateOptions;
using bench::Profile;

Collection small(const Profile &profile, double sets, uint64_t seed = 1) {
  GenerateOptions options;
  options.scale = sets / profile.sets;
  options.seed = seed;
  return generate(profile, options);
}

uint64_t fingerprint(const Collection &collection) {
  uint64_t hash = 0xCBF29CE484222325ull;  // FNV-1a
  const auto add = [&hash](uint64_t value) { hash = (hash ^ value) * 0x100000001B3ull; };
  for (uint64_t offset : collection.offsets) add(offset);
  for (uint32_t token : collection.tokens) add(token);
  return hash;
}

TEST(Collections, AreTheSameEverywhere) {
  EXPECT_EQ(fingerprint(small(*bench::find_profile("dblp"), 1000)), 0x7D81F267AFFD2F7Aull);
  EXPECT_EQ(fingerprint(small(*bench::find_profile("kosarak"), 1000)), 0x118D6C5375C1E18Cull);
}

TEST(Collections, DependOnTheSeed) {
  const Profile &profile = *bench::find_profile("bms");
  EXPECT_NE(fingerprint(small(profile, 500, 1)), fingerprint(small(profile, 500, 2)));
}

TEST(Collections, AreDistinctOrderedSetsOfRankedTokens) {
  for (const Profile &profile : bench::profiles()) {
    if (profile.universe > 100'000) continue;  // slow to prepare
    const Collection collection = small(profile, 2000);
    ASSERT_EQ(collection.size(), 2000u) << profile.name;
    EXPECT_GT(collection.near_duplicates, 0u) << profile.name;
    std::vector<uint32_t> frequency(profile.universe + 1, 0);
    for (size_t i = 0; i < collection.size(); ++i) {
      const auto set = collection.set(i);
      EXPECT_TRUE(std::adjacent_find(set.begin(), set.end(), std::greater_equal<>()) == set.end())
          << profile.name;
      for (uint32_t token : set) ++frequency[token];
      if (i == 0) continue;
      const auto before = collection.set(i - 1);
      ASSERT_LE(before.size(), set.size()) << profile.name;
      EXPECT_FALSE(std::equal(before.begin(), before.end(), set.begin(), set.end())) << profile.name;
    }
    EXPECT_EQ(frequency[0], 0u) << profile.name;
    const auto used = std::find(frequency.begin() + 1, frequency.end(), 0u);
    EXPECT_TRUE(std::is_sorted(frequency.begin() + 1, used)) << profile.name;
  }
}

TEST(Collections, UnknownProfileIsNone) {
  EXPECT_EQ(bench::find_profile("none"), nullptr);
}

}  // namespace
}  // namespace simjoin::test
