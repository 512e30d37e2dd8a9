#include "core/weighted/weighted_pair.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace simjoin {
namespace {

constexpr double too_far = std::numeric_limits<double>::infinity();
constexpr ptrdiff_t steps_per_bound = 8;        // merge steps between looks at the bound
constexpr uint32_t bounds_per_look = 1u << 13;  // looks at the bound between looks at the stop flag

// Returns the value if the condition holds, otherwise 0, without a branch: which of two tokens comes first
// cannot be predicted.
inline double value_if(bool condition, double value) {
  return std::bit_cast<double>(std::bit_cast<uint64_t>(value) & (uint64_t{0} - uint64_t{condition}));
}

// Returns the sum of the differences of the stored weights, or too_far if it is above `most`.
template <class Weight>
double distance(const WeightedSet &l, const WeightedSet &r, double most, const StopFlag &stop) {
  const uint32_t *a = l.ranks, *const a_end = a + l.count, *b = r.ranks, *const b_end = b + r.count;
  const Weight *a_weight = l.weights<Weight>(), *b_weight = r.weights<Weight>();
  const double gap = l.stored - r.stored;
  double apart = 0;  // of the weights seen so far: the sum of differences, and the difference of sums
  double seen_gap = 0;
  for (uint32_t looks = 1;; ++looks) {
    // What remains of the two sets differs by at least as much as its sums do.
    const double least = apart + std::fabs(gap - seen_gap);
    if (least > most) return too_far;
    const ptrdiff_t steps = std::min({a_end - a, b_end - b, steps_per_bound});
    if (steps == 0) return least;
    if (looks % bounds_per_look == 0) stop.check();
    for (ptrdiff_t step = 0; step < steps; ++step) {
      const uint32_t a_rank = *a, b_rank = *b;
      const bool takes_a = a_rank <= b_rank, takes_b = b_rank <= a_rank;
      const double difference = value_if(takes_a, static_cast<double>(*a_weight)) -
                                value_if(takes_b, static_cast<double>(*b_weight));
      apart += std::fabs(difference);
      seen_gap += difference;
      a += takes_a;
      a_weight += takes_a;
      b += takes_b;
      b_weight += takes_b;
    }
  }
}

// Calls visit(left weight, right weight) for each common token.
template <class Weight, class Visit>
void visit_common(const WeightedSet &l, const WeightedSet &r, const StopFlag &stop, Visit &&visit) {
  const Weight *l_weights = l.weights<Weight>(), *r_weights = r.weights<Weight>();
  uint32_t i = 0, j = 0;
  for (uint32_t steps = 1; i < l.count && j < r.count; ++steps) {
    if (steps % bounds_per_look == 0) stop.check();
    const uint32_t a = l.ranks[i], b = r.ranks[j];
    if (a == b) visit(static_cast<double>(l_weights[i]), static_cast<double>(r_weights[j]));
    i += a <= b;
    j += b <= a;
  }
}

// Returns the similarity of sets whose sums doubles do not hold.
template <class Weight>
double exact_similarity(const WeightedSet &l, const WeightedSet &r, const StopFlag &stop) {
  ExactSum least, most = *l.exact;
  visit_common<Weight>(l, r, stop, [&](double a, double b) { least.add(std::min(a, b)); });
  most.add(*r.exact);
  most.subtract(least);
  return weighted_jaccard(least.rounded(), most.rounded());
}

// Returns whether the products of the weights may add up to `least`.
template <class Weight>
bool may_reach(const WeightedSet &l, const WeightedSet &r, const WeightedBounds &bounds, double least,
               const StopFlag &stop) {
  const uint32_t *a = l.ranks, *const a_end = a + l.count, *b = r.ranks, *const b_end = b + r.count;
  const Weight *a_weight = l.weights<Weight>(), *b_weight = r.weights<Weight>();
  double products = 0;  // of the weights seen so far
  double a_rest = bounds.most_mass(l.stored), b_rest = bounds.most_mass(r.stored);
  for (uint32_t looks = 1;; ++looks) {
    // What remains adds the root of the product of its masses at most.
    const double missing = least - products;
    if (missing <= 0) return true;
    const ptrdiff_t steps = std::min({a_end - a, b_end - b, steps_per_bound});
    if (steps == 0 || missing * missing > a_rest * b_rest) return false;
    if (looks % bounds_per_look == 0) stop.check();
    for (ptrdiff_t step = 0; step < steps; ++step) {
      const uint32_t a_rank = *a, b_rank = *b;
      const bool takes_a = a_rank <= b_rank, takes_b = b_rank <= a_rank;
      const double a_taken = value_if(takes_a, static_cast<double>(*a_weight)),
                   b_taken = value_if(takes_b, static_cast<double>(*b_weight));
      products += a_taken * b_taken;
      a_rest -= a_taken * a_taken;
      b_rest -= b_taken * b_taken;
      a += takes_a;
      a_weight += takes_a;
      b += takes_b;
      b_weight += takes_b;
    }
  }
}

template <class Weight>
double cosine(const WeightedSet &l, const WeightedSet &r, const WeightedBounds &bounds,
              const StopFlag &stop) {
  if (!bounds.every_pair() && !may_reach<Weight>(l, r, bounds, bounds.least_products(l.total, r.total), stop))
    return -1;
  ExactProducts products;
  visit_common<Weight>(l, r, stop, [&](double a, double b) { products.add(a, b); });
  return weighted_cosine(products.rounded(), l.total, r.total);
}

}  // namespace

double weighted_similarity(const WeightedSet &l, const WeightedSet &r, WeightFormat format,
                           const WeightedBounds &bounds, const StopFlag &stop) {
  if (bounds.of_cosine())
    return format.wide ? cosine<double>(l, r, bounds, stop) : cosine<float>(l, r, bounds, stop);
  const double stored = l.stored + r.stored, totals = l.total + r.total;
  const double most = bounds.every_pair() ? too_far : bounds.most_distance(stored, totals);
  const double apart = format.wide ? distance<double>(l, r, most, stop) : distance<float>(l, r, most, stop);
  if (apart > most) return -1;
  if (format.exact)
    return format.wide ? exact_similarity<double>(l, r, stop) : exact_similarity<float>(l, r, stop);
  // Without rounding: the overlap is what two sets have together, less what they are apart, halved.
  const double least = (stored - apart) / 2;
  return weighted_jaccard(least, totals - least);
}

}  // namespace simjoin
