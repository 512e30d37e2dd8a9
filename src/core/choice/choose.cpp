#include "core/choice/choose.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "core/base/costs.hpp"
#include "core/candidates/prefix/equal_sets.hpp"
#include "core/candidates/prefix/parity_signature.hpp"
#include "core/choice/choose_layout.hpp"
#include "core/choice/pair_sample.hpp"

namespace simjoin {
namespace {

namespace candidates = costs::candidates;

// A ParityTable pays if at least this many postings are counted for each token that it reads.
constexpr double least_counted_postings = 1;
// Two generators in one join cost memory and time of their own: the second must save at least this share.
constexpr double least_gain = 0.1;
// A band with less than this share of the time is not examined closely.
constexpr double least_share = 0.02;
constexpr uint32_t pairs_per_band = 512;
constexpr uint32_t probes_per_band = 256;
constexpr uint64_t tokens_per_band = uint64_t{1} << 16;  // of the sampled pairs, and of the sampled probes
constexpr uint64_t counted_tokens = uint64_t{1} << 19;
// With fewer pairs than this, the pairs are compared without a sample.
constexpr uint64_t pairs_worth_sampling = uint64_t{1} << 23;
// The frequencies of ranks in index prefixes, estimated from every n-th set.
struct PostingCounts {
  Buffer<uint32_t> counts;
  double scale;               // true postings for each counted one
  std::vector<double> below;  // postings of the classes below each one

  // Returns the share of all postings that belong to partners of a probe class. Longer sets have more
  // postings.
  double share(const ProbeClass &partners) const {
    return below.back() > 0 ? (below[partners.class_end] - below[partners.class_begin]) / below.back() : 0;
  }
};

PostingCounts count_postings(const JoinProblem &problem, const StopFlag &stop, MemoryCounter &memory) {
  constexpr uint32_t check_interval = 1u << 14;
  const SetCollection &sets = problem.index;
  const auto stride = static_cast<uint32_t>(sets.tokens.size() / counted_tokens + 1);
  PostingCounts postings{Buffer<uint32_t>(memory, sets.ranks, 0), static_cast<double>(stride), {0}};
  for (size_t k = 0; k < sets.classes.size(); ++k) {
    const double count = sets.classes[k].end - sets.classes[k].begin;
    postings.below.push_back(postings.below.back() + count * problem.index_prefix[k]);
  }
  uint32_t size_class = 0;
  for (uint64_t at = 0; at < sets.sets(); at += stride) {
    const auto set = static_cast<uint32_t>(at);
    if (at / stride % check_interval == 0) stop.check();
    while (set >= sets.classes[size_class].end) ++size_class;
    const uint32_t prefix =
        sets.stored_prefix(set, sets.classes[size_class].size, problem.index_prefix[size_class]);
    for (uint32_t i = 0; i < prefix; ++i) ++postings.counts[sets.begin(set)[i]];
  }
  return postings;
}

// Returns the share of the pairs that the signatures in the prefix index do not rule out.
double near_rate(const JoinProblem &problem, const std::vector<SampledPair> &pairs) {
  size_t near = 0;
  for (const SampledPair &pair : pairs) {
    const uint64_t difference =
        parity_signature(problem.probe, pair.probe, problem.probe.classes[pair.probe_class].size) ^
        parity_signature(problem.index, pair.partner, problem.index.classes[pair.index_class].size);
    near += static_cast<uint32_t>(std::popcount(difference)) <= problem.most_differences(pair.probe_class);
  }
  return pairs.empty() ? 0 : static_cast<double>(near) / static_cast<double>(pairs.size());
}

// The average work of a probe of a band in the prefix index, from a sample.
struct PrefixWork {
  double tokens = 0;    // tokens of the prefix
  double postings = 0;  // postings of compatible sizes
};

PrefixWork prefix_work(const JoinProblem &problem, const PostingCounts &postings, const SizeBand &band) {
  const uint32_t first = problem.probe.classes[band.begin].begin;
  Random random(band.begin);
  PrefixWork work;
  uint32_t samples = 0;
  for (uint64_t read = 0; samples < probes_per_band && read < tokens_per_band; ++samples) {
    const auto set = static_cast<uint32_t>(first + random.below(band.sets));
    const uint32_t k = problem.probe.class_of(set);
    const uint32_t prefix =
        problem.probe.stored_prefix(set, problem.probe.classes[k].size, problem.probe_classes[k].prefix);
    work.tokens += prefix;
    uint64_t listed = 0;
    for (uint32_t i = 0; i < prefix; ++i) listed += postings.counts[problem.probe.begin(set)[i]];
    work.postings += static_cast<double>(listed) * postings.scale * postings.share(problem.probe_classes[k]);
    read += prefix + 1;
  }
  work.tokens /= samples;
  work.postings /= samples;
  return work;
}

// A band, and its cost in nanoseconds by each generator.
struct Estimate {
  SizeBand band{};
  double signed_ns = 0;  // through the prefix index with signatures, a share of building it included
  double plain_ns = 0;   // the same without signatures
  double postings = 0;   // postings counted if the probes are looked up one by one
  bool sweeps = false;   // with signatures, the probes are swept
  double bitmap_ns = 0;  // the least possible cost if the band was not examined closely
  BitmapCost bitmap{};
  bool compared = false;  // whether layouts of bitmaps were compared
  bool use_bitmap = false;

