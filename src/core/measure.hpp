// Similarity measures on sets, and the exact integer bounds that the filters need.
//
// One inline function computes every similarity, in double precision, from (overlap, |r|, |s|): the SQL
// functions, the CPU engine and the GPU kernels share it. Every bound is found by search with that same
// function and never from a rounded formula, so a pair exactly on a threshold is in the result everywhere.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "core/base/host_device.hpp"

namespace simjoin {

// `containment` is the share of the first set's tokens that the second one has. `reverse_containment` is the
// same with the sets in the other order, for joins whose left side is the second set.
enum class Measure : uint8_t {
  jaccard,
  cosine,
  dice,
  overlap,
  overlap_coefficient,
  containment,
  reverse_containment
};

// The names of the measures that users choose from. `reverse_containment` has none.
inline constexpr std::string_view measure_names[] = {
    "jaccard", "cosine", "dice", "overlap", "overlap_coefficient", "containment"};

// Returns the measure of two sets for which `measure` is that of the sets in the other order.
constexpr Measure reversed(Measure measure) {
  return measure == Measure::containment           ? Measure::reverse_containment
         : measure == Measure::reverse_containment ? Measure::containment
                                                   : measure;
}

// The number of the first measures, for which the order of the two sets does not matter.
inline constexpr size_t symmetric_measures = 5;

constexpr bool is_symmetric(Measure measure) {
  return measure == reversed(measure);
}

// Returns the measure of two sets in no order: the larger similarity of both orders, to the last bit.
constexpr Measure unordered(Measure measure) {
  return is_symmetric(measure) ? measure : Measure::overlap_coefficient;
}

// Returns the name of the measure as users know it.
constexpr std::string_view measure_name(Measure measure) {
  return measure_names[static_cast<int>(std::min(measure, Measure::containment))];
}

// Returns the similarity of two sets of r and s tokens that share `overlap` tokens; 0 where either is empty.
// It never decreases as overlap grows, and never increases as r or s grow at the same overlap.
SIMJOIN_HOST_DEVICE inline double similarity(Measure measure, int64_t overlap, int64_t r, int64_t s) {
  if (r == 0 || s == 0) return 0.0;
  const double shared = static_cast<double>(overlap);
  switch (measure) {
    case Measure::jaccard:
      return shared / static_cast<double>(r + s - overlap);
    case Measure::cosine:
      return shared / sqrt(static_cast<double>(r) * static_cast<double>(s));
    case Measure::dice:
      return 2.0 * shared / static_cast<double>(r + s);
    case Measure::overlap_coefficient:
      return shared / static_cast<double>(r < s ? r : s);
    case Measure::containment:
      return shared / static_cast<double>(r);
    case Measure::reverse_containment:
      return shared / static_cast<double>(s);
    case Measure::overlap:
      break;
  }
  return shared;
}

// Returns the Jaccard distance of the two sets, 1 - J before it is rounded: that of the similarity 7/10 is
// the double nearest to 3/10, which 1.0 - 0.7 is not. 1 where either set is empty.
SIMJOIN_HOST_DEVICE inline double jaccard_distance(int64_t overlap, int64_t r, int64_t s) {
  if (r == 0 || s == 0) return 1.0;
  return static_cast<double>(r + s - 2 * overlap) / static_cast<double>(r + s - overlap);
}

// Returns a Jaccard similarity above 0 that no two sets that share a token and are within the distance (0 or
// more) are below. Few sets that reach it are beyond the distance, and only just: a double cannot tell them
// from others.
//
// A distance that is rounded to d or less is one of at most d (1 + 2^-53), so J is at least 1 - d - 2^-53.
// Rounding moves J, and 1 - d, by 2^-54 at most.
inline double least_similarity_within(double distance) {
  constexpr double slack = 0x1.0p-52;
  return std::max(1.0 - distance - slack, slack);
}

// The predicate `similarity(r, s) >= threshold` for a threshold above zero, as integer bounds.
// (`similarity > t` is `similarity >= nextafter(t, infinity)`.) r is always the first set, and s the second.
class Bounds {
 public:
  constexpr Bounds(Measure measure, double threshold) : measure_(measure), threshold_(threshold) {}

  Measure measure() const { return measure_; }
  double threshold() const { return threshold_; }
  // Returns the bounds of the same pairs with their sets in the other order.
  constexpr Bounds reversed() const { return {simjoin::reversed(measure_), threshold_}; }

  // Returns whether two sets of r and s tokens with this overlap satisfy the predicate.
  SIMJOIN_HOST_DEVICE bool satisfied(int64_t overlap, int64_t r, int64_t s) const {
    return similarity(measure_, overlap, r, s) >= threshold_;
  }

