#include "core/dedup/similarity_profile.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "core/base/check.hpp"

namespace simjoin {
namespace {

// Rows that are added to the sample for its error, half of them without a partner. So a sample that finds
// nothing, or a partner of every row, has an error, too (Agresti and Coull: Approximate is better than
// "exact" for interval estimation of binomial proportions, 1998).
constexpr double added_rows = 4;
constexpr uint32_t rows_at_a_time = uint32_t{1} << 20;  // between looks at the stop flag

// Returns the standard error of the sum over `rows` rows of a number of each, by the numbers of a sample:
// their sum, the sum of their squares, and how many of them are not 0.
double error_of_sum(double sum, double squares, double hits, double sampled, double rows) {
  const double square = hits == 0 ? 1 : squares / hits;  // of a number that is not 0
  const double count = sampled + added_rows;
  const double all = sum + added_rows / 2 * std::sqrt(square);
  const double all_squares = squares + added_rows / 2 * square;
  const double variance = std::max(0.0, all_squares - all * all / count) / (count - 1);
  return rows * std::sqrt((1 - sampled / rows) * variance / sampled);
}

// Returns the number rounded up. An error may be larger than any number of pairs.
uint64_t rounded_up(double number) {
  return static_cast<uint64_t>(std::min(std::ceil(number), 9e18));
}

}  // namespace

SimilarityProfile::SimilarityProfile(std::vector<double> thresholds, MemoryCounter &memory)
    : thresholds_(std::move(thresholds)),
      equal_(thresholds_.size()),
      places_(memory),
      partners_(memory),
      equal_places_(memory),
      memory_(memory) {}

void SimilarityProfile::look_at_all(uint32_t rows, const StopFlag &stop) {
  SIMJOIN_CHECK(rows_ == 0 && std::is_sorted(thresholds_.begin(), thresholds_.end(), std::greater<double>()));
  rows_ = rows;
  levels_.resize(thresholds_.size(), ProfileLevel{0, 0, 0, 0, 0, 0});
  places_.resize(rows, most_thresholds);
  for (size_t i = 0; i < thresholds_.size(); ++i) {
    DisjointSets &groups = groups_.emplace_back(memory_);
    for (uint32_t count = 0; count < rows; groups.grow(count)) {
      stop.check();
      count += std::min(rows - count, rows_at_a_time);
    }
  }
}

void SimilarityProfile::look_at_sample(uint32_t sampled, uint32_t rows, const StopFlag &stop) {
  rows_ = rows;
  sampled_ = sampled;
  partners_.reserve(thresholds_.size() * sampled);
  for (size_t i = 0; i < thresholds_.size(); ++i) {
    stop.check();
    std::fill_n(partners_.extend(sampled), sampled, 0);
  }
  equal_places_.resize(sampled, most_thresholds);
}

size_t SimilarityProfile::place_of(double similarity) const {
  const auto place =
      std::lower_bound(thresholds_.begin(), thresholds_.end(), similarity, std::greater<double>());
  return static_cast<size_t>(place - thresholds_.begin());
}

void SimilarityProfile::add_pair(uint32_t a, uint32_t b, double similarity) {
  const size_t first = place_of(similarity);
  ++levels_[first].pairs;
  for (size_t i = first; i < thresholds_.size(); ++i) {
    const uint32_t group_of_a = groups_[i].find(a), group_of_b = groups_[i].find(b);
    if (group_of_a == group_of_b) break;  // and so at lower thresholds
    const int new_rows = (places_[a] > i) + (places_[b] > i);
    levels_[i].rows += static_cast<uint64_t>(new_rows);
    *levels_[i].groups += static_cast<uint64_t>(new_rows == 2);
    *levels_[i].groups -= static_cast<uint64_t>(new_rows == 0);
    groups_[i].unite(group_of_a, group_of_b);
  }
  for (const uint32_t row : {a, b}) places_[row] = std::min(places_[row], static_cast<uint8_t>(first));
}

void SimilarityProfile::add_partner(uint32_t sampled_row, double similarity) {
  ++partners_[place_of(similarity) * sampled_ + sampled_row];
}

void SimilarityProfile::add_equal_partner(uint32_t sampled_row, double similarity) {
  equal_places_[sampled_row] = static_cast<uint8_t>(place_of(similarity));
}

void SimilarityProfile::add_equal_rows(uint64_t rows, double similarity) {
  const size_t place = place_of(similarity);
  if (place == thresholds_.size()) return;
  equal_[place].pairs += rows * (rows - 1) / 2;
  equal_[place].rows += rows;
}

// Estimates what the threshold finds beside the rows with equal sets, and adds these.
ProfileLevel SimilarityProfile::estimate(size_t level, const uint32_t *partners) const {
  uint64_t sum = 0, hits = 0;  // rows whose partners all have another set
  double squares = 0, with_partner = 0;
  for (uint32_t row = 0; row < sampled_; ++row) {
    const uint64_t count = partners[row];
    sum += count;
    squares += static_cast<double>(count) * static_cast<double>(count);
    with_partner += count > 0;
    hits += count > 0 && equal_places_[row] > level;
  }
  const EqualRowsOfLevel &equal = equal_[level];
  const auto sampled = static_cast<double>(sampled_), rows = static_cast<double>(rows_);
  const auto total = static_cast<double>(sum), found = static_cast<double>(hits);
  // Every pair has two rows.
  return {equal.pairs + static_cast<uint64_t>(std::round(rows / sampled * total / 2)),
          rounded_up(error_of_sum(total, squares, with_partner, sampled, rows) / 2),
          equal.pairs,
          equal.rows + static_cast<uint64_t>(std::round(rows / sampled * found)),
          rounded_up(error_of_sum(found, found, found, sampled, rows)),
          std::nullopt};
}

ProfileLevel SimilarityProfile::next_level() {
  SIMJOIN_CHECK(next_ < thresholds_.size());
  const size_t level = next_++;
  if (level > 0) {
    equal_[level].pairs += equal_[level - 1].pairs;
    equal_[level].rows += equal_[level - 1].rows;
  }
  if (!levels_.empty()) {
    if (level > 0) levels_[level].pairs += levels_[level - 1].pairs;
    levels_[level].equal_pairs = equal_[level].pairs;
    return levels_[level];
  }
  uint32_t *partners = partners_.data() + level * sampled_;
  if (level > 0)
    for (uint32_t row = 0; row < sampled_; ++row) partners[row] += (partners - sampled_)[row];
  return estimate(level, partners);
}

}  // namespace simjoin
