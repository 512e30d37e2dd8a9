// Candidates that the engine passes to a verifier instead of verifying them itself.
#include "core/candidates/pair_verifier.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <mutex>
#include <optional>
#include <set>

#include "core/base/error.hpp"
#include "unit/drive.hpp"
#include "unit/random_sets.hpp"

namespace simjoin::test {
namespace {

// Verifies in the submitting thread, and remembers its candidates.
class PlainVerifier final : public PairVerifier {
 public:
  struct Record {
    std::set<std::pair<uint32_t, uint32_t>> pairs;
    bool repeated = false;
    bool finished = false;
    int failing_submit = -1;  // the number of a call that fails
  };
  explicit PlainVerifier(Record &record) : record_(record) {}

  void start(const JoinProblem &problem, ResultQueue &queue, const StopFlag &, bool swap) override {
    problem_ = &problem;
    writer_.emplace(queue, swap, problem.self_join());
  }
  void submit(std::span<const CandidatePair> pairs) override {
    const std::lock_guard lock(mutex_);
    if (record_.failing_submit-- == 0) throw Error(ErrorKind::device_failure, "injected", "none");
    for (const CandidatePair &pair : pairs) {
      record_.repeated |= !record_.pairs.emplace(pair.probe, pair.partner).second;
      const auto tokens = [](const SetCollection &sets, uint32_t set) {
        return std::span(sets.begin(set), sets.stored(set));
      };
      const auto size = [](const SetCollection &sets, uint32_t set) {
        return sets.classes[sets.class_of(set)].size;
      };
      const auto left = tokens(problem_->probe, pair.probe), right = tokens(problem_->index, pair.partner);
      std::vector<uint32_t> shared;
      std::set_intersection(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(shared));
      if (problem_->bounds.satisfied(static_cast<int64_t>(shared.size()), size(problem_->probe, pair.probe),
                                     size(problem_->index, pair.partner))) {
        writer_->emit(problem_->probe.rows[pair.probe], problem_->index.rows[pair.partner],
                      static_cast<uint32_t>(shared.size()));
      }
    }
  }
  void finish() override {
    record_.finished = true;
    writer_->flush();
  }
  void add_to(JoinStats &stats) const override { stats.device = "plain"; }

 private:
  Record &record_;
  std::mutex mutex_;
  const JoinProblem *problem_ = nullptr;
  std::optional<ResultWriter> writer_;
};

TEST(PairVerifier, GetsEveryCandidateOnce) {
  for (const Shape &shape : all_shapes) {
    for (Input<int32_t> input : {self_input(shape, 31), two_sided_input(shape, 32)}) {
      if (shape.rows > 150)
        input.left.insert(input.left.end(), 300, input.left.front());  // threads of its own
      const Oracle<int32_t> oracle(input);
      for (Measure measure : all_measures) {
        JoinSpec spec = make_spec(Algorithm::cpu_gpu, measure, 0.6);
        spec.self_join = input.self_join;
        PlainVerifier::Record record;
        const auto engine = make_cpu_engine(spec, std::make_unique<PlainVerifier>(record));
        feed(*engine, input);
        EXPECT_EQ(difference(oracle.join(measure, 0.6), pull(*engine)), "")
            << shape.name << ", " << name_of(measure);
        EXPECT_FALSE(record.repeated);
        EXPECT_TRUE(record.finished);
        EXPECT_EQ(engine->stats().device, "plain");
        EXPECT_EQ(engine->stats().algorithm, "cpu_gpu");
      }
    }
  }
}

TEST(PairVerifier, ItsFailureIsTheJoins) {
  PlainVerifier::Record record;
  record.failing_submit = 1;
  const Input<int32_t> input = self_input(Shape{"dense", 3000, shapes::dense}, 33);
  JoinSpec spec = make_spec(Algorithm::cpu_gpu, Measure::jaccard, 0.5);
  spec.self_join = true;
  const auto engine = make_cpu_engine(spec, std::make_unique<PlainVerifier>(record));
  feed(*engine, input);
  EXPECT_THROW(pull(*engine), Error);
}

// If every pair or none qualifies, there are no candidates to verify.
TEST(PairVerifier, StaysOutWhereThereIsNothingToVerify) {
  const Input<int32_t> input = self_input(all_shapes[0], 34);
  for (double threshold : {0.0, 2.0, std::numeric_limits<double>::quiet_NaN()}) {
    PlainVerifier::Record record;
    JoinSpec spec = make_spec(Algorithm::cpu_gpu, Measure::jaccard, threshold);
    spec.self_join = true;
    const auto engine = make_cpu_engine(spec, std::make_unique<PlainVerifier>(record));
    feed(*engine, input);
    EXPECT_EQ(pull(*engine).size(), threshold == 0.0 ? input.left.size() * (input.left.size() - 1) / 2 : 0);
    EXPECT_TRUE(record.pairs.empty());
  }
}

}  // namespace
}  // namespace simjoin::test
