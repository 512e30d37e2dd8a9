// Joins whose caller asks only whether rows have partners. Every row with a partner is reported, and pairs
// that are left out concern no other row.
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <tuple>

#include "core/lsh/lsh_join.hpp"
#include "unit/cpu_time.hpp"
#include "unit/drive.hpp"
#include "unit/random_sets.hpp"

namespace simjoin::test {
namespace {

// The join's other conditions on a left and a right row.
using Filter = std::function<bool(uint32_t left, uint32_t right)>;

struct NamedFilter {
  const char *name;
  Filter accepts;
};

void PrintTo(const NamedFilter &filter, std::ostream *out) {
  *out << filter.name;
}

const NamedFilter filters[] = {
    {"any", [](uint32_t, uint32_t) { return true; }},
    {"none", [](uint32_t, uint32_t) { return false; }},
    {"smaller_row", [](uint32_t left, uint32_t right) { return right < left; }},
    {"few", [](uint32_t left, uint32_t right) { return (left * 31 + right) % 97 == 0; }},
};

// Uses the pairs of an engine as a semi join does.
class Caller {
 public:
  Caller(size_t left_rows, bool self_join, Filter filter)
      : self_join_(self_join), filter_(std::move(filter)), bits_(left_rows / 8 + 1, 0), done_{bits_.data()} {}

  const DoneRows &done() const { return done_; }
  bool is_done(uint32_t row) const { return done_.is_done(row); }
  // Returns the number of pairs, repeated ones included.
  size_t handed_over() const { return handed_over_; }

  void pull_all(JoinEngine &engine) {
    const auto begin = processor_time();
    Batch batch;
    for (;;) {
      const StepResult result = engine.step(step_budget, batch);
      if (result == StepResult::done) break;
      if (result == StepResult::batch) look_at(batch);
      ASSERT_LT(processor_time() - begin, patience) << "the join does not end";
    }
    handed_over_ = pairs_.size();
    std::sort(pairs_.begin(), pairs_.end());
    pairs_.erase(std::unique(pairs_.begin(), pairs_.end()), pairs_.end());
  }

  // Returns the rows that the pairs satisfy.
  std::set<uint32_t> rows_with_partner(const std::vector<Pair> &pairs) const {
    std::set<uint32_t> rows;
    for (const Pair &pair : pairs) {
      if (filter_(pair.left, pair.right)) rows.insert(pair.left);
      if (self_join_ && filter_(pair.right, pair.left)) rows.insert(pair.right);
    }
    return rows;
  }

  // Expects that the engine left out only unneeded pairs. `all` are the pairs of the join.
  void expect_enough_of(const std::vector<Pair> &all) const {
    EXPECT_TRUE(std::includes(all.begin(), all.end(), pairs_.begin(), pairs_.end()))
        << difference(all, pairs_);
    EXPECT_EQ(rows_with_partner(pairs_), rows_with_partner(all));
    std::vector<Pair> missing;
    std::set_difference(all.begin(), all.end(), pairs_.begin(), pairs_.end(), std::back_inserter(missing));
    for (const Pair &pair : missing) {
      EXPECT_TRUE(is_done(pair.left) && (!self_join_ || is_done(pair.right))) << pair << " is missing";
    }
  }

 private:
  void look_at(const Batch &batch) {
    collect(batch, pairs_);
    for (size_t i = 0; i < batch.size(); ++i) {
      if (filter_(batch.left[i], batch.right[i])) set_done(batch.left[i]);
      if (self_join_ && filter_(batch.right[i], batch.left[i])) set_done(batch.right[i]);
    }
  }
  void set_done(uint32_t row) {
    std::atomic_ref(bits_[row / 8]).fetch_or(static_cast<uint8_t>(1u << row % 8));
  }

