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
// Lee, Ng and Shim (Similarity join size estimation using locality sensitive hashing, 2011) estimate the
// result of a similarity join from a sample and from an assumption on what the sample cannot show. The
// distribution of the sum is in Wang (On the number of successes in independent trials, 1993).
#include "pg/join/estimate/estimate.hpp"

#include <algorithm>
#include <cmath>

#include "pg/join/estimate/shared_tokens.hpp"

namespace simjoin::pg {
namespace {

// The share of rows that are edited copies of another row, with a Jaccard similarity anywhere between 1/2 and
// 1. No statistics tell it. The collections of published set-similarity joins have 0.05 to 0.25.
constexpr double near_duplicate_share = 0.1;

// The number of pairs in the sample that makes an estimate. A set of a single common token can be similar to
// many others, so each set counts in one pair only.
constexpr int convincing_pairs = 4;

// Pairs do not count where a row has fewer than this with all partners of a size.
constexpr double negligible_pairs_per_row = 1e-3;

constexpr int64_t largest_set = INT32_MAX;

// Returns the number of subsets of a size, at most `most`.
double subsets(int set_size, int subset_size, double most) {
  double count = 1;
  for (int i = 0; i < Min(subset_size, set_size - subset_size) && count < most; ++i)
    count *= static_cast<double>(set_size - i) / (i + 1);
  return Min(count, most);
}

// The shares of a side's rows that are similar to a set by chance: rows with smaller sets, as large ones, and
// larger ones.
struct Partners {
  double smaller = 0;
  double as_large = 0;
  double larger = 0;
};

// Finds partners among the rows of one side.
class ChancePartners {
 public:
  ChancePartners(const SetStatistics &others, const Bounds &bounds, bool larger_too)
      : others_(*others.sketch),
        copies_(others.copies),
        rows_(Max(others.table_rows, 1.0)),
        negligible_(negligible_pairs_per_row / rows_),
        bounds_(bounds),
        larger_too_(larger_too) {}

  // Returns the partners of a set of the sample. Equal sets do not count.
  Partners of(const SampleSet &set) {
    const int size = static_cast<int>(set.size);
    find_sizes(size);
    SharedTokens shared(set, others_.draws);
    Partners partners;
    int certain = 0;  // tokens that are surely shared with a set of this size or more
    for (int i = first_; i < end_; ++i) {
      const auto other_size = static_cast<int>(others_.sizes[i].size);
      const int needed = needed_[i];
      if (needed > Min(size, other_size) || (needed == size && needed == other_size)) continue;
      const double probability = needed <= certain ? 1.0 : shared.at_least(needed, other_size, negligible_);
      if (probability >= 1.0) certain = Max(certain, needed);
      double similar = others_.sizes[i].share * probability;
      if (similar > 0 && needed == other_size)
        similar = Min(similar, subsets(size, other_size, rows_) * copies_ / rows_);
      (other_size < size    ? partners.smaller
       : other_size == size ? partners.as_large
                            : partners.larger) += similar;
    }
    return partners;
  }

 private:
  // Looks up which sizes partners of a set of this size can have, and which overlap they need.
  void find_sizes(int size) {
    if (size == size_) return;
    size_ = size;
    const auto smallest = static_cast<double>(bounds_.min_partner(size));
    const auto largest =
        larger_too_ ? static_cast<double>(bounds_.max_partner(size, largest_set)) : static_cast<double>(size);
    first_ = 0;
    while (first_ < others_.size_count && others_.sizes[first_].size < smallest) ++first_;
    for (end_ = first_; end_ < others_.size_count && others_.sizes[end_].size <= largest; ++end_)
      needed_[end_] =
          static_cast<int>(bounds_.min_overlap(size, static_cast<int64_t>(others_.sizes[end_].size)));
  }

