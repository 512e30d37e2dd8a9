#include "core/choose.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <numeric>

#include "core/parity_signature.hpp"

namespace simjoin {
namespace {

// Costs of one thread in nanoseconds. Only their proportions matter. They were adjusted until the choice was
// right on generated collections shaped like DBLP, KOSARAK, BMS-POS, ENRON and TWITTER at thresholds 0.5 to
// 0.9, on a Cascade Lake (AVX-512BW, 2.5 GHz) that had other work to do.
constexpr double bitmap_pair_ns[] = {0.75, 0.95, 1.2, 1.9, 3.7};  // of 64, 128, 256, 512, 1024 bits
constexpr double verify_pair_ns = 60;                             // a pair that fails, whatever its size
constexpr double verify_token_ns = 0.7;                           // for each token of the two sets
constexpr double signed_posting_ns = 1;                           // passed over for its signature
constexpr double near_posting_ns = 25;                            // counted, and verified where new
constexpr double probe_ns = 150;                                  // whatever its lists
constexpr double prefix_token_ns = 60;                            // finding a list and its part for the sizes

// Two generators in one join cost memory and time of their own: the second must save this share.
constexpr double least_gain = 0.1;
// A size band with less than this share of the time is not looked at closely.
constexpr double least_share = 0.03;
constexpr uint32_t sampled_pairs = 2048;
constexpr uint32_t pairs_a_band = 512;
// Fewer pairs than this are compared before a sample of them is.
constexpr uint64_t pairs_worth_sampling = uint64_t{1} << 23;
// The least time through the prefix index, in nanoseconds, that is worth looking for a better way.
constexpr double time_worth_choosing = 4e6;
constexpr uint32_t sampled_probes = 16;  // a class
constexpr uint32_t layouts_words[] = {1, 2, 4, 8, 16};

struct SampledPair {
  uint32_t probe;
  uint32_t partner;
  uint32_t required;
};

class Random {
 public:
  // Returns a number below `limit`.
  uint64_t below(uint64_t limit) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint64_t>(static_cast<unsigned __int128>(state_) * limit >> 64);
  }

 private:
  uint64_t state_ = 88172645463325252u;
};

uint64_t pairs_of_class(const JoinProblem &problem, uint32_t probe_class) {
  const SizeClass &c = problem.probe.classes[probe_class];
  const uint64_t sets = c.end - c.begin;
  const ProbeClass &bounds = problem.probe_classes[probe_class];
  if (bounds.class_begin == bounds.class_end) return 0;
  const uint64_t first = problem.first_partner(probe_class);
  if (problem.self_join()) return sets * (c.begin - first) + sets * (sets - 1) / 2;
  return sets * (problem.end_partner(probe_class, c.begin) - first);
}

// Returns `count` pairs of compatible sizes, drawn evenly from all those of the probes of some classes.
std::vector<SampledPair> sample_pairs(const JoinProblem &problem, const std::vector<uint32_t> &probe_classes,
                                      uint32_t count) {
  std::vector<uint64_t> ends;  // of each class's pairs
  uint64_t total = 0;
  for (const uint32_t k : probe_classes) ends.push_back(total += pairs_of_class(problem, k));
  std::vector<SampledPair> pairs;
  Random random;
  for (uint32_t i = 0; i < count && total > 0; ++i) {
    const auto at = std::upper_bound(ends.begin(), ends.end(), random.below(total)) - ends.begin();
    const uint32_t k = probe_classes[static_cast<size_t>(at)];
    const SizeClass &c = problem.probe.classes[k];
    const auto probe = static_cast<uint32_t>(c.begin + random.below(c.end - c.begin));
    const uint32_t first = problem.first_partner(k), end = problem.end_partner(k, probe);
    if (first >= end) continue;
    const auto partner = static_cast<uint32_t>(first + random.below(end - first));
    const uint32_t partner_size = problem.index.classes[problem.index.class_of(partner)].size;
    pairs.push_back(
        {probe, partner, static_cast<uint32_t>(problem.bounds.min_overlap(c.size, partner_size))});
  }
  return pairs;
}

// Returns the share of the pairs that bitmaps of the layout leave.
double pass_rate(const JoinProblem &problem, const std::vector<SampledPair> &pairs,
                 const SignatureLayout &layout, const StopFlag &stop) {
  constexpr size_t check_interval = 64;
  uint64_t a[max_signature_words], b[max_signature_words];
  size_t passed = 0;
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (i % check_interval == 0) stop.check();
    const SampledPair &pair = pairs[i];
    const uint32_t x = layout.sign(problem.probe.begin(pair.probe), problem.probe.stored(pair.probe), a);
    const uint32_t y = layout.sign(problem.index.begin(pair.partner), problem.index.stored(pair.partner), b);
    passed += overlap_bound(a, x, b, y, layout.words) >= pair.required;
  }
  return pairs.empty() ? 0 : static_cast<double>(passed) / static_cast<double>(pairs.size());
}

