// Weights of columns without labels: on pairs of a known model, and on pairs that tell nothing.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "core/base/error.hpp"
#include "core/linkage/linkage_model.hpp"

namespace simjoin::test {
namespace {

const StopFlag never;

struct Truth {
  double prior;
  std::vector<std::vector<double>> m, u;  // by column and level
  double nulls = 0;                       // the share of values that are missing
};

const Truth usual = {0.2,
                     {{0.05, 0.15, 0.8}, {0.1, 0.9}, {0.1, 0.2, 0.7}, {0.3, 0.7}},
                     {{0.7, 0.2, 0.1}, {0.95, 0.05}, {0.8, 0.15, 0.05}, {0.6, 0.4}}};

uint8_t draw(const std::vector<double> &probabilities, std::mt19937_64 &random) {
  double rest = std::uniform_real_distribution<>()(random);
  uint8_t level = 0;
  while (level + 1u < probabilities.size() && rest >= probabilities[level]) rest -= probabilities[level++];
  return level;
}

class Pairs {
 public:
  Pairs(const Truth &truth, size_t count, uint64_t seed) : counts_(memory_) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<> share;
    for (const auto &column : truth.m) levels_.push_back(column.size());
    for (size_t i = 0; i < count; ++i) {
      const auto &of = share(random) < truth.prior ? truth.m : truth.u;
      ComparisonVector vector;
      for (size_t c = 0; c < of.size(); ++c)
        vector.set_level(c, share(random) < truth.nulls ? null_level : draw(of[c], random));
      counts_.add(vector);
    }
  }

  Buffer<ComparisonVector> vectors() { return counts_.sorted(never); }
  const std::vector<size_t> &levels() const { return levels_; }
  LinkageModel fit() { return fit_linkage(vectors(), levels_, never); }

 private:
  MemoryCounter memory_;
  ComparisonCounts counts_;
  std::vector<size_t> levels_;
};

// Adds up how far estimates are from the truth, in standard errors.
struct Deviations {
  void add(double estimate, double truth, const std::optional<double> &error) {
    ASSERT_TRUE(error.has_value());
    const double deviation = (estimate - truth) / *error;
    EXPECT_LT(std::abs(deviation), 4.5);
    squares += deviation * deviation;
    ++count;
  }

  double squares = 0;
  int count = 0;
};

void add_model(const LinkageModel &model, const Truth &truth, Deviations *deviations) {
  deviations->add(model.prior, truth.prior, model.prior_error);
  for (size_t c = 0; c < truth.m.size(); ++c)
    for (size_t level = 0; level < truth.m[c].size(); ++level) {
      const AgreementLevel &of = model.columns[c].levels[level];
      deviations->add(of.m, truth.m[c][level], of.m_error);
      deviations->add(of.u, truth.u[c][level], of.u_error);
      deviations->add(of.weight(), std::log2(truth.m[c][level] / truth.u[c][level]), of.weight_error);
    }
}

TEST(LinkageTest, RecoversAKnownModelWithinItsErrors) {
  Deviations deviations;
  Truth truth = usual;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    truth.nulls = seed % 2 == 0 ? 0 : 0.1;
    const LinkageModel model = Pairs(truth, 20000, seed).fit();
    EXPECT_TRUE(model.converged);
    add_model(model, truth, &deviations);
  }
  // Deviations in standard errors have a mean square of 1, if the errors are right.
  EXPECT_NEAR(deviations.squares / deviations.count, 1, 0.25);
}

TEST(LinkageTest, NoStepLowersTheObjective) {
  for (const double prior : {0.001, 0.2, 0.9}) {
    Truth truth = usual;
    truth.prior = prior;
    Pairs pairs(truth, 2000, 7);
    const Buffer<ComparisonVector> vectors = pairs.vectors();
    LinkageFit fit(vectors, pairs.levels(), never);
    double before = fit.step();
    for (int i = 0; i < 300; ++i) {
      const double after = fit.step();
      EXPECT_GE(after, before - 1e-9 * std::abs(before)) << prior << ", step " << i;
      before = after;
    }
  }
}

TEST(LinkageTest, MatchesAreTheClassThatAgreesMore) {
  for (const double prior : {0.02, 0.5, 0.95}) {
    Truth truth = usual;
    truth.prior = prior;
    const LinkageModel model = Pairs(truth, 20000, 3).fit();
    EXPECT_NEAR(model.prior, prior, 0.03);
    for (const ComparedColumn &column : model.columns) EXPECT_GT(column.highest_seen().weight(), 0);
  }
}

TEST(LinkageTest, WeightsDoNotFallFromLevelToLevel) {
  Truth truth = usual;
  truth.m[2] = {0.3, 0.1, 0.3, 0.3};
  truth.u[2] = {0.1, 0.5, 0.1, 0.3};
  const LinkageModel model = Pairs(truth, 20000, 3).fit();
  const auto &levels = model.columns[2].levels;
  for (size_t level = 1; level < levels.size(); ++level)
    EXPECT_GE(levels[level].weight(), levels[level - 1].weight() - 1e-9);
  EXPECT_NEAR(levels[0].weight(), levels[1].weight(), 1e-9);
  // The other columns do not suffer.
  EXPECT_NEAR(model.prior, truth.prior, 0.03);
  EXPECT_NEAR(model.columns[0].levels[2].m, truth.m[0][2], 0.05);
}

