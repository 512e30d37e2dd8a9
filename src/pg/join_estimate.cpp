// The model. Similar pairs are of four kinds, whose numbers are added up:
//
// - Equal sets, which the statistics of the column count as for `=`: most common values and distinct values.
// - Pairs that are similar by chance. The statistics have a sample of the sets, and the frequency of tokens.
//   For each set of the sample, the probability that another one shares enough of its tokens is that of a sum
//   of independent trials, one a token: the other set draws its tokens independently, by their frequency. Of
//   two sets the larger one is looked at in this way. It has few subsets, so that where all sets differ it
//   has few partners of a size at which only subsets qualify, however frequent its tokens: without that
//   bound, independence puts the pairs of collections of tiny sets (baskets, clicks, search terms) too high
//   by factors of a hundred.
// - Pairs that are similar because their tokens depend on each other, as within families of similar sets.
//   Where such pairs are frequent, the sample itself has some: where there are enough to go by, their share
//   counts in the place of the estimate by chance. (The sample is spread evenly over the sets in their order:
//   families of less than a hundredth of the rows tend to have one member in it and do not show.)
// - Near-duplicates, copies that have been edited. They are too few to be seen in any sample: it is assumed
//   that a share of the rows has one.
//
// The idea to estimate the result of a similarity join from a sample and from an assumption on what the
// sample cannot show is that of Lee, Ng and Shim (Similarity join size estimation using locality sensitive
// hashing, 2011); distribution of the sum: Wang (On the number of successes in independent trials, 1993).
#include "pg/join_estimate.hpp"

#include <algorithm>
#include <cmath>

#include "pg/tokens.hpp"

namespace simjoin::pg {
namespace {

// The share of rows that are edited copies of another row, the Jaccard similarity of the two being anything
// between 1/2 and 1. No statistics tell it; collections on which set-similarity joins are published have 0.05
// to 0.25.
constexpr double near_duplicate_share = 0.1;

// Pairs found in the sample from which on their number is an estimate. A set of a common token alone can be
// similar to many others: pairs of different sets are meant.
constexpr int convincing_pairs = 4;

// What a row's expected number of partners has to reach to count, a size of partners at a time.
constexpr double negligible_pairs_a_row = 1e-3;

constexpr int64_t largest_set = INT32_MAX;

// Sums of more trials than this are taken as normally distributed.
constexpr int most_trials = 192;

// What a set of the sample shares with another one of a given size: a sum of independent trials, one a token.
class SharedTokens {
 public:
  // Allocates in the current memory context.
  SharedTokens(const SampleSet &set, const TokenDraws &draws)
      : trials_(static_cast<int>(set.size)), known_(set.token_count), rare_(draws.rare()) {
    draws_ = allocate<float>(static_cast<size_t>(known_));
    sum_of_draws_ = (trials_ - known_) * rare_;
    for (int i = 0; i < known_; ++i) {
      draws_[i] = static_cast<float>(draws(set.tokens[i]));
      sum_of_draws_ += draws_[i];
    }
  }

  // Returns the probability that at least `needed` tokens are shared; 0 where it is below `negligible`.
  double at_least(int needed, double other_size, double negligible) const {
    if (needed > trials_) return 0.0;
    // A trial's probability is at most draw * size: that may be all there is to know.
    const double most = sum_of_draws_ * other_size;
    if (tail_bound(needed - most, most) < negligible) return 0.0;
    double mean = 0, variance = 0;
    for (int i = 0; i < known_; ++i) {
      const double held = holds(draws_[i] * other_size);
      mean += held;
      variance += held * (1 - held);
    }
    const double rare = holds(rare_ * other_size);
    mean += (trials_ - known_) * rare;
    variance += (trials_ - known_) * rare * (1 - rare);
    const double excess = needed - mean;
    if (tail_bound(excess, variance) < negligible) return 0.0;
    if (trials_ > most_trials) return 0.5 * std::erfc((excess - 0.5) / std::sqrt(2 * variance + 1e-9));
    return Min(exactly_at_least(needed, other_size, other_size - mean, variance), 1.0);
  }

 private:
  // Bernstein's inequality
  static double tail_bound(double excess, double variance) {
    return excess <= 0 ? 1.0 : std::exp(-excess * excess / (2 * (variance + excess / 3)));
  }