struct BitmapCost {
  SignatureLayout layout;
  double pair_ns = 0;
  double rate = 0;
};

// Returns what a pair costs through bitmaps of a layout, verification of what it leaves included.
BitmapCost bitmap_cost(const JoinProblem &problem, const std::vector<SampledPair> &pairs,
                       const SignatureLayout &layout, const StopFlag &stop) {
  double tokens = 0;
  for (const SampledPair &pair : pairs) {
    tokens += problem.probe.stored(pair.probe) + problem.index.stored(pair.partner);
  }
  const double pair_tokens = pairs.empty() ? 0 : tokens / static_cast<double>(pairs.size());
  BitmapCost cost;
  cost.layout = layout;
  cost.rate = pass_rate(problem, pairs, layout, stop);
  cost.pair_ns = bitmap_pair_ns[std::countr_zero(layout.words)] +
                 cost.rate * (verify_pair_ns + verify_token_ns * pair_tokens);
  return cost;
}

// Returns the layout that makes a pair cheapest; tries fewer unless `thorough`.
BitmapCost choose_layout(const JoinProblem &problem, const std::vector<SampledPair> &pairs, bool thorough,
                         const StopFlag &stop) {
  BitmapCost best;
  for (const uint32_t words : layouts_words) {
    const uint32_t bits = words * 64;
    if (best.pair_ns != 0 && bitmap_pair_ns[std::countr_zero(words)] > best.pair_ns) break;
    for (const uint32_t own : {bits / 2, 0u, bits / 4, bits * 3 / 4}) {
      if (own != bits / 2 && !thorough) break;
      const SignatureLayout layout{words, std::min(own, problem.index.ranks), problem.index.ranks};
      const BitmapCost cost = bitmap_cost(problem, pairs, layout, stop);
      if (best.pair_ns == 0 || cost.pair_ns < best.pair_ns) best = cost;
    }
  }
  return best;
}

std::vector<uint32_t> all_classes(const JoinProblem &problem) {
  std::vector<uint32_t> classes(problem.probe_classes.size());
  std::iota(classes.begin(), classes.end(), 0u);
  return classes;
}

// Returns the probe classes cut into bands, within which the largest set is less than twice the smallest:
// sets so alike that one sample of pairs stands for all.
std::vector<std::vector<uint32_t>> size_bands(const JoinProblem &problem) {
  std::vector<std::vector<uint32_t>> bands;
  int current = -1;
  for (const uint32_t k : all_classes(problem)) {
    const int octave = std::bit_width(problem.probe.classes[k].size);
    if (octave != current) bands.emplace_back();
    current = octave;
    bands.back().push_back(k);
  }
  return bands;
}

// Returns how many index prefixes contain each rank.
Buffer<uint32_t> count_postings(const JoinProblem &problem, const StopFlag &stop, MemoryCounter &memory) {
  constexpr uint32_t check_interval = 1u << 14;
  const SetCollection &sets = problem.index;
  Buffer<uint32_t> counts(memory, sets.ranks, 0);
  for (size_t k = 0; k < sets.classes.size(); ++k) {
    const SizeClass &c = sets.classes[k];
    for (uint32_t set = c.begin; set < c.end; ++set) {
      if (set % check_interval == 0) stop.check();
      const uint32_t prefix = sets.stored_prefix(set, c.size, problem.index_prefix[k]);
      for (uint32_t i = 0; i < prefix; ++i) ++counts[sets.begin(set)[i]];
    }
  }
  return counts;
}