// Pairs that agree in one of two columns, since that is how they were found, are no matches.
TEST(LinkageTest, TheWayPairsWereFoundIsNoClass) {
  MemoryCounter memory;
  ComparisonCounts counts(memory);
  std::mt19937_64 random(1);
  std::uniform_real_distribution<> share;
  for (int i = 0; i < 5000; ++i) {
    const bool match = share(random) < 0.05, by_name = share(random) < 0.6;
    ComparisonVector vector;
    const auto agrees = [&](double otherwise) { return share(random) < (match ? 0.9 : otherwise) ? 1 : 0; };
    vector.set_level(0, agrees(by_name ? 1 : 0));
    vector.set_level(1, agrees(by_name ? 0 : 1));
    for (size_t c = 2; c < 5; ++c) vector.set_level(c, agrees(0.1));
    counts.add(vector);
  }
  const LinkageModel model = fit_linkage(counts.sorted(never), {2, 2, 2, 2, 2}, never);
  EXPECT_NEAR(model.prior, 0.05, 0.02);
}

TEST(LinkageTest, TheOrderOfPairsDoesNotMatter) {
  MemoryCounter memory;
  ComparisonCounts forwards(memory), backwards(memory);
  std::vector<ComparisonVector> all;
  Pairs pairs(usual, 3000, 5);
  for (const ComparisonVector &vector : pairs.vectors())
    for (uint64_t i = 0; i < vector.pairs; ++i) {
      ComparisonVector one = vector;
      one.pairs = 0;
      all.push_back(one);
    }
  for (size_t i = 0; i < all.size(); ++i) {
    forwards.add(all[i]);
    backwards.add(all[all.size() - 1 - i]);
  }
  const LinkageModel a = fit_linkage(forwards.sorted(never), pairs.levels(), never),
                     b = fit_linkage(backwards.sorted(never), pairs.levels(), never);
  EXPECT_EQ(a.prior, b.prior);
  EXPECT_EQ(a.columns[0].levels[1].m, b.columns[0].levels[1].m);
  EXPECT_EQ(a.prior_error, b.prior_error);
}

TEST(LinkageTest, ColumnsBeyondTheSixteenthCount) {
  Truth truth{0.3, {}, {}};
  for (size_t c = 0; c < most_compared_columns; ++c) {
    truth.m.push_back({0.2, 0.8});
    truth.u.push_back({0.9, 0.1});
  }
  const LinkageModel model = Pairs(truth, 5000, 1).fit();
  EXPECT_NEAR(model.prior, 0.3, 0.03);
  EXPECT_NEAR(model.columns[31].levels[1].m, 0.8, 0.05);
  EXPECT_NEAR(model.columns[16].levels[1].u, 0.1, 0.05);
}

void expect_refused(const Truth &truth, size_t count, const char *message) {
  Pairs pairs(truth, count, 1);
  const Buffer<ComparisonVector> vectors = pairs.vectors();
  try {
    fit_linkage(vectors, pairs.levels(), never);
    FAIL() << message;
  } catch (const Error &error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    EXPECT_STREQ(error.what(), message);
  }
}

TEST(LinkageTest, RefusesPairsThatTellNothing) {
  expect_refused(usual, 0, "there are no pairs");
  const std::string needs = "weights need 3 columns with different levels of agreement, and the pairs have ";
  expect_refused(usual, 1, (needs + "0").c_str());
  Truth nulls = usual;
  nulls.nulls = 1;
  expect_refused(nulls, 100, (needs + "0").c_str());
  Truth two = usual;
  two.m.resize(2);
  two.u.resize(2);
  expect_refused(two, 1000, (needs + "2").c_str());
}

TEST(LinkageTest, AConstantColumnWeighsNothing) {
  Truth truth = usual;
  truth.m.push_back({0, 1});
  truth.u.push_back({0, 1});
  const LinkageModel model = Pairs(truth, 20000, 2).fit();
  const AgreementLevel &always = model.columns[4].levels[1];
  EXPECT_FALSE(model.columns[4].informative());
  EXPECT_FALSE(model.columns[4].levels[0].seen());
  EXPECT_NEAR(always.weight(), 0, 1e-12);
  EXPECT_FALSE(always.weight_error.has_value());
  EXPECT_NEAR(model.prior, truth.prior, 0.03);
}

TEST(LinkageTest, ACancelEndsTheFit) {
  Pairs pairs(usual, 1000, 1);
  const Buffer<ComparisonVector> vectors = pairs.vectors();
  StopFlag stop;
  LinkageFit fit(vectors, pairs.levels(), stop);
  stop.set();
  EXPECT_THROW(fit.run(), Cancelled);
}

}  // namespace
}  // namespace simjoin::test