  // From the distribution of the number of trials that fail, up to the number that may: trial after trial.
  // The other set's tokens must be as many as its size says: of its tokens that are not among ours, `others`
  // are expected, and their number is taken as a Poisson variable. (Variance is that of the shared tokens.)
  double exactly_at_least(int needed, double other_size, double others, double variance) const {
    const int most_failures = trials_ - needed;
    double failures[most_trials + 1] = {1.0};
    for (int trial = 0; trial < trials_; ++trial) {
      const double held = holds((trial < known_ ? draws_[trial] : rare_) * other_size);
      for (int k = Min(most_failures, trial + 1); k > 0; --k)
        failures[k] = failures[k] * held + failures[k - 1] * (1 - held);
      failures[0] *= held;
    }
    others = Max(others, 1e-3);
    const double any_size = 1 / std::sqrt(2 * M_PI * (variance + others));
    double sum = 0;
    for (int k = 0; k <= most_failures; ++k) {
      const double left = other_size - (trials_ - k);
      if (left < 0) continue;
      sum += failures[k] * std::exp(left * std::log(others) - others - std::lgamma(left + 1));
    }
    return sum / Max(any_size, 1e-9);
  }

  int trials_, known_;
  float *draws_;  // of the known tokens
  double rare_;   // of each of the others
  double sum_of_draws_;
};

// Returns the number of subsets of a size, or `most` where there are more.
double subsets(int set_size, int subset_size, double most) {
  double count = 1;
  for (int i = 0; i < Min(subset_size, set_size - subset_size) && count < most; ++i)
    count *= static_cast<double>(set_size - i) / (i + 1);
  return Min(count, most);
}

// Returns the expected share of the other side's rows that are similar by chance to a set of the sample,
// counted `smaller` times where they are smaller, `as_large` times where they are of the same size, and
// `larger` times where they are larger. Equal sets do not count.
double chance_partners(const SampleSet &set, const SetStatistics &others, const Bounds &bounds,
                       double smaller, double as_large, double larger) {
  const double rows = Max(others.table_rows, 1.0);
  const SharedTokens shared(set, others.draws);
  const int size = static_cast<int>(set.size);
  const auto smallest = static_cast<double>(bounds.min_partner(size));
  const auto largest = static_cast<double>(bounds.max_partner(size, largest_set));
  double share = 0;
  for (int i = 0; i < others.size_count; ++i) {
    const auto other_size = static_cast<int>(others.sizes[i].size);
    const double times = other_size < size ? smaller : other_size == size ? as_large : larger;
    if (times == 0 || other_size < smallest || other_size > largest) continue;
    const auto needed = static_cast<int>(bounds.min_overlap(size, other_size));
    if (needed > Min(size, other_size) || (needed == size && needed == other_size)) continue;
    double similar =
        others.sizes[i].share * shared.at_least(needed, other_size, negligible_pairs_a_row / rows);
    if (similar > 0 && needed == other_size)
      similar = Min(similar, subsets(size, other_size, rows) * others.copies / rows);
    share += times * similar;
  }
  return share;
}

// Returns the share of pairs that are similar by chance, each looked at from the larger set.
double chance_pairs(const SetStatistics &left, const SetStatistics &right, const Bounds &bounds, bool self) {
  double share = 0;
  for (int i = 0; i < left.sample_count; ++i) {
    const SampleSet &set = left.sample[i];
    share += set.share * chance_partners(set, right, bounds, self ? 2 : 1, 1, 0);
  }
  for (int i = 0; i < right.sample_count && !self; ++i) {
    const SampleSet &set = right.sample[i];
    share += set.share * chance_partners(set, left, bounds, 1, 0, 0);
  }
  return share;
}

// Returns how many tokens two sets share; something less than `needed` where it is less.
int64_t shared_tokens(const SampleSet &a, const SampleSet &b, int64_t needed) {
  int64_t shared = 0;
  for (int i = 0, j = 0; i < a.token_count && j < b.token_count;) {
    const TokenKey x = a.tokens[i], y = b.tokens[j];
    if (x == y) {
      ++shared;
    } else if (shared + Min(a.token_count - i, b.token_count - j) < needed) {
      break;
    }
    i += x <= y;
    j += y <= x;
  }
  return shared;
}

// The pairs of the two samples, compared.
class ComparedSamples {
 public:
  ComparedSamples(const SetStatistics &left, const SetStatistics &right, const Bounds &bounds, bool self) {
    bool left_paired[SetStatistics::most_samples] = {}, right_paired[SetStatistics::most_samples] = {};
    for (int i = 0; i < left.sample_count; ++i) {
      const SampleSet &set = left.sample[i];
      const auto size = static_cast<int64_t>(set.size);
      const auto smallest = static_cast<double>(bounds.min_partner(size));
      const auto largest = static_cast<double>(bounds.max_partner(size, largest_set));
      for (int j = self ? i + 1 : 0; j < right.sample_count; ++j) {
        const SampleSet &other = right.sample[j];
        if (!set.real || !other.real) continue;
        all_ += set.share * other.share;
        if (other.size < smallest || other.size > largest || !similar(set, other, bounds)) continue;
        found_ += set.share * other.share;
        bool *paired = self ? left_paired : right_paired;
        if (!left_paired[i] && !paired[j]) {
          left_paired[i] = paired[j] = true;
          ++disjoint_;
        }
      }
    }
  }