  const bool self_join_;
  const Filter filter_;
  std::vector<uint8_t> bits_;
  DoneRows done_;
  std::vector<Pair> pairs_;
  size_t handed_over_ = 0;
};

// Runs the join on threads, within the limit, and hands its pairs to the caller.
void run_for(Caller &caller, JoinSpec spec, const Input<int32_t> &input, JoinStats *stats = nullptr) {
  spec.self_join = input.self_join;
  spec.done_rows = &caller.done();
  const std::unique_ptr<JoinEngine> engine = make_cpu_engine(spec);
  feed(*engine, input);
  caller.pull_all(*engine);
  if (stats != nullptr) *stats = engine->stats();
}

// Returns families of copies and near-copies with more than 20,000 tokens: a join on threads.
Input<int32_t> families(bool self_join) {
  constexpr size_t rows = 640;
  RandomSets random(91);
  IntSets sets;
  for (int32_t size : {8, 35, 60}) {
    const IntSet original = random.set(size, 4000);
    for (size_t i = 0; i < rows / 4; ++i)
      sets.push_back(random.edited(original, random.between(0, 8) == 0, 4000));
  }
  while (sets.size() < rows) sets.push_back(random.set(random.between(1, 60), 4000));
  random.shuffle(sets);
  Input<int32_t> input;
  input.self_join = self_join;
  input.left = sets;
  if (self_join) return input;
  input.right.assign(sets.begin(), sets.begin() + 400);
  input.left.erase(input.left.begin(), input.left.begin() + 100);
  return input;
}

class DoneRowsTest : public testing::TestWithParam<std::tuple<Algorithm, NamedFilter>> {};

INSTANTIATE_TEST_SUITE_P(Every, DoneRowsTest,
                         testing::Combine(testing::ValuesIn(all_algorithms), testing::ValuesIn(filters)),
                         [](const auto &info) {
                           return name_of(std::get<0>(info.param)) + "_" + std::get<1>(info.param).name;
                         });

TEST_P(DoneRowsTest, FamiliesOfCopies) {
  const auto &[algorithm, filter] = GetParam();
  for (const bool self_join : {true, false}) {
    static const Input<int32_t> inputs[] = {families(false), families(true)};
    static const Oracle<int32_t> oracles[] = {Oracle<int32_t>(inputs[0]), Oracle<int32_t>(inputs[1])};
    const Input<int32_t> &input = inputs[self_join];
    const Oracle<int32_t> &oracle = oracles[self_join];
    for (const double threshold : {0.0, 0.7, 0.85, 1.0}) {
      // In memory twice, in memory once, and in dozens of parts. The time grows with the square of the parts.
      for (const size_t limit : {size_t{1} << 30, size_t{1} << 20, size_t{1} << 15}) {
        SCOPED_TRACE("self-join " + std::to_string(self_join) + ", threshold " + std::to_string(threshold) +
                     ", limit " + std::to_string(limit));
        JoinSpec spec = make_spec(algorithm, Measure::jaccard, threshold);
        spec.memory_limit = limit;
        Caller caller(input.left.size(), self_join, filter.accepts);
        run_for(caller, spec, input);
        caller.expect_enough_of(oracle.join(Measure::jaccard, threshold));
      }
    }
  }
}

TEST_P(DoneRowsTest, RandomCollections) {
  const auto &[algorithm, filter] = GetParam();
  for (const Shape &shape : all_shapes) {
    for (const bool self_join : {true, false}) {
      SCOPED_TRACE(std::string(shape.name) + ", self-join " + std::to_string(self_join));
      const Input<int32_t> input =
          with_unrelated_rows(self_join ? self_input(shape, 92) : two_sided_input(shape, 92));
      Caller caller(input.left.size(), self_join, filter.accepts);
      run_for(caller, make_spec(algorithm, Measure::dice, 0.6), input);
      caller.expect_enough_of(Oracle<int32_t>(input).join(Measure::dice, 0.6));
    }
  }
}

class CopiesTest : public testing::TestWithParam<Algorithm> {
 protected:
  static constexpr size_t copies = 3000;