// Returns the share of the pairs that the signatures in the prefix index leave.
double near_rate(const JoinProblem &problem, const std::vector<SampledPair> &pairs) {
  size_t compared = 0, near = 0;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const uint32_t probe_class = problem.probe.class_of(pairs[i].probe);
    const uint32_t most = problem.most_differences(probe_class);
    ++compared;
    if (most >= useful_differences) {
      ++near;
      continue;
    }
    const uint32_t r = problem.probe.classes[probe_class].size;
    const uint32_t s = problem.index.classes[problem.index.class_of(pairs[i].partner)].size;
    const uint64_t difference = parity_signature(problem.probe, pairs[i].probe, r) ^
                                parity_signature(problem.index, pairs[i].partner, s);
    near += static_cast<uint32_t>(std::popcount(difference)) <= most;
  }
  return compared == 0 ? 0 : static_cast<double>(near) / static_cast<double>(compared);
}

// Returns the estimated nanoseconds of the probes of a class through the prefix index, whose signatures leave
// the share `near` of the pairs.
double prefix_cost(const JoinProblem &problem, const Buffer<uint32_t> &counts, uint32_t probe_class,
                   double near, Random &random) {
  const SizeClass &c = problem.probe.classes[probe_class];
  const ProbeClass &bounds = problem.probe_classes[probe_class];
  const uint32_t sets = c.end - c.begin;
  const uint32_t samples = std::min(sets, sampled_probes);
  double postings = 0, tokens = 0;
  for (uint32_t i = 0; i < samples; ++i) {
    const auto set = static_cast<uint32_t>(c.begin + random.below(sets));
    const uint32_t prefix = problem.probe.stored_prefix(set, c.size, bounds.prefix);
    tokens += prefix;
    for (uint32_t t = 0; t < prefix; ++t) postings += counts[problem.probe.begin(set)[t]];
  }
  const double partners = static_cast<double>(pairs_of_class(problem, probe_class)) /
                          (static_cast<double>(sets) * problem.index.sets());
  const double each = signed_posting_ns + near * near_posting_ns;
  return sets * (probe_ns + (tokens * prefix_token_ns + postings * partners * each) / samples);
}

std::string describe_layout(const BitmapCost &bitmap) {
  char text[200];
  std::snprintf(text, sizeof text, "bitmaps of %u bits leave %.4f%% of a sample of the pairs: %.2f ns a pair",
                bitmap.layout.words * 64, bitmap.rate * 100, bitmap.pair_ns);
  return text;
}

// What each generator would cost, class by class.
class Comparison {
 public:
  Comparison(const JoinProblem &problem, WorkerPool &pool, MemoryCounter &memory)
      : problem_(problem), stop_(pool.stop()), bands_(size_bands(problem)) {
    const Buffer<uint32_t> counts = count_postings(problem, stop_, memory);
    Random random;
    for (const std::vector<uint32_t> &band : bands_) {
      const double near = near_rate(problem, sample_pairs(problem, band, pairs_a_band));
      for (const uint32_t k : band) {
        stop_.check();
        prefix_ns_.push_back(prefix_cost(problem, counts, k, near, random));
      }
    }
    use_bitmap_.assign(prefix_ns_.size(), false);
    for (const uint32_t k : all_classes(problem)) {
      bitmap_ns_.push_back(static_cast<double>(pairs_of_class(problem, k)) * bitmap_pair_ns[0]);
      prefix_total_ += prefix_ns_[k];
    }
    for (const std::vector<uint32_t> &band : bands_) {
      least_total_ += std::min(band_ns(band, prefix_ns_), band_ns(band, bitmap_ns_));
    }
  }

  // Chooses for each class: first with the best layout of its band, then again with the one layout that suits
  // all pairs of the classes chosen.
  void compare_bands() {
    if (prefix_total_ < time_worth_choosing) return;
    choose_classes(nullptr);
    if (!worthwhile()) return;
    std::vector<uint32_t> chosen;
    for (const uint32_t k : all_classes(problem_)) {
      if (use_bitmap_[k]) chosen.push_back(k);
    }
    const BitmapCost bitmap =
        choose_layout(problem_, sample_pairs(problem_, chosen, sampled_pairs), true, stop_);
    choose_classes(&bitmap.layout);
    plan_.layout = bitmap.layout;
    plan_.reasons.push_back(describe_layout(bitmap));
    worthwhile();
  }

  GeneratorPlan plan() {
    describe_choice(false, "prefix index", "bitmaps");
    describe_choice(true, "bitmaps", "prefix index");
    plan_.use_bitmap = use_bitmap_;
    return std::move(plan_);
  }

