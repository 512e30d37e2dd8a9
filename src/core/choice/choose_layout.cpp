#include "core/choice/choose_layout.hpp"

#include <algorithm>
#include <bit>

#include "core/base/costs.hpp"

namespace simjoin {
namespace {

namespace candidates = costs::candidates;
static_assert(std::size(candidates::bitmap_pair) == static_cast<size_t>(std::bit_width(max_signature_words)));

constexpr uint32_t sampled_pairs = 2048;
constexpr uint64_t sampled_tokens = uint64_t{1} << 16;
// The widest layout tried has this many bits per token of the band's largest sets.
constexpr uint64_t most_bits_per_token = 16;

// The number of passing pairs that is added to those of a sample, since none in a sample is not none in all.
// `least_passed` is for comparing the layouts of one band. `doubtful_passed` is for comparing bitmaps with
// the index, for sets that the layout was not made for. Of long sets, few pairs are sampled. With the smaller
// number, bitmaps of 512 bits seemed to suit enron-shaped sets of 300 to 600 tokens at 0.5, which took six
// times as long.
constexpr double least_passed = 0.25;
constexpr double doubtful_passed = 1;

// Returns the share of the pairs that bitmaps of the layout do not rule out.
double pass_rate(const JoinProblem &problem, const std::vector<SampledPair> &pairs,
                 const SignatureLayout &layout, double added, const StopFlag &stop) {
  constexpr size_t check_interval = 64;
  std::vector<uint64_t> a(layout.words), b(layout.words);
  size_t passed = 0;
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (i % check_interval == 0) stop.check();
    const SampledPair &pair = pairs[i];
    const uint32_t x =
        layout.sign(problem.probe.begin(pair.probe), problem.probe.stored(pair.probe), a.data());
    const uint32_t y =
        layout.sign(problem.index.begin(pair.partner), problem.index.stored(pair.partner), b.data());
    passed += overlap_bound(a.data(), x, b.data(), y, layout.words) >= pair.required;
  }
  return (static_cast<double>(passed) + added) / (static_cast<double>(pairs.size()) + 1);
}

BitmapCost bitmap_cost(const JoinProblem &problem, const std::vector<SampledPair> &pairs,
                       const SignatureLayout &layout, double added, const StopFlag &stop) {
  double tokens = 0;
  for (const SampledPair &pair : pairs) {
    tokens += problem.probe.stored(pair.probe) + problem.index.stored(pair.partner);
  }
  const double pair_tokens = pairs.empty() ? 0 : tokens / static_cast<double>(pairs.size());
  BitmapCost cost;
  cost.layout = layout;
  cost.rate = pass_rate(problem, pairs, layout, added, stop);
  cost.pair_ns = candidates::bitmap_pair[std::countr_zero(layout.words)] +
                 cost.rate * (candidates::verify_pair + candidates::verify_token * pair_tokens);
  return cost;
}

}  // namespace

double least_bitmap_pair_ns() {
  return candidates::bitmap_pair[0];
}

uint32_t widest_layout_words(uint32_t size) {
  const uint64_t words = std::bit_floor(most_bits_per_token * std::max(size, 4u) / 64);
  return static_cast<uint32_t>(std::min<uint64_t>(words, max_signature_words));
}

BitmapCost cost_of_layout(const JoinProblem &problem, const SizeBand &band, const SignatureLayout &layout,
                          const StopFlag &stop) {
  return bitmap_cost(problem, sample_pairs(problem, band, sampled_pairs, sampled_tokens), layout,
                     doubtful_passed, stop);
}

BitmapCost choose_layout(const JoinProblem &problem, const SizeBand &band, const StopFlag &stop) {
  const std::vector<SampledPair> pairs = sample_pairs(problem, band, sampled_pairs, sampled_tokens);
  const uint32_t size = problem.probe.classes[band.end - 1].size;
  const uint32_t ranks = problem.index.ranks;
  BitmapCost best;
  const auto attempt = [&](uint32_t words, uint32_t own) {
    const SignatureLayout layout{words, std::min(own, ranks), ranks};
    const BitmapCost cost = bitmap_cost(problem, pairs, layout, least_passed, stop);
    if (best.pair_ns == 0 || cost.pair_ns < best.pair_ns) best = cost;
  };
  const uint32_t widest = widest_layout_words(size);
  for (uint32_t words = 1; words <= widest; words *= 2) {
    const uint32_t bits = words * 64;
    if (2 * bits < size && words < widest) continue;
    if (best.pair_ns != 0 && candidates::bitmap_pair[std::countr_zero(words)] > best.pair_ns) break;
    attempt(words, bits / 2);
  }
  const uint32_t words = best.layout.words, bits = words * 64;
  for (const uint32_t own : {0u, bits / 4, bits * 3 / 4}) attempt(words, own);
  return best;
}

}  // namespace simjoin
