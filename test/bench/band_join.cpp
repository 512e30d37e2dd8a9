#include "bench/band_join.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <span>

#include "core/lsh/lsh_join.hpp"
#include "core/minhash/minhash_plan.hpp"
#include "core/set_slices.hpp"

namespace simjoin::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Collection collection_of(const std::string &profile, double scale) {
  const Profile *shape = find_profile(profile);
  if (shape == nullptr) {
    std::fprintf(stderr, "there is no profile %s\n", profile.c_str());
    std::exit(1);
  }
  GenerateOptions options;
  options.scale = scale;
  return generate(*shape, options);
}

SimilarPairs run_join(JoinEngine &engine, const Collection &collection) {
  SimilarPairs result;
  const auto begin = Clock::now();
  for (size_t i = 0; i < collection.size(); ++i) {
    const auto set = collection.set(i);
    const auto size = static_cast<uint32_t>(set.size());
    engine.add(Side::left, row_of(std::span(reinterpret_cast<const int32_t *>(set.data()), size), size));
  }
  const auto added = Clock::now();
  Batch batch;
  for (StepResult step; (step = engine.step(std::chrono::milliseconds(10), batch)) != StepResult::done;) {
    if (step != StepResult::batch) continue;
    for (size_t i = 0; i < batch.size(); ++i) {
      const uint32_t a = std::min(batch.left[i], batch.right[i]), b = std::max(batch.left[i], batch.right[i]);
      result.pairs.push_back(uint64_t{a} << 32 | b);
      result.similarities.push_back(similarity(Measure::jaccard, batch.overlap[i],
                                               engine.set_size(Side::left, a),
                                               engine.set_size(Side::left, b)));
    }
  }
  result.seconds_after_input = seconds_since(added);
  result.seconds = seconds_since(begin);
  result.device = engine.stats().device;
  return result;
}

}  // namespace

BandJoin::BandJoin(const std::string &profile, double scale, double threshold, int threads)
    : profile_(profile),
      scale_(scale),
      threshold_(threshold),
      threads_(threads),
      collection_(collection_of(profile, scale)) {
  JoinSpec spec;
  spec.threshold = threshold;
  spec.self_join = true;
  spec.threads = threads;
  const auto engine = make_engine(spec);
  exact_ = run_join(*engine, collection_);
  std::sort(exact_.pairs.begin(), exact_.pairs.end());
}

bool BandJoin::run(Device device, int repeats) const {
  LshSpec spec;
  spec.threshold = threshold_;
  spec.self_join = true;
  spec.plan = best_band_plan(threshold_, spec.permutations);
  spec.threads = threads_;
  spec.device = device;
  SimilarPairs found;
  LshStats stats;
  for (int i = 0; i < repeats; ++i) {
    const auto engine = make_lsh_join(spec);
    SimilarPairs run = run_join(*engine, collection_);
    stats = engine->lsh_stats();
    if (i == 0 || run.seconds_after_input < found.seconds_after_input) found = std::move(run);
  }
  double predicted = 0;
  for (const double similarity : exact_.similarities)
    predicted += candidate_probability(spec.plan, similarity);
  const auto pairs = static_cast<double>(exact_.pairs.size());
  std::printf(
      "join by bands, %s %g, %zu sets at %g, %u bands of %u rows, %s: %.3f s, %.3f s of it after the last "
      "set "
      "(exact, %s: %.3f s and %.3f s), %llu candidates, %zu of %zu pairs, recall %.4f, predicted %.4f\n",
      profile_.c_str(), scale_, collection_.size(), threshold_, spec.plan.bands, spec.plan.rows,
      found.device.c_str(), found.seconds, found.seconds_after_input, exact_.device.c_str(), exact_.seconds,
      exact_.seconds_after_input, static_cast<unsigned long long>(stats.candidates), found.pairs.size(),
      exact_.pairs.size(), static_cast<double>(found.pairs.size()) / pairs, predicted / pairs);
  std::fflush(stdout);
  const bool known = std::all_of(found.pairs.begin(), found.pairs.end(), [&](uint64_t pair) {
    return std::binary_search(exact_.pairs.begin(), exact_.pairs.end(), pair);
  });
  if (!known) std::printf("WRONG: a pair that the exact join has not\n");
  return known;
}

}  // namespace simjoin::bench
