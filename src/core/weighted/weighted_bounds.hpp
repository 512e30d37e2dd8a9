// Which pairs of weighted sets can reach a threshold, judged by sums of weights. All bounds are loose by more
// than rounding can amount to, so they never exclude a pair that qualifies. Whether a pair qualifies is
// decided by its similarity (exact_sum.hpp) alone.
#pragma once

#include <cstdint>
#include <limits>

namespace simjoin {

// Two sets with totals Wr and Ws reach the threshold t only if the smaller weights of their common tokens add
// up to at least t / (1 + t) * (Wr + Ws), the overlap that the pair needs.
class WeightedBounds {
 public:
  // No set has more than `largest_set` tokens. In a self-join an index set is looked up only by sets whose
  // total is not smaller.
  WeightedBounds(double threshold, bool self_join, uint32_t largest_set)
      : threshold_(threshold),
        self_join_(self_join),
        // A sum of n weights, in any order, is off by n * 2^-53 of itself at most. A bound compares a few
        // sums.
        slack_((4.0 * largest_set + 64) * std::numeric_limits<double>::epsilon()),
        share_(threshold / (1 + threshold)) {}

  double threshold() const { return threshold_; }
  bool every_pair() const { return threshold_ <= 0; }
  // Returns whether no pair of sets qualifies, whatever the sets.
  bool no_pair() const { return !(threshold_ <= 1); }

  // Return between which totals the partners of a set lie.
  double least_partner(double total) const { return threshold_ * total * (1 - slack_); }
  double most_partner(double total) const { return total / threshold_ * (1 + slack_); }

  // Let `rest` be the weight of a set's token and of all tokens after it, in the order of ranks. A pair whose
  // first common token that is has no larger overlap. Returns what the rest of an index set exceeds that
  // set's own part of the overlap by.
  double excess(double total, double rest) const { return rest - (share_ - slack_) * total; }
  // Returns the least excess with which an index set can have a partner: tokens with less need no posting.
  double least_excess(double index_total) const {
    return least_excess_for(self_join_ ? index_total : least_partner(index_total));
  }
  // Returns the least excess with which an index set can have a probe of this total as its partner.
  double least_excess_for(double probe_total) const { return (share_ - slack_) * probe_total; }
  // Returns the largest total of an index set that can have the probe as its partner, if the token with this
  // `rest` of the probe is the first common one.
  double most_total(double probe_total, double rest) const {
    const double share = share_ - slack_;
    if (!(share > 0)) return std::numeric_limits<double>::infinity();
    return rest / share * (1 + slack_) - probe_total * (1 - slack_);
  }
  // Returns how far the stored weights of two sets can be apart, as a sum of differences, if the pair
  // qualifies. `stored` is the sum of all of them, `totals` that of both totals.
  double most_distance(double stored, double totals) const { return stored - 2 * (share_ - slack_) * totals; }

 private:
  double threshold_;
  bool self_join_;
  double slack_;
  double share_;
};

}  // namespace simjoin
