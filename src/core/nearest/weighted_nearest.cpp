#include "core/nearest/weighted_nearest.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>

#include "core/base/check.hpp"
#include "core/base/interruption.hpp"
#include "core/base/wall_clock.hpp"
#include "core/set_slices.hpp"
#include "core/sort/long_sort.hpp"
#include "core/weighted/weighted_pair.hpp"

namespace simjoin {
namespace {

// Returns what exceeds a quotient of sums of so many terms that are rounded.
double slack_of_sums(uint32_t terms) {
  return 1 + (8.0 * terms + 64) * std::numeric_limits<double>::epsilon();
}

float share_rounded_up(double value) {
  const auto nearest = static_cast<float>(value);
  return static_cast<double>(nearest) < value
             ? std::nextafter(nearest, std::numeric_limits<float>::infinity())
             : nearest;
}

}  // namespace

// ---- Rows come ----

void WeightedNearest::add(Side side, const SetSlice &rows) {
  SIMJOIN_CHECK(side == Side::right ? !tokens_ : tokens_.has_value() && rows.rows == 1);
  stats_.sets[static_cast<int>(side)] += rows.token_count > 0;
  for_each_weighted_set(rows, [&](const auto &set, std::span<const double> weights) {
    if constexpr (std::is_same_v<std::decay_t<decltype(set)>, PackedTexts>) {
      std::vector<std::string_view> tokens;
      for_each_token(set, [&](std::string_view text) { tokens.push_back(text); });
      add_set(side, std::span<const std::string_view>(tokens), weights);
    } else {
      add_set(side, set, weights);
    }
  });
}

template <class T>
void WeightedNearest::add_set(Side side, std::span<const T> tokens, std::span<const double> weights) {
  auto &heavy = [this]() -> auto & {
    if constexpr (std::is_same_v<T, std::string_view>)
      return texts_;
    else
      return integers_;
  }
  ();
  heavy.clear();
  of_set_.clear();
  for (size_t i = 0; i < tokens.size(); ++i) {
    check_interruption_at(i);
    if (!(weights[i] > 0)) continue;
    heavy.push_back(tokens[i]);
    of_set_.push_back(weights[i]);
  }
  largest_ = std::max(largest_, static_cast<uint32_t>(heavy.size()));
  side == Side::right ? record(heavy) : look_up(heavy);
}

template <class T>
void WeightedNearest::number(std::span<const T> tokens, uint32_t *ids) {
  if (!vocabulary_) vocabulary_.emplace(true, memory_, true);
  if constexpr (std::is_same_v<T, std::string_view>)
    vocabulary_->number(tokens, ids);
  else if (vocabulary_->intern(Side::left, tokens, ids) != tokens.size())
    throw Error(ErrorKind::internal, "a weighted set has a token twice");
}

template <class T>
void WeightedNearest::record(const std::vector<T> &tokens) {
  // The type of an empty set says nothing.
  if (!tokens.empty()) number(std::span<const T>(tokens), ids_.extend(tokens.size()));
  std::copy(of_set_.begin(), of_set_.end(), weights_.extend(of_set_.size()));
  ends_.push_back(ids_.size());
  WeightRange range;
  for (const double weight : of_set_) range.add(weight);
  range_.join(range);
}

// ---- The index ----

void WeightedNearest::index(const StopFlag &stop) {
  const auto begin = WallClock::now();
  if (!vocabulary_) vocabulary_.emplace(true, memory_, true);
  list_of_tokens_.emplace(vocabulary_->take_tokens());
  Buffer<uint32_t> frequency(memory_, list_of_tokens_->size(), 0);
  for (size_t i = 0; i < ids_.size(); ++i) {
    stop.check_at(i);
    ++frequency[ids_[i]];
  }
  const Buffer<uint32_t> rank_of = ranks_by_frequency(frequency, memory_);
  tokens_.emplace(*list_of_tokens_, rank_of, memory_);
  begins_.resize(frequency.size() + 1, 0);
  for (size_t id = 0; id < frequency.size(); ++id) begins_[rank_of[id] + 1] = frequency[id];
  std::inclusive_scan(begins_.begin(), begins_.end(), begins_.begin());
  rank_sets(rank_of, stop);
  ids_.release();
  weights_.release();
  post(stop);
  marks_.resize(ends_.size(), 0);
  stats_.tokens[static_cast<int>(Side::right)] = sets_.tokens();
  stats_.distinct_tokens = frequency.size();
  stats_.build_ms = milliseconds_since(begin);
}

template <class Check>
WeightedNearest::Mass WeightedNearest::mass_of(std::span<const double> weights, Check &&check) const {
  Mass mass;
  ExactProducts squares;
  for (size_t i = 0; i < weights.size(); ++i) {
    check(i);
    mass.range.add(weights[i]);
    mass.total += weights[i];
    if (measure_ == Measure::cosine) squares.add(weights[i], weights[i]);
  }
  if (measure_ == Measure::cosine) mass.total = squares.rounded();
  return mass;
}

void WeightedNearest::rank_sets(const Buffer<uint32_t> &rank_of, const StopFlag &stop) {
  sets_.reserve(ends_.size(), ids_.size());
  const ShortSort sort;
  uint64_t first = 0;
  for (size_t row = 0; row < ends_.size(); ++row) {
    stop.check_at(row);
    const uint64_t count = ends_[row] - first;
    ranked_.resize(count);
    for (size_t i = 0; i < count; ++i) {
      stop.check_at(i);
      ranked_[i] = uint64_t{rank_of[ids_[first + i]]} << 32 | i;
    }
    sort_long(ranked_.data(), count, sort, [&] { stop.check(); });
    for (const uint64_t ranked : ranked_)
      sets_.push_token(static_cast<uint32_t>(ranked >> 32), weights_[first + static_cast<uint32_t>(ranked)]);
    const double total = mass_of({weights_.data() + first, count}, [&](size_t i) { stop.check_at(i); }).total;
    sets_.push_set(static_cast<uint32_t>(row), total, total);
    first = ends_[row];
  }
}

template <class Visit>
void WeightedNearest::for_each_share(const WeightedSet &set, Visit &&visit) const {
  double rest = 0;
  for (uint32_t i = set.count; i-- > 0;) {
    rest += measure_ == Measure::cosine ? set.doubles[i] * set.doubles[i] : set.doubles[i];
    visit(i, rest / set.total);
  }
}

void WeightedNearest::post(const StopFlag &stop) {
  Buffer<uint64_t> fronts(memory_, begins_.size());
  std::copy(begins_.begin(), begins_.end(), fronts.begin());
  postings_.resize(sets_.tokens());
  for (uint32_t row = 0; row < sets_.sets(); ++row) {
    stop.check_at(row);
    const WeightedSet set = sets_[row];
    for_each_share(set, [&](uint32_t i, double share) {
      postings_[fronts[set.ranks[i]]++] = {row, share_rounded_up(share)};
    });
  }
  size_t compared = 0;
  for (size_t rank = 0; rank + 1 < begins_.size(); ++rank)
    std::sort(postings_.begin() + begins_[rank], postings_.begin() + begins_[rank + 1],
              [&](const Posting &a, const Posting &b) {
                stop.check_at(compared++);
                return a < b;
              });
}

// ---- A left row ----

// Gives the next search a mark of its own.
void WeightedNearest::begin_marks() {
  all_marked_ = false;
  if (++mark_ != 0) return;
  std::fill(marks_.begin(), marks_.end(), 0);
  tokens_->forget_sets();
  mark_ = 1;
}

template <class T>
void WeightedNearest::look_up(const std::vector<T> &tokens) {
  begin_marks();
  ranked_.clear();
  for (size_t i = 0; i < tokens.size(); ++i) {
    check_interruption_at(i);
    const uint32_t rank = tokens_->find(tokens[i], TokenTable::key_of(tokens[i]), mark_);
    if (rank < TokenTable::repeated) ranked_.push_back(uint64_t{rank} << 32 | i);
  }
  sort_long(ranked_.data(), ranked_.size(), ShortSort(), check_interruption);
  ranks_.clear();
  rank_weights_.clear();
  double stored = 0;
  for (const uint64_t ranked : ranked_) {
    const double weight = of_set_[static_cast<uint32_t>(ranked)];
    ranks_.push_back(static_cast<uint32_t>(ranked >> 32));
    rank_weights_.push_back(weight);
    stored += measure_ == Measure::cosine ? weight * weight : weight;
  }
  Mass mass = mass_of(of_set_, check_interruption_at);
  mass.range.join(range_);
  format_.exact = measure_ == Measure::jaccard && !mass.range.sums_are_exact();
  exact_ = {};
  if (format_.exact)
    for (const double weight : of_set_) exact_.add(weight);
  left_ = {0,
           static_cast<uint32_t>(ranks_.size()),
           mass.total,
           stored,
           ranks_.data(),
           nullptr,
           rank_weights_.data(),
           &exact_};
  shares_.resize(ranks_.size());
  for_each_share(left_, [&](uint32_t i, double share) { shares_[i] = share; });
  slack_ = slack_of_sums(largest_);
  best_.begin_row(0);
}

// Let two sets have the masses P and R, and the shares p and r at their first common token. For weighted
// Jaccard similarity, what they have in common is at most m = min(pP, rR), so the similarity is m / (P + R -
// m), which is largest where pP = rR. For the cosine, see WeightedBounds.
double WeightedNearest::most_similar(double left_share, double right_share) const {
  const double most = measure_ == Measure::cosine ? std::sqrt(left_share * right_share)
                                                  : 1 / (1 / left_share + 1 / right_share - 1);
  return most * slack_;
}

void WeightedNearest::search() {
  begin_marks();
  size_t step = 0;
  for (size_t i = 0; i < ranks_.size() && best_.is_wanted(most_similar(shares_[i], 1)); ++i)
    for (const Posting &posting : list(ranks_[i])) {
      check_interruption_at(step++);
      if (!best_.is_wanted(most_similar(shares_[i], static_cast<double>(posting.share)))) break;
      if (marks_[posting.row] == mark_) continue;
      marks_[posting.row] = mark_;
      verify(posting.row);
    }
}

// Computes the similarity of the row, and keeps it if it is asked for.
void WeightedNearest::verify(uint32_t row) {
  WeightedSet right = sets_[row];
  ExactSum total;
  if (format_.exact) {
    for (uint32_t i = 0; i < right.count; ++i) total.add(right.doubles[i]);
    right.exact = &total;
  }
  ++stats_.verified;
  const WeightedBounds bounds(measure_, best_.least(), false, largest_);
  const ScoredPair found = {weighted_similarity(left_, right, format_, bounds, StopFlag()), row};
  if (best_.is_wanted(found.score, row)) best_.keep(found);
}

bool WeightedNearest::shares_tokens(uint32_t row) {
  if (!all_marked_) {
    begin_marks();
    size_t step = 0;
    for (const uint32_t rank : ranks_)
      for (const Posting &posting : list(rank)) {
        check_interruption_at(step++);
        marks_[posting.row] = mark_;
      }
    all_marked_ = true;
  }
  return marks_[row] == mark_;
}

}  // namespace simjoin
