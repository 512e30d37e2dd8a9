#include "core/weighted/weighted_choice.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "core/base/costs.hpp"
#include "core/weighted/weighted_device.hpp"
#include "core/weighted/weighted_index.hpp"
#include "core/weighted/weighted_search.hpp"

namespace simjoin {
namespace {

// The sets of a sample, and about the tokens that they have at most.
constexpr uint64_t sample_sets = 2000;
constexpr uint64_t sample_tokens = uint64_t{1} << 20;

// A sample of the sets of a side: every step-th one.
class Sample {
 public:
  Sample(uint64_t sets, uint64_t tokens, WeightFormat format, MemoryCounter &memory)
      : sets_({format.wide, false}, memory),
        step_(std::max<uint64_t>(1, std::max(sets / sample_sets, tokens / sample_tokens))) {
    sets_.starts.push_back(0);
  }

  void add(const WeightedSets &from, const StopFlag &stop) {
    for (uint32_t number = 0; number < from.sets(); ++number, ++seen_) {
      if (seen_ % step_ != 0) continue;
      stop.check();
      const WeightedSet set = from[number];
      for (uint32_t i = 0; i < set.count; ++i)
        sets_.push_token(set.ranks[i],
                         from.format.wide ? set.doubles[i] : static_cast<double>(set.floats[i]));
      sets_.push_set(set.row, set.total, set.stored);
    }
  }

  const WeightedSets &sets() const { return sets_; }
  // Returns how many sets each set of the sample stands for.
  double step() const { return static_cast<double>(step_); }

 private:
  WeightedSets sets_;
  const uint64_t step_;
  uint64_t seen_ = 0;
};

struct Size {
  uint64_t sets = 0;
  uint64_t tokens = 0;
};

Size probes_of(const WeightedLoad &load) {
  if (load.probes == nullptr) return {load.index.sets(), load.index.tokens()};
  Size size;
  for (const WeightedBlock &block : *load.probes) {
    size.sets += block.count;
    size.tokens += block.tokens;
  }
  return size;
}

// Returns why no GPU can do the join; null if one can.
const char *no_gpu_for(const WeightedLoad &load, const WeightedBounds &bounds) {
  if (join_backend() != nullptr && join_backend()->weighted() == nullptr)
    return "the GPU engine has no joins of sets with weights";
  if (bounds.every_pair()) return "every pair reaches the threshold";
  if (load.largest_set > most_weighted_gpu_tokens) return "a set is too large for a GPU";
  return nullptr;
}

}  // namespace

double estimate_candidates(const WeightedLoad &load, const WeightedBounds &bounds, WorkerPool &pool,
                           MemoryCounter &memory) {
  const WeightFormat format = load.index.format;
  Sample index(load.index.sets(), load.index.tokens(), format, memory);
  index.add(load.index, pool.stop());
  const Size size = probes_of(load);
  Sample other(size.sets, size.tokens, format, memory);
  if (load.probes != nullptr)
    for (const WeightedBlock &block : *load.probes) other.add(block.sets, pool.stop());
  const Sample &probes = load.probes == nullptr ? index : other;
  const WeightedIndex lists(index.sets(), bounds, load.ranks, pool, memory);
  WeightedSearch search(bounds, load.probes == nullptr, pool.stop(), memory);
  search.turn_to(lists);
  return static_cast<double>(search.count_candidates(probes.sets(), 0, probes.sets().sets())) * index.step() *
         probes.step();
}

bool choose_device(GpuAttempt &attempt, const WeightedLoad &load, const WeightedBounds &bounds,
                   WorkerPool &pool, MemoryCounter &memory) {
  constexpr double always = std::numeric_limits<double>::infinity();
  if (attempt.device() == Device::cpu) return false;
  if (const char *reason = no_gpu_for(load, bounds)) {
    attempt.refuse(reason);
    return false;
  }
  if (attempt.device() == Device::gpu || !no_gpu_reason().empty()) return attempt.choose(always, 0);
  const Size probes = probes_of(load);
  const auto sets = static_cast<double>(load.index.sets()), probe_sets = static_cast<double>(probes.sets);
  const double tokens =
      static_cast<double>(load.index.tokens() + (load.probes == nullptr ? 0 : probes.tokens));
  const double size = tokens / std::max(1.0, sets + (load.probes == nullptr ? 0 : probe_sets));
  const double cpu_pair = costs::weighted::cpu_pair + costs::weighted::cpu_pair_token * size;
  const auto cpu_ms = [&](double candidates) { return candidates * cpu_pair / pool.workers() * 1e-6; };
  const auto gpu_ms = [&](double candidates) {
    return costs::weighted::gpu_join_ms +
           (tokens * costs::weighted::gpu_token + candidates * size * costs::weighted::gpu_pair_token) * 1e-6;
  };
  // No sample is taken if a GPU would not pay even with all pairs as candidates.
  const double pairs = load.probes == nullptr ? sets * sets / 2 : sets * probe_sets;
  if (!pays_for_gpu_start(cpu_ms(pairs) - gpu_ms(0), *join_backend())) {
    attempt.refuse(cpu_is_faster);
    return false;
  }
  const double candidates = estimate_candidates(load, bounds, pool, memory);
  const double token_bytes = sizeof(uint32_t) + (load.index.format.wide ? sizeof(double) : sizeof(float));
  return attempt.choose(cpu_ms(candidates), gpu_ms(candidates), tokens * token_bytes);
}

}  // namespace simjoin