 private:
  void choose_classes(const SignatureLayout *layout) {
    for (const std::vector<uint32_t> &band : bands_) {
      stop_.check();
      if (hopeless(band, layout == nullptr ? least_share * least_total_ : 0)) continue;
      const std::vector<SampledPair> pairs = sample_pairs(problem_, band, pairs_a_band);
      const BitmapCost cost = layout != nullptr ? bitmap_cost(problem_, pairs, *layout, stop_)
                                                : choose_layout(problem_, pairs, false, stop_);
      for (const uint32_t k : band) {
        bitmap_ns_[k] = static_cast<double>(pairs_of_class(problem_, k)) * cost.pair_ns;
        use_bitmap_[k] = bitmap_ns_[k] < prefix_ns_[k];
      }
    }
  }

  // Returns whether bitmaps cannot be better for a band, or there is less than `least_ns` to save.
  bool hopeless(const std::vector<uint32_t> &band, double least_ns) const {
    const double prefix = band_ns(band, prefix_ns_);
    return band_ns(band, bitmap_ns_) >= prefix || prefix < least_ns;
  }

  static double band_ns(const std::vector<uint32_t> &band, const std::vector<double> &class_ns) {
    double sum = 0;
    for (const uint32_t k : band) sum += class_ns[k];
    return sum;
  }

  // Returns whether the chosen bitmaps save enough; gives them up where they do not.
  bool worthwhile() {
    if (gain() >= least_gain) return true;
    use_bitmap_.assign(use_bitmap_.size(), false);
    return false;
  }

  // Returns the share of the time through the prefix index alone that the chosen bitmaps save.
  double gain() const {
    double alone = 0, mixed = 0;
    for (size_t k = 0; k < prefix_ns_.size(); ++k) {
      alone += prefix_ns_[k];
      mixed += use_bitmap_[k] ? bitmap_ns_[k] : prefix_ns_[k];
    }
    return 1 - mixed / alone;
  }

  void describe_choice(bool bitmaps, const char *name, const char *other_name) {
    uint64_t sets = 0;
    double cost = 0, other = 0;
    for (size_t k = 0; k < prefix_ns_.size(); ++k) {
      if (use_bitmap_[k] != bitmaps) continue;
      sets += problem_.probe.classes[k].end - problem_.probe.classes[k].begin;
      cost += bitmaps ? bitmap_ns_[k] : prefix_ns_[k];
      other += bitmaps ? prefix_ns_[k] : bitmap_ns_[k];
    }
    if (sets == 0) return;
    char text[200];
    std::snprintf(text, sizeof text,
                  "%llu sets through %s: an estimated %.1f ms of one core, against %.1f through %s",
                  static_cast<unsigned long long>(sets), name, cost / 1e6, other / 1e6, other_name);
    plan_.reasons.push_back(text);
  }

  const JoinProblem &problem_;
  const StopFlag &stop_;
  const std::vector<std::vector<uint32_t>> bands_;
  std::vector<double> prefix_ns_;  // by probe class
  std::vector<double> bitmap_ns_;  // of bands that were not looked at closely, the least it can be
  double prefix_total_ = 0;
  double least_total_ = 0;
  std::vector<bool> use_bitmap_;
  GeneratorPlan plan_;
};

}  // namespace

GeneratorPlan choose_bitmaps(const JoinProblem &problem, const StopFlag &stop) {
  GeneratorPlan plan;
  plan.use_bitmap.assign(problem.probe_classes.size(), true);
  plan.layout.ranks = problem.index.ranks;
  plan.layout.own = std::min(plan.layout.words * 32, problem.index.ranks);
  if (problem.compatible_pairs() < pairs_worth_sampling) return plan;
  const BitmapCost bitmap =
      choose_layout(problem, sample_pairs(problem, all_classes(problem), sampled_pairs), true, stop);
  plan.layout = bitmap.layout;
  plan.reasons.push_back(describe_layout(bitmap));
  return plan;
}

GeneratorPlan choose_generators(const JoinProblem &problem, WorkerPool &pool, MemoryCounter &memory) {
  Comparison comparison(problem, pool, memory);
  comparison.compare_bands();
  return comparison.plan();
}

}  // namespace simjoin
