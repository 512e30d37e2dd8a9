// Verification against plain intersections.
#include "core/candidates/verify.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "unit/random_sets.hpp"

namespace simjoin::test {
namespace {

using Ranks = std::vector<uint32_t>;

Ranks any_ranks(RandomSets &random, int32_t size, int32_t universe) {
  const IntSet set = random.set(size, universe);
  Ranks ranks(set.begin(), set.end());
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

uint32_t size_of(const Ranks &ranks) {
  return static_cast<uint32_t>(ranks.size());
}

uint32_t shared(Ranks::const_iterator r, Ranks::const_iterator r_end, Ranks::const_iterator s,
                Ranks::const_iterator s_end) {
  Ranks both;
  std::set_intersection(r, r_end, s, s_end, std::back_inserter(both));
  return size_of(both);
}

// The result is exact if the overlap reaches the required overlap, and below that otherwise.
void expect_bounded(uint32_t actual, uint32_t overlap, uint32_t required) {
  if (overlap >= required) {
    EXPECT_EQ(actual, overlap) << "required " << required;
  } else {
    EXPECT_LT(actual, required) << "overlap " << overlap;
  }
}

TEST(Verification, BoundedOverlapIsExactOrTooSmall) {
  RandomSets random(61);
  for (int32_t universe : {8, 40, 300}) {
    for (int round = 0; round < 400; ++round) {
      const Ranks r = any_ranks(random, random.between(0, 40), universe);
      const Ranks s = any_ranks(random, random.between(0, 40), universe);
      const uint32_t overlap = shared(r.begin(), r.end(), s.begin(), s.end());
      for (uint32_t required = 0; required <= 42; ++required) {
        expect_bounded(bounded_overlap(r.data(), size_of(r), s.data(), size_of(s), 0, required), overlap,
                       required);
        expect_bounded(bounded_overlap(r.data(), size_of(r), s.data(), size_of(s), 3, required + 3),
                       overlap + 3, required + 3);
      }
    }
  }
}

// Sizes on either side of those at which the method changes.
TEST(Verification, BoundedOverlapOfAnySizes) {
  RandomSets random(63);
  for (int round = 0; round < 400; ++round) {
    const int32_t universe = random.between(60, 6000);
    const Ranks r = any_ranks(random, random.between(0, 60), universe);
    const Ranks s = any_ranks(random, random.between(0, round % 2 == 0 ? 60 : 5000), universe);
    const uint32_t overlap = shared(r.begin(), r.end(), s.begin(), s.end());
    for (const uint32_t required : {0u, 1u, overlap / 2, overlap, overlap + 1, overlap + 20}) {
      expect_bounded(bounded_overlap(r.data(), size_of(r), s.data(), size_of(s), 0, required), overlap,
                     required);
      expect_bounded(bounded_overlap(s.data(), size_of(s), r.data(), size_of(r), 0, required), overlap,
                     required);
    }
  }
}

TEST(Verification, ResumesAfterAnyTwoPrefixes) {
  RandomSets random(62);
  for (int round = 0; round < 300; ++round) {
    const Ranks r = any_ranks(random, random.between(1, 20), 40);
    const Ranks s = any_ranks(random, random.between(1, 20), 40);
    const uint32_t overlap = shared(r.begin(), r.end(), s.begin(), s.end());
    for (uint32_t r_prefix = 1; r_prefix <= r.size(); ++r_prefix) {
      for (uint32_t s_prefix = 1; s_prefix <= s.size(); ++s_prefix) {
        const uint32_t known = shared(r.begin(), r.begin() + r_prefix, s.begin(), s.begin() + s_prefix);
        for (uint32_t required : {overlap, overlap + 1, 1u, 10u}) {
          expect_bounded(bounded_overlap_after_prefix(r.data(), size_of(r), r_prefix, s.data(), size_of(s),
                                                      s_prefix, known, required),
                         overlap, required);
        }
      }
    }
  }
}

}  // namespace
}  // namespace simjoin::test
