// Which pairs of weighted sets can reach a threshold, judged by sums over their tokens. All bounds are loose
// by more than rounding can amount to, so they never exclude a pair that qualifies. Whether a pair qualifies
// is decided by its similarity (exact_sum.hpp) alone.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "core/base/host_device.hpp"
#include "core/measure.hpp"

namespace simjoin {

// A token has a mass: its weight or, for the cosine, the square of its weight. The total of a set is the mass
// of its tokens.
//
// Two sets with totals R and S reach the weighted Jaccard similarity t only if the smaller weights of their
// common tokens add up to at least t / (1 + t) * (R + S), the overlap that the pair needs. They reach the
// cosine t only if the rests of both sets from the first common token on, as shares of the totals, have at
// least the product t^2: the products of the weights add up to at most the root of the product of the rests
// (Cauchy-Schwarz).
//
// Kernels have a copy of it, and judge by the same functions.
class WeightedBounds {
 public:
  // `measure` is jaccard or cosine. No set has more than `largest_set` tokens. In a self-join an index set is
  // looked up only by sets whose total is not smaller.
  WeightedBounds(Measure measure, double threshold, bool self_join, uint32_t largest_set)
      : cosine_(measure == Measure::cosine),
        threshold_(threshold),
        self_join_(self_join),
        // A sum of n terms, in any order, is off by n * 2^-53 of itself at most. A bound compares a few
        // sums.
        slack_((4.0 * largest_set + 64) * std::numeric_limits<double>::epsilon()),
        share_(threshold / (1 + threshold)),
        // A square that would lose bits serves nothing.
        product_(threshold > 1e-150 ? threshold * threshold * (1 - slack_) : 0) {}

  SIMJOIN_HOST_DEVICE bool of_cosine() const { return cosine_; }
  double threshold() const { return threshold_; }
  bool every_pair() const { return threshold_ <= 0; }
  // Returns whether no pair of sets qualifies, whatever the sets.
  bool no_pair() const { return !(threshold_ <= 1); }
  SIMJOIN_HOST_DEVICE double mass(double weight) const { return cosine_ ? weight * weight : weight; }

  // Returns the least mass, of a set of this total, that the tokens have which the set shares with a partner.
  double least_shared(double total) const { return cosine_ ? product_ * total : least_partner(total); }
  // Return between which totals the partners of a set lie. The cosine leaves all.
  SIMJOIN_HOST_DEVICE double least_partner(double total) const {
    return cosine_ ? 0 : threshold_ * total * (1 - slack_);
  }
  SIMJOIN_HOST_DEVICE double most_partner(double total) const {
    return cosine_ ? all : total / threshold_ * (1 + slack_);
  }

  // Let `rest` be the mass of a set's token and of all tokens after it, in the order of ranks. A pair whose
  // first common token that is has no more in common. Returns the excess of an index set at the token: what
  // the rest exceeds that set's own part of the overlap by; for the cosine, the rest's share of the total.
  SIMJOIN_HOST_DEVICE double excess(double total, double rest) const {
    return cosine_ ? rest / total : rest - (share_ - slack_) * total;
  }
  // Returns the least excess with which an index set can have a partner: tokens with less need no posting.
  SIMJOIN_HOST_DEVICE double least_excess(double index_total) const {
    if (cosine_) return product_;
    return least_excess_for(self_join_ ? index_total : least_partner(index_total), 0);
  }
  // Returns the least excess with which an index set can have a probe of this total as its partner, if the
  // token with this `rest` of the probe is the first common one.
  SIMJOIN_HOST_DEVICE double least_excess_for(double probe_total, double rest) const {
    return cosine_ ? product_ * (probe_total / rest) : (share_ - slack_) * probe_total;
  }
  // Returns the largest total of an index set that can have the probe as its partner, if the token with this
  // `rest` of the probe is the first common one; -infinity if there is none.
  SIMJOIN_HOST_DEVICE double most_total(double probe_total, double rest) const {
    if (cosine_) return rest / probe_total < product_ ? -all : all;
    const double share = share_ - slack_;
    if (!(share > 0)) return all;
    return rest / share * (1 + slack_) - probe_total * (1 - slack_);
  }
  // Returns how far the stored weights of two sets can be apart, as a sum of differences, if the pair
  // qualifies. `stored` is the sum of all of them, `totals` that of both totals.
  double most_distance(double stored, double totals) const { return stored - 2 * (share_ - slack_) * totals; }

  // Return, for the cosine, the least sum of products of weights with which a pair qualifies, and no less
  // than the mass of the stored tokens.
  SIMJOIN_HOST_DEVICE double least_products(double l_total, double r_total) const {
    return threshold_ * std::sqrt(l_total * r_total) * (1 - slack_);
  }
  SIMJOIN_HOST_DEVICE double most_mass(double stored) const { return stored * (1 + slack_); }

  // Returns what a common token adds to what two sets have in common: the smaller weight; for the cosine, the
  // product of the weights.
  SIMJOIN_HOST_DEVICE double shared(double l_weight, double r_weight) const {
    if (cosine_) return l_weight * r_weight;
    return l_weight < r_weight ? l_weight : r_weight;
  }
  // Returns the least that two sets have in common if they qualify.
  SIMJOIN_HOST_DEVICE double least_in_common(double l_total, double r_total) const {
    return cosine_ ? least_products(l_total, r_total) : (share_ - slack_) * (l_total + r_total);
  }
  // Returns whether sets that have `seen` in common so far can have `least` in common in the end. The rests
  // are the masses of the tokens that remain.
  SIMJOIN_HOST_DEVICE bool may_reach(double seen, double l_rest, double r_rest, double least) const {
    const double missing = least - seen;
    if (missing <= 0) return true;
    if (cosine_) return missing * missing <= most_mass(l_rest) * most_mass(r_rest);
    return missing <= most_mass(l_rest < r_rest ? l_rest : r_rest);
  }

 private:
  static constexpr double all = std::numeric_limits<double>::infinity();

  bool cosine_;
  double threshold_;
  bool self_join_;
  double slack_;
  double share_;
  double product_;
};

}  // namespace simjoin
