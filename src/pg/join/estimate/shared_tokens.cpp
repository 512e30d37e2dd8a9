#include "pg/join/estimate/shared_tokens.hpp"

#include <algorithm>
#include <array>

#include "pg/base/growing_array.hpp"

namespace simjoin::pg {
namespace {

// A probability that differs from 1 by less than this is 1.
constexpr double negligible_error = 1e-3;

// Sums of more trials than this are taken as normally distributed.
constexpr int most_trials = 192;

// Returns the logarithm of n!. Up to usual sizes it comes from a table.
double log_factorial(double n) {
  static const auto table = [] {
    std::array<double, 256> logs = {};
    for (size_t i = 1; i < logs.size(); ++i) logs[i] = logs[i - 1] + std::log(static_cast<double>(i));
    return logs;
  }();
  return n < static_cast<double>(table.size()) ? table[static_cast<size_t>(n)] : std::lgamma(n + 1);
}

// Sets counts[k], up to `most`, to the probability that k of `trials` trials of the probability p succeed.
// The binomial distribution is computed from the side where it is not negligible.
void count_alike(int trials, double p, int most, double *counts) {
  const int top = Min(most, trials);
  if (p < 0.5) {
    counts[0] = std::pow(1 - p, trials);
    for (int k = 0; k < top; ++k) counts[k + 1] = counts[k] * (trials - k) / (k + 1) * p / (1 - p);
    return;
  }
  double probability = 1;
  for (int i = 0; i < top; ++i) probability *= (trials - i) * p / (i + 1);
  for (int i = top; i < trials; ++i) probability *= 1 - p;
  counts[top] = probability;
  for (int k = top; k > 0; --k) counts[k - 1] = counts[k] * k / (trials - k + 1) * (1 - p) / p;
}

}  // namespace

SharedTokens::SharedTokens(const SampleSet &set, const TokenDraws &draws)
    : trials_(static_cast<int>(set.size)), rare_(draws.rare()) {
  draws_ = allocate<float>(static_cast<size_t>(set.token_count));
  held_ = allocate<float>(static_cast<size_t>(set.token_count));
  for (int i = 0; i < set.token_count; ++i) {
    const double draw = draws(set.tokens[i]);
    if (draw == rare_) continue;
    draws_[known_++] = static_cast<float>(draw);
    sum_of_draws_ += draw;
  }
  sum_of_draws_ += (trials_ - known_) * rare_;
}

double SharedTokens::at_least(int needed, double other_size, const Negligible &negligible) {
  if (needed > trials_) return 0.0;
  // A trial's probability is at most draw * size, which may be enough to know.
  const double most = sum_of_draws_ * other_size;
  if (negligible.more_likely(needed - most, most)) return 0.0;
  double mean = 0, squares = 0;
  for (int i = 0; i < known_; ++i) {
    const double held = holds(draws_[i] * other_size);
    held_[i] = static_cast<float>(held);
    mean += held;
    squares += held * held;
  }
  const double rare = holds(rare_ * other_size);
  mean += (trials_ - known_) * rare;
  squares += (trials_ - known_) * rare * rare;
  const double excess = needed - mean, variance = mean - squares;
  if (negligible.more_likely(excess, variance)) return 0.0;
  if (Negligible(negligible_error).more_likely(-excess, variance)) return 1.0;
  if (trials_ > most_trials) return 0.5 * std::erfc((excess - 0.5) / std::sqrt(2 * variance + 1e-9));
  // More shared tokens than this are out of the question.
  const double most_shared = Max(mean, needed) + 6 * std::sqrt(variance) + 8;
  return Min(
      exactly_at_least(needed, static_cast<int>(Min(most_shared, trials_)), other_size, rare, mean, variance),
      1.0);
}

// Sets counts[k], up to `most`, to the probability that k of the trials succeed or, with `failures`, fail.
void SharedTokens::count(bool failures, int most, double rare, double *counts) const {
  const auto event = [&](double held) { return failures ? 1 - held : held; };
  count_alike(trials_ - known_, Min(event(rare), 1 - 1e-9), most, counts);
  for (int trial = 0; trial < known_; ++trial) {
    const double p = event(held_[trial]);
    for (int k = Min(most, trials_ - known_ + trial + 1); k > 0; --k)
      counts[k] = counts[k] * (1 - p) + counts[k - 1] * p;
    counts[0] *= 1 - p;
  }
}

// Returns the probability from the distribution of the number of shared tokens, or of tokens that are not
// shared, whichever takes less time. The other set must have as many tokens as its size says. The number of
// its tokens that are not among ours is taken as a Poisson variable with the mean `others`. `mean` and
// `variance` are those of the shared tokens.
double SharedTokens::exactly_at_least(int needed, int most_shared, double other_size, double rare,
                                      double mean, double variance) const {
  const bool failures = trials_ - needed <= most_shared;
  if (failures) most_shared = trials_;
  double counts[most_trials + 1] = {};
  count(failures, failures ? trials_ - needed : most_shared, rare, counts);
  const double others = Max(other_size - mean, 1e-3);
  const double any_size = 1 / std::sqrt(2 * M_PI * (variance + others));
  int shared = Min(most_shared, static_cast<int>(other_size));
  double left = other_size - shared, sum = 0;
  double as_many_left = std::exp(left * std::log(others) - others - log_factorial(left));
  for (; shared >= needed; --shared) {
    sum += counts[failures ? trials_ - shared : shared] * as_many_left;
    as_many_left *= others / ++left;
  }
  return sum / Max(any_size, 1e-9);
}

}  // namespace simjoin::pg
