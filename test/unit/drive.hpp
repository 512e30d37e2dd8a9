// Feeds an engine and takes its pairs, with the checks that hold for every join.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/base/packed_texts.hpp"
#include "core/join.hpp"
#include "core/set_slices.hpp"
#include "unit/oracle.hpp"
#include "unit/process.hpp"

namespace simjoin::test {

// A join of test size that takes more processor time does not end.
inline constexpr std::chrono::seconds patience{120};
inline constexpr std::chrono::microseconds step_budget{10'000};

// Adds a row of integers or texts.
template <class Token, size_t Extent>
void add_set(JoinEngine &engine, Side side, std::span<Token, Extent> set, const double *weights = nullptr) {
  if constexpr (std::is_integral_v<std::remove_const_t<Token>>) {
    const auto count = static_cast<uint32_t>(set.size());
    engine.add(side, row_of(std::span<const Token>(set), count, weights));
  } else {
    TextPacker packer;
    for_each_token(std::span<const Token>(set), [&](std::string_view text) { packer.add(text); });
    const PackedTexts texts = packer.texts();
    engine.add(side, row_of(texts, weights));
  }
}

// Adds a row, and gives the engine a file if it wants one.
template <class Token>
void add_row(JoinEngine &engine, Side side, const std::vector<Token> &set) {
  add_set(engine, side, std::span(set));
  if (engine.wants_spill_file()) engine.set_spill_file(unlinked_file(), UINT64_MAX);
}

template <class Token>
void feed(JoinEngine &engine, const Input<Token> &input) {
  for (const auto &set : input.left) add_row(engine, Side::left, set);
  if (!input.self_join) {
    for (const auto &set : input.right) add_row(engine, Side::right, set);
  }
}

// Appends a batch's pairs. Throws if the batch is malformed.
inline void collect(const Batch &batch, std::vector<Pair> &pairs) {
  if (batch.size() == 0) throw std::logic_error("a batch without pairs");
  if (batch.right.size() != batch.size() || batch.overlap.size() != batch.size()) {
    throw std::logic_error("a batch with columns of different lengths");
  }
  for (size_t i = 0; i < batch.size(); ++i)
    pairs.push_back({batch.left[i], batch.right[i], batch.overlap[i]});
}

// Notes what an engine says of the share of its work that is done. Throws if that falls, or is no share.
class ShareCheck {
 public:
  void look(const JoinEngine &engine) {
    const double now = engine.share_done();
    if (now == unknown_share && last_ == unknown_share) return;
    if (!(now >= last_ && now >= 0 && now <= 1))
      throw std::logic_error("a share of " + std::to_string(now) + " after " + std::to_string(last_));
    last_ = now;
  }
  double last() const { return last_; }

 private:
  double last_ = unknown_share;
};

// Steps until done and returns the pairs in ascending order, repeated ones included. With `share` (may be
// null), checks what the engine says of it.
inline std::vector<Pair> pull(JoinEngine &engine, ShareCheck *share = nullptr) {
  const auto begin = processor_time();
  std::vector<Pair> pairs;
  Batch batch;
  for (;;) {
    const StepResult result = engine.step(step_budget, batch);
    if (share != nullptr) share->look(engine);
    if (result == StepResult::done) break;
    if (result == StepResult::batch) collect(batch, pairs);
    if (processor_time() - begin > patience) throw std::runtime_error("the join does not end");
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

// Runs a whole join and returns its pairs in ascending order. Gives its figures if `stats` is not null.
template <class Token>
std::vector<Pair> run(JoinSpec spec, const Input<Token> &input, JoinStats *stats = nullptr) {
  spec.self_join = input.self_join;
  const std::unique_ptr<JoinEngine> engine = make_cpu_engine(spec);
  feed(*engine, input);
  ShareCheck share;
  std::vector<Pair> pairs = pull(*engine, &share);
  if (share.last() != 1 && !std::isnan(spec.threshold))
    throw std::logic_error("a join ends before its work is done");
  if (stats != nullptr) *stats = engine->stats();
  return pairs;
}

inline JoinSpec make_spec(Algorithm algorithm, Measure measure, double threshold, int threads = 2) {
  JoinSpec spec;
  spec.algorithm = algorithm;
  spec.measure = measure;
  spec.threshold = threshold;
  spec.threads = threads;
  return spec;
}

inline constexpr Algorithm all_algorithms[] = {Algorithm::automatic, Algorithm::allpairs, Algorithm::ppjoin,
                                               Algorithm::groupjoin, Algorithm::bitmap};
inline constexpr Measure all_measures[] = {Measure::jaccard,
                                           Measure::cosine,
                                           Measure::dice,
                                           Measure::overlap,
                                           Measure::overlap_coefficient,
                                           Measure::containment,
                                           Measure::reverse_containment};

inline std::string name_of(Algorithm algorithm) {
  return std::string(algorithm_names[static_cast<size_t>(algorithm)]);
}
inline std::string name_of(Measure measure) {
  return (measure == Measure::reverse_containment ? "reverse_" : "") + std::string(measure_name(measure));
}

// Returns a short description of the difference of two results, for a failing test's message. It is empty if
// they are equal.
inline std::string difference(const std::vector<Pair> &expected, const std::vector<Pair> &actual) {
  if (expected == actual) return {};
  constexpr size_t shown = 5;
  std::vector<Pair> missing, extra;
  std::set_difference(expected.begin(), expected.end(), actual.begin(), actual.end(),
                      std::back_inserter(missing));
  std::set_difference(actual.begin(), actual.end(), expected.begin(), expected.end(),
                      std::back_inserter(extra));
  std::string text = std::to_string(expected.size()) + " pairs expected, " + std::to_string(actual.size()) +
                     " found; " + std::to_string(missing.size()) + " missing";
  const auto list = [&](const std::vector<Pair> &pairs) {
    for (size_t i = 0; i < std::min(shown, pairs.size()); ++i) {
      text += " (" + std::to_string(pairs[i].left) + ", " + std::to_string(pairs[i].right) + "; " +
              std::to_string(pairs[i].overlap) + ")";
    }
  };
  list(missing);
  text += ", " + std::to_string(extra.size()) + " too many";
  list(extra);
  return text;
}

}  // namespace simjoin::test