  // Returns the smallest overlap >= 1 that satisfies the predicate for sizes r, s >= 1; min(r, s) + 1 where
  // none does. Never decreases as r or s grow.
  SIMJOIN_HOST_DEVICE int64_t min_overlap(int64_t r, int64_t s) const {
    const int64_t most = r < s ? r : s;
    int64_t overlap = clamp(overlap_estimate(r, s), 1, most + 1);
    while (overlap > 1 && satisfied(overlap - 1, r, s)) --overlap;
    while (overlap <= most && !satisfied(overlap, r, s)) ++overlap;
    return overlap;
  }

  // Returns the size of the smallest set that can satisfy the predicate with a set of r >= 1 tokens:
  // at most r, or r + 1 where not even an equal set does.
  SIMJOIN_HOST_DEVICE int64_t min_partner(int64_t r) const {
    int64_t s = clamp(min_partner_estimate(r), 1, r + 1);
    while (s > 1 && satisfied(s - 1, r, s - 1)) --s;
    while (s <= r && !satisfied(s, r, s)) ++s;
    return s;
  }

  // Returns the size of the largest set, at most `largest`, that can satisfy the predicate with a set of
  // r >= 1 tokens; r - 1 where not even an equal set does.
  SIMJOIN_HOST_DEVICE int64_t max_partner(int64_t r, int64_t largest) const {
    if (!satisfied(r, r, r)) return r - 1;
    if (largest <= r) return largest;
    int64_t s = clamp(max_partner_estimate(r), r, largest);
    while (s < largest && satisfied(r, r, s + 1)) ++s;
    while (s > r && !satisfied(r, r, s)) --s;
    return s;
  }

  // Returns how many of a set's r >= 1 tokens, rarest first, must be looked at so that every partner of
  // `partner` or more tokens shares one of them; 0 where no such partner satisfies the predicate.
  SIMJOIN_HOST_DEVICE int64_t prefix_length(int64_t r, int64_t partner) const {
    const int64_t overlap = min_overlap(r, partner);
    return overlap > r ? 0 : r - overlap + 1;
  }

 private:
  SIMJOIN_HOST_DEVICE static int64_t clamp(double value, int64_t low, int64_t high) {
    if (!(value > static_cast<double>(low))) return low;  // also where value is not a number
    return value >= static_cast<double>(high) ? high : static_cast<int64_t>(value);
  }
  // Starting points of the searches; any value would do, these are within one or two of the answer.
  SIMJOIN_HOST_DEVICE double overlap_estimate(int64_t r, int64_t s) const {
    const double a = static_cast<double>(r), b = static_cast<double>(s);
    switch (measure_) {
      case Measure::jaccard:
        return threshold_ / (1.0 + threshold_) * (a + b);
      case Measure::cosine:
        return threshold_ * sqrt(a * b);
      case Measure::dice:
        return threshold_ / 2.0 * (a + b);
      case Measure::overlap_coefficient:
        return threshold_ * (a < b ? a : b);
      case Measure::containment:
        return threshold_ * a;
      case Measure::reverse_containment:
        return threshold_ * b;
      case Measure::overlap:
        break;
    }
    return threshold_;
  }
  SIMJOIN_HOST_DEVICE double min_partner_estimate(int64_t r) const {
    const double a = static_cast<double>(r);
    switch (measure_) {
      case Measure::jaccard:
        return threshold_ * a;
      case Measure::cosine:
        return threshold_ * threshold_ * a;
      case Measure::dice:
        return threshold_ * a / (2.0 - threshold_);
      case Measure::containment:
        return threshold_ * a;
      case Measure::overlap_coefficient:
      case Measure::reverse_containment:
        return threshold_ > 1.0 ? a + 1.0 : 1.0;
      case Measure::overlap:
        break;
    }
    return threshold_;
  }
  SIMJOIN_HOST_DEVICE double max_partner_estimate(int64_t r) const {
    const double a = static_cast<double>(r);
    switch (measure_) {
      case Measure::jaccard:
        return a / threshold_;
      case Measure::cosine:
        return a / (threshold_ * threshold_);
      case Measure::dice:
        return a * (2.0 - threshold_) / threshold_;
      case Measure::reverse_containment:
        return a / threshold_;
      case Measure::overlap_coefficient:
      case Measure::containment:
      case Measure::overlap:
        break;
    }
    return 9e18;
  }

  Measure measure_;
  double threshold_;
};

}  // namespace simjoin