  // Returns the estimated share of similar pairs, given what is expected by chance.
  double combined(double chance) const {
    return disjoint_ < convincing_pairs ? chance : Max(found_ / all_, chance);
  }

 private:
  // Equal sets do not count.
  static bool similar(const SampleSet &a, const SampleSet &b, const Bounds &bounds) {
    const auto r = static_cast<int64_t>(a.size), s = static_cast<int64_t>(b.size);
    const int64_t needed = bounds.min_overlap(r, s);
    const int64_t shared = shared_tokens(a, b, needed);
    return shared >= needed && (shared != r || shared != s);
  }

  int disjoint_ = 0;  // similar pairs, each set in one of them at most
  double found_ = 0;  // the share of the rows' pairs that all similar pairs stand for
  double all_ = 0;    // the share of the rows' pairs that were compared
};

// Returns the share of the rows that are edited copies of another one and still similar to it.
double near_duplicates(const SetStatistics &statistics, const Bounds &bounds) {
  double share = 0;
  for (int i = 0; i < statistics.size_count; ++i) {
    const auto size = static_cast<int64_t>(statistics.sizes[i].size);
    if (!bounds.satisfied(size, size, size + 1)) continue;  // not even the smallest edit
    const auto overlap = static_cast<double>(bounds.min_overlap(size, size));
    const double n = static_cast<double>(size);
    const double jaccard = Min(overlap / (2 * n - overlap), n / (n + 1));
    share += statistics.sizes[i].share * Min(1.0, 2 * (1 - jaccard));
  }
  return near_duplicate_share * share;
}

// A copy has its original as a partner, which in turn has the copy: on the same side or on the other.
double edited_partners(const SetStatistics &left, const SetStatistics &right, const Bounds &bounds,
                       bool self) {
  return (self ? 2 : 1) * Min(near_duplicates(left, bounds), near_duplicates(right, bounds));
}

// Returns the share of the pairs of rows whose sets are equal, and similar.
double equal_pairs(const SetStatistics &left, const SetStatistics &right, const Bounds &bounds) {
  return std::sqrt(left.equal_share * right.equal_share) *
         Min(self_similar_rows(left, bounds), self_similar_rows(right, bounds));
}

double most_rows(const SetStatistics &left, const SetStatistics &right) {
  return Max(Max(left.rows, right.rows), 1.0);
}

}  // namespace

double similar_pairs(const SetStatistics &left, const SetStatistics &right, const Bounds &bounds, bool self) {
  const ComparedSamples samples(left, right, bounds, self);
  const double chance = samples.combined(chance_pairs(left, right, bounds, self));
  const double edited = edited_partners(left, right, bounds, self) / most_rows(left, right);
  return Min(1.0, chance + equal_pairs(left, right, bounds) + edited);
}

double matched_rows(const SetStatistics &left, const SetStatistics &right, const Bounds &bounds, bool self) {
  const ComparedSamples samples(left, right, bounds, self);
  double unmatched = left.sample_count == 0 ? 1.0 : 0.0;
  for (int i = 0; i < left.sample_count; ++i) {
    const SampleSet &set = left.sample[i];
    const double partners = samples.combined(chance_partners(set, right, bounds, 1, 1, 1));
    unmatched += set.share * std::exp(-partners * right.rows);
  }
  const double equal = self ? left.repeated * self_similar_rows(left, bounds)
                            : 1 - std::exp(-equal_pairs(left, right, bounds) * right.rows);
  const double edited = edited_partners(left, right, bounds, self) * right.rows / most_rows(left, right);
  return 1 - unmatched * (1 - equal) * std::exp(-edited);
}

double self_similar_rows(const SetStatistics &statistics, const Bounds &bounds) {
  double share = 0;
  for (int i = 0; i < statistics.size_count; ++i) {
    const auto size = static_cast<int64_t>(statistics.sizes[i].size);
    if (bounds.satisfied(size, size, size)) share += statistics.sizes[i].share;
  }
  return Min(share, 1.0);
}

}  // namespace simjoin::pg
