// Bands for a given recall reach it, with about the fewest candidates that the permutations allow.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "core/lsh/lsh_plan.hpp"

namespace simjoin::test {
namespace {

TEST(LshPlan, ReachesTheRecallWithinThePermutations) {
  for (const uint32_t permutations : {1u, 5u, 64u, 128u, 1000u, 65535u}) {
    for (const double jaccard : {0.05, 0.3, 0.5, 0.7, 0.85, 0.999, 1.0}) {
      for (const double recall : {0.0, 0.1, 0.5, 0.9, 0.95, 0.9999, 1.0}) {
        const BandPlan plan = plan_for_recall(jaccard, recall, permutations);
        const std::string what = std::to_string(permutations) + " " + std::to_string(jaccard) + " " +
                                 std::to_string(recall) + ": " + std::to_string(plan.bands) + "x" +
                                 std::to_string(plan.rows);
        ASSERT_GE(plan.bands, 1u) << what;
        ASSERT_GE(plan.rows, 1u) << what;
        ASSERT_LE(uint64_t{plan.bands} * plan.rows, permutations) << what;
        const double reached = candidate_probability(plan, jaccard);
        // The recall is missed only if no plan has more.
        EXPECT_TRUE(reached >= recall || (plan.rows == 1 && plan.bands == permutations)) << what;
        // No band is superfluous.
        if (plan.bands > 1 && recall < 1 && reached >= recall) {
          EXPECT_LT(candidate_probability({plan.bands - 1, plan.rows}, jaccard), recall) << what;
        }
      }
    }
  }
}

// The mean probability that a less similar pair becomes a candidate, compared with that of every other plan.
TEST(LshPlan, HasAboutTheFewestCandidates) {
  constexpr uint32_t permutations = 128;
  for (const double jaccard : {0.3, 0.5, 0.6, 0.7, 0.8, 0.9}) {
    for (const double recall : {0.7, 0.9, 0.95, 0.99}) {
      double least = 1;
      for (uint32_t rows = 1; rows <= permutations; ++rows)
        for (uint32_t bands = 1; bands * rows <= permutations; ++bands)
          if (candidate_probability({bands, rows}, jaccard) >= recall)
            least = std::min(least, false_positive_rate({bands, rows}, jaccard));
      const BandPlan plan = plan_for_recall(jaccard, recall, permutations);
      EXPECT_LE(false_positive_rate(plan, jaccard), 1.1 * least) << jaccard << " " << recall;
    }
  }
}

TEST(LshPlan, KnowsTheLeastJaccardSimilarityOfAMeasure) {
  for (const Measure measure : {Measure::jaccard, Measure::cosine, Measure::dice}) {
    for (const double threshold : {0.3, 0.55, 0.8, 1.0}) {
      const double least = least_jaccard(measure, threshold);
      double found = 1;
      for (int64_t r = 1; r <= 60; ++r)
        for (int64_t s = r; s <= 400; ++s)
          for (int64_t overlap = 1; overlap <= r; ++overlap)
            if (similarity(measure, overlap, r, s) >= threshold)
              found = std::min(found, similarity(Measure::jaccard, overlap, r, s));
      EXPECT_GE(found, least - 1e-12);
      EXPECT_LE(found, least + 0.02);  // and there is no better bound
    }
  }
  EXPECT_EQ(least_jaccard(Measure::overlap, 3), 0);
  EXPECT_EQ(least_jaccard(Measure::overlap_coefficient, 1), 0);
  EXPECT_EQ(least_jaccard(Measure::containment, 1), 0);
}

}  // namespace
}  // namespace simjoin::test