  const SetSketch &others_;
  const double copies_, rows_;
  const Negligible negligible_;
  const Bounds bounds_;
  const bool larger_too_;
  int size_ = 0;  // the size that the following belong to; samples come in the order of their sizes
  int first_ = 0, end_ = 0;
  int needed_[SetSketch::most_sizes];
};

// The pairs of the two samples, compared.
class ComparedSamples {
 public:
  ComparedSamples(const SetSketch &left, const SetSketch &right, const Bounds &ordered, bool self) {
    const Bounds bounds(self ? unordered(ordered.measure()) : ordered.measure(), ordered.threshold());
    count_shared_tokens(left, right, self);
    bool left_paired[SetSketch::most_samples] = {}, right_paired[SetSketch::most_samples] = {};
    for (int i = 0; i < left.sample_count; ++i) {
      const SampleSet &set = left.sample[i];
      const auto size = static_cast<int64_t>(set.size);
      const auto smallest = static_cast<double>(bounds.min_partner(size));
      const auto largest = static_cast<double>(bounds.max_partner(size, largest_set));
      int64_t other_size = 0, needed = 0;
      for (int j = self ? i + 1 : 0; j < right.sample_count; ++j) {
        const SampleSet &other = right.sample[j];
        if (!set.real || !other.real) continue;
        all_ += set.share * other.share;
        if (other.size < smallest || other.size > largest) continue;
        if (other_size != static_cast<int64_t>(other.size)) {
          other_size = static_cast<int64_t>(other.size);
          needed = bounds.min_overlap(size, other_size);
        }
        const int64_t shared = shared_[i][j];
        if (shared < needed || (shared == size && shared == other_size)) continue;  // equal sets do not count
        // Of the two orders of a pair of one side, perhaps only one counts.
        const bool both = !self || (ordered.satisfied(shared, size, other_size) &&
                                    ordered.satisfied(shared, other_size, size));
        found_ += set.share * other.share * (both ? 1.0 : 0.5);
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
  // Counts shared tokens, by going through the tokens of both samples with the sets that hold them. With
  // `self`, each pair is counted once, for its first set.
  void count_shared_tokens(const SetSketch &left, const SetSketch &right, bool self) {
    const SampleToken *r = right.sample_tokens, *end = r + right.sample_token_count;
    const SampleToken *l = left.sample_tokens, *left_end = l + left.sample_token_count;
    for (; l != left_end; ++l) {
      while (r != end && r->token < l->token) ++r;
      for (const SampleToken *same = self ? l + 1 : r; same != end && same->token == l->token; ++same)
        ++shared_[l->set][same->set];
    }
  }

  int disjoint_ = 0;  // similar pairs, each set in one of them at most
  double found_ = 0;  // the share of the pairs of rows that all similar pairs stand for
  double all_ = 0;    // the share of the pairs of rows that the compared pairs stand for
  uint16 shared_[SetSketch::most_samples][SetSketch::most_samples] = {};  // shared tokens of real sets
};

// Returns the share of the rows that are edited copies of another one and still similar to it.
double near_duplicates(const SetStatistics &statistics, const Bounds &bounds) {
  double share = 0;
  for (int i = 0; i < statistics.sketch->size_count; ++i) {
    const auto size = static_cast<int64_t>(statistics.sketch->sizes[i].size);
    if (!bounds.satisfied(size, size, size + 1)) continue;  // not even the smallest edit
    const auto overlap = static_cast<double>(bounds.min_overlap(size, size));
    const double n = static_cast<double>(size);
    const double jaccard = Min(overlap / (2 * n - overlap), n / (n + 1));
    share += statistics.sketch->sizes[i].share * Min(1.0, 2 * (1 - jaccard));
  }
  return near_duplicate_share * share;
}

// Returns the edited partners of a row, on average. A copy and its original are partners of each other, and
// both may be on the same side.
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

SimilarityEstimate estimate_similarity(const SetStatistics &left, const SetStatistics &right,
                                       const Bounds &bounds, bool self, bool with_matched_rows) {
  const SetSketch &left_sets = *left.sketch, &right_sets = *right.sketch;
  const ComparedSamples samples(left_sets, right_sets, bounds, self);
  const double equal = equal_pairs(left, right, bounds);
  const double edited = edited_partners(left, right, bounds, self) / most_rows(left, right);

  // Pairs by chance, each looked at from the larger set. In a self-join by a symmetric measure, a pair and
  // the same pair in the other order are alike.
  const bool alike = self && is_symmetric(bounds.measure());
  double chance = 0, unmatched = left_sets.sample_count == 0 ? 1.0 : 0.0;
  ChancePartners right_partners(right, bounds, with_matched_rows);
  for (int i = 0; i < left_sets.sample_count; ++i) {
    const SampleSet &set = left_sets.sample[i];
    const Partners partners = right_partners.of(set);
    chance += set.share * ((alike ? 2 : 1) * partners.smaller + partners.as_large);
    const double all = samples.combined(partners.smaller + partners.as_large + partners.larger);
    if (with_matched_rows) unmatched += set.share * std::exp(-all * right.rows);
  }
  ChancePartners left_partners(left, bounds.reversed(), false);
  for (int i = 0; i < right_sets.sample_count && !alike; ++i)
    chance += right_sets.sample[i].share * left_partners.of(right_sets.sample[i]).smaller;

  SimilarityEstimate estimate = {};
  estimate.pairs = Min(1.0, samples.combined(chance) + equal + edited);
  const double repeated =
      self ? left.repeated * self_similar_rows(left, bounds) : 1 - std::exp(-equal * right.rows);
  estimate.matched_rows = 1 - unmatched * (1 - repeated) * std::exp(-edited * right.rows);
  return estimate;
}

double self_similar_rows(const SetStatistics &statistics, const Bounds &bounds) {
  double share = 0;
  for (int i = 0; i < statistics.sketch->size_count; ++i) {
    const auto size = static_cast<int64_t>(statistics.sketch->sizes[i].size);
    if (bounds.satisfied(size, size, size)) share += statistics.sketch->sizes[i].share;
  }
  return Min(share, 1.0);
}

}  // namespace simjoin::pg
