// What nearest texts are sorted by.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace simjoin {

enum class TextMeasure : uint8_t { edits, damerau, jaro, jaro_winkler };

// Of edits, `share` asks for the distance divided by the length of the longer text. Scores are larger for
// nearer texts, and equal for texts that are as near: minus the distance, or the similarity by Jaro.
struct TextOrder {
  TextMeasure measure;
  bool share = false;
  bool probe_first = true;  // the probe is the first argument, which matters to Jaro's similarity
  bool empty_pairs = true;  // two empty texts are a pair

  bool by_edits() const { return measure == TextMeasure::edits || measure == TextMeasure::damerau; }
  // Returns a score that no pair has less than.
  double least_score() const { return by_edits() ? -std::numeric_limits<double>::infinity() : 0; }

  // Returns the score of texts of these lengths at this distance.
  double score_of_edits(int64_t distance, int64_t probe, int64_t length) const {
    const auto edits = static_cast<double>(distance);
    return share ? -(edits / static_cast<double>(std::max({probe, length, int64_t{1}}))) : -edits;
  }

  // Returns what no score exceeds if `missing` of the probe's characters have no partner in the other text.
  // The distance is at least `least`. By Winkler, the texts begin with up to `prefix` characters in common.
  double most_score(int64_t missing, int64_t least, int64_t probe, int64_t length, int prefix = 4) const {
    if (by_edits())
      return score_of_edits(std::max(least, missing + std::max(length - probe, int64_t{0})), probe, length);
    const auto common = static_cast<double>(probe - missing);
    if (common <= 0 || length == 0) return 0;
    // More than roundings of the similarity add up to.
    constexpr double slack = 1e-9;
    const double jaro =
        (common / static_cast<double>(probe) + common / static_cast<double>(length) + 1) / 3 + slack;
    if (measure == TextMeasure::jaro || jaro <= boosted_above) return jaro;
    return jaro + prefix * boost * (1 - jaro) + slack;
  }

 private:
  static constexpr double boosted_above = 0.7, boost = 0.1;  // of Winkler's similarity
};

}  // namespace simjoin