  double prefix_ns() const { return std::min(signed_ns, plain_ns); }
};

// The probes bear `index_share` of the index's costs for each of their tokens.
void estimate_prefix(const JoinProblem &problem, const PostingCounts &postings, double index_share,
                     Estimate &estimate) {
  const SizeBand &band = estimate.band;
  const uint32_t middle = band.begin + (band.end - band.begin) / 2;
  if (only_equal_sets(problem, middle)) {
    estimate.signed_ns = estimate.plain_ns = band.sets * candidates::equal_probe;
    return;
  }
  const PrefixWork work = prefix_work(problem, postings, band);
  const double sets = band.sets, size = problem.probe.classes[middle].size;
  const double index = index_share * work.tokens * candidates::index_token;
  // A signature takes all tokens of a set, however short its prefix is.
  const double signature = size * candidates::parity_token;
  const double sign = index_share * (work.tokens * candidates::sign_posting + signature);
  const double units = candidates::unit_probe + work.tokens * candidates::unit_token +
                       work.postings * candidates::unit_posting;
  estimate.postings = sets * work.postings;
  estimate.plain_ns = sets * (index + units);
  estimate.signed_ns = estimate.plain_ns + sets * sign;
  estimate.sweeps = problem.most_differences(middle) < useful_differences;
  if (!estimate.sweeps) return;
  const double near = near_rate(problem, sample_pairs(problem, band, pairs_per_band, tokens_per_band));
  const double posting_ns =
      candidates::signed_posting + near * (candidates::near_posting + candidates::near_token * size);
  estimate.signed_ns =
      sets * (index + sign + signature + work.tokens * candidates::sweep_token + work.postings * posting_ns);
}

// Returns the nanoseconds of signing a band's probes.
double sign_ns(const JoinProblem &problem, const SizeBand &band) {
  return static_cast<double>(band.sets) * problem.probe.classes[band.end - 1].size * candidates::sign_token;
}

// Returns the estimates of all bands. Layouts of bitmaps are chosen only for bands that bitmaps might suit
// better.
std::vector<Estimate> estimate_bands(const JoinProblem &problem, double index_share, WorkerPool &pool,
                                     MemoryCounter &memory) {
  std::vector<Estimate> estimates;
  for (const SizeBand &band : size_bands(problem)) estimates.emplace_back().band = band;
  const PostingCounts postings = count_postings(problem, pool.stop(), memory);
  pool.parallel(estimates.size(), [&](int, size_t i) {
    Estimate &e = estimates[i];
    if (e.band.pairs == 0) return;
    pool.stop().check();
    estimate_prefix(problem, postings, index_share, e);
    e.bitmap_ns = static_cast<double>(e.band.pairs) * least_bitmap_pair_ns();
  });
  double prefix_total = 0, least_total = 0;
  for (const Estimate &e : estimates) {
    prefix_total += e.prefix_ns();
    least_total += std::min(e.prefix_ns(), e.bitmap_ns);
  }
  if (prefix_total < index_share * candidates::worth_choosing) return estimates;
  pool.parallel(estimates.size(), [&](int, size_t i) {
    Estimate &e = estimates[i];
    if (e.bitmap_ns >= e.prefix_ns() || e.prefix_ns() < least_share * least_total) return;
    e.compared = true;
    e.bitmap = choose_layout(problem, e.band, pool.stop());
    e.bitmap_ns = static_cast<double>(e.band.pairs) * e.bitmap.pair_ns + sign_ns(problem, e.band);
    e.use_bitmap = e.bitmap_ns < e.prefix_ns();
  });
  return estimates;
}

// Gives up bitmaps if they save too little.
void drop_small_gain(std::vector<Estimate> &estimates) {
  double alone = 0, mixed = 0;
  for (const Estimate &e : estimates) {
    alone += e.prefix_ns();
    mixed += e.use_bitmap ? e.bitmap_ns : e.prefix_ns();
  }
  if (alone - mixed >= least_gain * alone) return;
  for (Estimate &e : estimates) e.use_bitmap = false;
}

void describe_bitmaps(const JoinProblem &problem, const SizeBand &band, const BitmapCost &bitmap,
                      GeneratorPlan &plan) {
  char text[200];
  std::snprintf(
      text, sizeof text,
      "bitmaps of %u bits for sets of %u to %u tokens leave up to %.4f%% of the pairs: %.2f ns a pair",
      bitmap.layout.words * 64, problem.probe.classes[band.begin].size,
      problem.probe.classes[band.end - 1].size, bitmap.rate * 100, bitmap.pair_ns);
  plan.reasons.push_back(text);
}

// Describes the sets that go through bitmaps, or those that do not. The cost through bitmaps is a lower bound
// for bands that were not examined closely. It is left out if it says nothing.
void describe_choice(const std::vector<Estimate> &estimates, bool bitmaps, GeneratorPlan &plan) {
  uint64_t sets = 0;
  double prefix = 0, bitmap = 0;
  bool all_compared = true;
  for (const Estimate &e : estimates) {
    if (e.use_bitmap != bitmaps) continue;
    sets += e.band.sets;
    prefix += e.prefix_ns();
    bitmap += e.bitmap_ns;
    all_compared &= e.compared;
  }
  if (sets == 0) return;
  const char *names[] = {plan.sign_postings ? "prefix index with signatures" : "prefix index", "bitmaps"};
  const double chosen = bitmaps ? bitmap : prefix, other = bitmaps ? prefix : bitmap;
  char text[200];
  const int length =
      std::snprintf(text, sizeof text, "%llu sets through %s: an estimated %.1f ms of one core",
                    static_cast<unsigned long long>(sets), names[bitmaps], chosen / 1e6);
  if (all_compared || other >= chosen) {
    std::snprintf(text + length, sizeof text - static_cast<size_t>(length), ", against %s%.1f through %s",
                  all_compared ? "" : "at least ", other / 1e6, names[!bitmaps]);
  }
  plan.reasons.push_back(text);
}

void set_band(const SizeBand &band, bool use_bitmap, const SignatureLayout &layout, GeneratorPlan &plan) {
  for (uint32_t k = band.begin; k < band.end; ++k) {
    plan.use_bitmap[k] = use_bitmap;
    plan.layouts[k] = layout;
  }
}

// Decides on signatures of postings and sets, for the bands that go through the prefix index. The estimates
// are for `share` of the probes.
void choose_signatures(const JoinProblem &problem, const std::vector<Estimate> &estimates, double share,
                       GeneratorPlan &plan) {
  double with = 0, without = 0, counted = 0;
  for (const Estimate &e : estimates) {
    if (e.use_bitmap) continue;
    with += e.signed_ns;
    without += e.plain_ns;
  }
  plan.sign_postings = with <= without;
  for (const Estimate &e : estimates) {
    if (!e.use_bitmap && !(e.sweeps && plan.sign_postings)) counted += e.postings;
  }
  plan.sign_sets =
      counted > share * least_counted_postings * static_cast<double>(problem.index.tokens.size());
}

// The cost of all bands through bitmaps of one layout.
struct OneLayout {
  SignatureLayout layout;
  double ns = std::numeric_limits<double>::infinity();
};

// Returns the layout, among those of the bands, that makes all bands cheapest. If no band has a layout, the
// cost is infinite.
OneLayout best_for_all(const JoinProblem &problem, const std::vector<Estimate> &estimates,
                       const StopFlag &stop) {
  OneLayout best;
  for (const Estimate &candidate : estimates) {
    if (!candidate.compared) continue;
    double total = 0;
    for (const Estimate &e : estimates) {
      if (e.band.pairs == 0) continue;
      const BitmapCost cost = cost_of_layout(problem, e.band, candidate.bitmap.layout, stop);
      total += static_cast<double>(e.band.pairs) * cost.pair_ns + sign_ns(problem, e.band);
    }
    if (total < best.ns) best = {candidate.bitmap.layout, total};
  }
  return best;
}

}  // namespace

GeneratorPlan choose_bitmaps(const JoinProblem &problem, const StopFlag &stop) {
  const uint32_t ranks = problem.index.ranks;
  SignatureLayout layout;
  layout.ranks = ranks;
  layout.own = std::min(layout.words * 32, ranks);
  GeneratorPlan plan;
  plan.use_bitmap.assign(problem.probe_classes.size(), true);
  plan.layouts.assign(problem.probe_classes.size(), layout);
  plan.layout = layout;
  if (problem.compatible_pairs() < pairs_worth_sampling) return plan;
  uint64_t most_pairs = 0;
  for (const SizeBand &band : size_bands(problem)) {
    if (band.pairs == 0) continue;
    const BitmapCost bitmap = choose_layout(problem, band, stop);
    set_band(band, true, bitmap.layout, plan);
    if (band.pairs >= most_pairs) plan.layout = bitmap.layout;
    most_pairs = std::max(most_pairs, band.pairs);
    describe_bitmaps(problem, band, bitmap, plan);
  }
  return plan;
}

GeneratorPlan choose_generators(const JoinProblem &problem, WorkerPool &pool, MemoryCounter &memory) {
  std::vector<Estimate> estimates = estimate_bands(problem, 1, pool, memory);
  drop_small_gain(estimates);
  GeneratorPlan plan;
  plan.use_bitmap.assign(problem.probe_classes.size(), false);
  plan.layouts.resize(problem.probe_classes.size());
  double most_saved = 0;
  for (const Estimate &e : estimates) {
    const double saved = e.prefix_ns() - e.bitmap_ns;
    if (e.use_bitmap && saved >= most_saved) {
      plan.layout = e.bitmap.layout;
      most_saved = saved;
    }
    set_band(e.band, e.use_bitmap, e.bitmap.layout, plan);
    if (e.compared) describe_bitmaps(problem, e.band, e.bitmap, plan);
  }
  choose_signatures(problem, estimates, 1, plan);
  describe_choice(estimates, false, plan);
  describe_choice(estimates, true, plan);
  return plan;
}

GeneratorPlan choose_one_generator(const JoinProblem &problem, double sampled_share, WorkerPool &pool,
                                   MemoryCounter &memory) {
  const std::vector<Estimate> estimates = estimate_bands(problem, sampled_share, pool, memory);
  double prefix = 0;
  for (const Estimate &e : estimates) prefix += e.prefix_ns();
  const OneLayout bitmaps = best_for_all(problem, estimates, pool.stop());
  GeneratorPlan plan;
  plan.use_bitmap.assign(problem.probe_classes.size(), bitmaps.ns < prefix);
  plan.layout = bitmaps.layout;
  choose_signatures(problem, estimates, sampled_share, plan);
  return plan;
}

}  // namespace simjoin