  // Expects that a join of equal sets hands over only few of its pairs.
  static void expect_few_pairs(bool self_join, double threshold, const Filter &filter) {
    Input<int32_t> input;
    input.self_join = self_join;
    IntSet set(20);
    for (int32_t i = 0; i < 20; ++i) set[static_cast<size_t>(i)] = i;
    input.left.assign(copies, set);
    if (!self_join) input.right.assign(copies + 100, set);
    Caller caller(copies, self_join, filter);
    JoinStats stats;
    run_for(caller, make_spec(GetParam(), Measure::jaccard, threshold), input, &stats);
    // The number of pairs grows with the square of the copies in a family, but the pairs handed over must be
    // only a few per row.
    EXPECT_LT(caller.handed_over(), 200 * copies);
    EXPECT_LE(stats.verified, 200 * copies);
    EXPECT_EQ(stats.output, caller.handed_over());
    EXPECT_GE(stats.left_out + stats.verified,
              self_join ? copies * (copies - 1) / 2 : copies * (copies + 100));
  }
};

INSTANTIATE_TEST_SUITE_P(Every, CopiesTest, testing::ValuesIn(all_algorithms),
                         [](const auto &info) { return name_of(info.param); });

TEST_P(CopiesTest, GiveFewPairs) {
  for (const bool self_join : {true, false}) {
    for (const double threshold : {0.0, 0.8, 1.0}) {
      SCOPED_TRACE("self-join " + std::to_string(self_join) + ", threshold " + std::to_string(threshold));
      expect_few_pairs(self_join, threshold, [](uint32_t left, uint32_t right) { return right != left; });
      expect_few_pairs(self_join, threshold, [](uint32_t left, uint32_t right) {
        return (left * 7919 % 3001) > (right * 7919 % 3001) || left == 0;
      });
    }
  }
}

// If a caller stops early, workers are still waiting for it.
TEST_P(CopiesTest, EndAtOnce) {
  const Input<int32_t> input = families(true);
  Caller caller(input.left.size(), true, filters[0].accepts);
  JoinSpec spec = make_spec(GetParam(), Measure::jaccard, 0.7);
  spec.self_join = true;
  spec.done_rows = &caller.done();
  for (int steps = 0; steps < 4; ++steps) {
    std::unique_ptr<JoinEngine> engine = make_cpu_engine(spec);
    feed(*engine, input);
    Batch batch;
    for (int i = 0; i < steps; ++i) engine->step(step_budget, batch);
    EXPECT_TRUE(ends_at_once([&] { engine.reset(); })) << steps << " steps";
  }
}

TEST(DoneRowsBands, FamiliesOfCopies) {
  for (const NamedFilter &filter : filters) {
    for (const bool self_join : {true, false}) {
      SCOPED_TRACE(std::string(filter.name) + ", self-join " + std::to_string(self_join));
      const Input<int32_t> input = families(self_join);
      LshSpec spec;
      spec.self_join = self_join;
      spec.threads = 2;
      spec.threshold = 0.7;
      const auto everything = make_lsh_join(spec);
      feed(*everything, input);
      const std::vector<Pair> all = pull(*everything);
      for (const size_t limit : {spec.memory_limit, size_t{1}}) {
        Caller caller(input.left.size(), self_join, filter.accepts);
        spec.done_rows = &caller.done();
        spec.memory_limit = limit;
        const auto engine = make_lsh_join(spec);
        feed(*engine, input);
        caller.pull_all(*engine);
        caller.expect_enough_of(all);
        const LshStats stats = engine->lsh_stats();
        EXPECT_EQ(stats.output, caller.handed_over()) << limit;
        EXPECT_EQ(stats.candidates, everything->lsh_stats().candidates) << limit;
      }
    }
  }
}

TEST(DoneRowsBands, CopiesGiveFewPairs) {
  constexpr size_t copies = 3000;
  LshSpec spec;
  spec.self_join = true;
  spec.threads = 2;
  Caller caller(copies, true, filters[0].accepts);
  spec.done_rows = &caller.done();
  const auto engine = make_lsh_join(spec);
  for (size_t i = 0; i < copies; ++i) add_row(*engine, Side::left, IntSet{1, 2, 3, 4, 5});
  caller.pull_all(*engine);
  for (uint32_t row = 0; row < copies; ++row) EXPECT_TRUE(caller.is_done(row));
  EXPECT_LT(caller.handed_over(), copies * copies / 8);
}

}  // namespace
}  // namespace simjoin::test
