#include "core/nearest/nearest_join.hpp"

#include <algorithm>
#include <bit>
#include <functional>

#include "core/base/check.hpp"
#include "core/base/interruption.hpp"
#include "core/base/wall_clock.hpp"
#include "core/candidates/verify.hpp"
#include "core/set_slices.hpp"
#include "core/sort/ascending.hpp"
#include "core/sort/long_sort.hpp"

namespace simjoin {
namespace {

// A caller that asks for more pairs than at first probably asks for many.
constexpr uint32_t growth = 4;
// The memory of this many rows is asked for before one of them is looked at.
constexpr size_t candidates_at_a_time = 16;
// The memory that tokens are looked up in is asked for this many tokens ahead.
constexpr size_t tokens_ahead = 4;

// Returns whether at least `count` bits are set.
bool has_bits(uint64_t bits, uint32_t count) {
  for (; count > 1; --count) bits &= bits - 1;
  return count == 0 || bits != 0;
}

template <typename T>
void sort_distinct(std::vector<T> &tokens) {
  if (strictly_ascending(std::span<const T>(tokens))) return;
  std::sort(tokens.begin(), tokens.end(), interruptible(std::less<>()));
  tokens.erase(std::unique(tokens.begin(), tokens.end(), interruptible(std::equal_to<>())), tokens.end());
}

}  // namespace

void NearestJoin::add(Side side, const SetSlice &rows) {
  refuse_weights(rows);
  SIMJOIN_CHECK(side == Side::right ? !index_ : index_.has_value() && rows.rows == 1);
  stats_.sets[static_cast<int>(side)] += rows.token_count > 0;
  for_each_set(rows, [&](const auto &set) {
    if constexpr (std::is_same_v<std::decay_t<decltype(set)>, PackedTexts>) {
      texts_.clear();
      for_each_token(set, [&](std::string_view text) { texts_.push_back(text); });
      side == Side::right ? recorded_.add(std::span<const std::string_view>(texts_)) : look_up(texts_);
    } else if (side == Side::right) {
      recorded_.add(set);
    } else {
      integers_.assign(set.begin(), set.end());
      look_up(integers_);
    }
  });
}

void NearestJoin::index(const StopFlag &stop) {
  const auto begin = WallClock::now();
  recorded_.end();
  index_.emplace(recorded_, stop, memory_);
  recorded_.release_sets();
  marks_.resize(index_->rows(), 0);
  stats_.tokens[static_cast<int>(Side::right)] = index_->token_count();
  stats_.distinct_tokens = index_->distinct_tokens();
  stats_.build_ms = milliseconds_since(begin);
}

// Gives the next search a mark of its own.
void NearestJoin::begin_marks() {
  all_marked_ = false;
  if (++mark_ != 0) return;
  std::fill(marks_.begin(), marks_.end(), 0);
  index_->tokens().forget_sets();
  mark_ = 1;
}

template <typename T>
void NearestJoin::look_up(std::vector<T> &tokens) {
  begin_marks();
  sort_distinct(tokens);
  size_ = static_cast<uint32_t>(tokens.size());
  ranks_.clear();
  ranks_.reserve(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    check_interruption_at(i);
    if (i + tokens_ahead < tokens.size())
      index_->tokens().prefetch(TokenTable::key_of(tokens[i + tokens_ahead]));
    const uint32_t rank = index_->tokens().find(tokens[i], TokenTable::key_of(tokens[i]), mark_);
    if (rank < TokenTable::repeated) ranks_.push_back(rank);
  }
  sort_long(ranks_.data(), ranks_.size(), sort_, check_interruption);
  for (const uint32_t rank : ranks_) index_->prefetch_begin(rank);
  signatures_.resize(ranks_.size());
  uint64_t signature = 0;
  for (size_t i = ranks_.size(); i-- > 0; signature |= index_->bit_of(ranks_[i])) signatures_[i] = signature;
  for (const uint32_t rank : ranks_) index_->prefetch_list(rank);
  given_.reset();
  done_ = false;
  limit(1, order_.score(0, 1, 1));
}

void NearestJoin::limit(uint32_t pairs, double least_score) {
  pairs_ = std::max(pairs, 1U);
  floor_ = least_score;
}

// ---- The nearest of its pairs that have not been given ----

StepResult NearestJoin::step(std::chrono::microseconds, Batch &out) {
  out.clear();
  if (done_) return StepResult::done;
  search();
  done_ = best_.size() < pairs_;
  for (const Found &found : best_) out.push(0, found.row, found.overlap);
  if (best_.empty()) return StepResult::done;
  given_ = best_.back();
  pairs_ = std::min(pairs_, UINT32_MAX / growth) * growth;
  stats_.output += best_.size();
  return StepResult::batch;
}

// A row that is met first in the list of the left row's i-th token shares none of the tokens before. So lists
// of frequent tokens, which come last, are mostly not looked at.
void NearestJoin::search() {
  begin_marks();
  best_.clear();
  least_ = floor_;
  before_row_ = UINT32_MAX;
  const auto count = static_cast<uint32_t>(ranks_.size());
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t most = count - i;
    if (!is_wanted(order_.score(most, size_, most))) break;
    scan(i);
  }
  std::sort(best_.begin(), best_.end(),
            interruptible([](const Found &a, const Found &b) { return a.comes_before(b); }));
}

// Returns the smallest overlap with a row of this size that may be asked for; most + 1 if there is none.
uint32_t NearestJoin::least_overlap(uint32_t size, uint32_t most) const {
  uint32_t least = 1;
  for (uint32_t end = most + 1; least < end;) {
    const uint32_t middle = least + (end - least) / 2;
    is_wanted(order_.score(middle, size_, size)) ? end = middle : least = middle + 1;
  }
  return least;
}

// Looks at the rows of a token. `hidden` of its set's tokens after it have no bit of their own. None that is
// met first here shares one of the rarer tokens.
void NearestJoin::scan(uint32_t number) {
  const std::span<const NearPosting> list = index_->list(ranks_[number]);
  const uint64_t signature = signatures_[number];
  const auto others = static_cast<uint32_t>(ranks_.size()) - number - 1;
  const uint32_t hidden = others - static_cast<uint32_t>(std::popcount(signature));
  size_t step = 0;
  for (auto at = list.begin(); at != list.end();) {
    const uint32_t rest = at->rest, size = at->size;
    const uint32_t most = rest == NearPosting::most ? others + 1 : std::min(others + 1, rest);
    const uint32_t required = least_overlap(size, most);
    if (required >
        most) {  // nor do larger rows with the same rest qualify, nor any with less if these are less
      if (rest <= others && !is_wanted(order_.score(rest, size_, rest))) break;
      at = std::partition_point(at, list.end(),
                                [rest](const NearPosting &other) { return other.rest == rest; });
      continue;
    }
    const bool tied = order_.score(required, size_, size) == least_;
    const uint32_t others_required = required - 1 > hidden ? required - 1 - hidden : 0;
    for (; at != list.end() && at->rest == rest && at->size == size; ++at) {
      check_interruption_at(step++);
      const bool beaten = tied && at->row >= before_row_;  // unless it shares more than is required
      if (!has_bits(signature & at->signature, others_required + beaten)) continue;
      index_->prefetch(at->row);
      __builtin_prefetch(marks_.data() + at->row);
      candidates_.push_back(at->row);
      if (candidates_.size() < candidates_at_a_time) continue;
      verify_candidates();
      ++at;
      break;  // fewer rows may be asked for now
    }
  }
  verify_candidates();
}

// Computes the overlaps of the candidates, and keeps those that are asked for.
void NearestJoin::verify_candidates() {
  const auto count = static_cast<uint32_t>(ranks_.size());
  for (const uint32_t row : candidates_) index_->prefetch_set(row);
  for (const uint32_t row : candidates_) {
    if (marks_[row] == mark_) continue;
    marks_[row] = mark_;
    const uint32_t size = index_->size_of(row);
    const uint32_t required = least_overlap(size, std::min(count, size));
    ++stats_.verified;
    const uint32_t overlap = bounded_overlap(ranks_.data(), count, index_->set_of(row), size, 0, required);
    if (overlap < required) continue;
    const Found found = {order_.score(overlap, size_, size), row, overlap};
    if (is_wanted(found.score, row) && (!given_ || given_->comes_before(found))) keep(found);
  }
  candidates_.clear();
}

void NearestJoin::keep(const Found &found) {
  const auto before = [](const Found &a, const Found &b) { return a.comes_before(b); };
  if (best_.size() == pairs_) {
    std::pop_heap(best_.begin(), best_.end(), before);
    best_.pop_back();
  }
  best_.push_back(found);
  std::push_heap(best_.begin(), best_.end(), before);
  if (best_.size() < pairs_) return;
  least_ = best_.front().score;
  before_row_ = best_.front().row;
}

// ---- Rows without pairs ----

bool NearestJoin::shares_tokens(uint32_t row) {
  if (!all_marked_) {
    begin_marks();
    size_t step = 0;
    for (const uint32_t rank : ranks_)
      for (const NearPosting &posting : index_->list(rank)) {
        check_interruption_at(step++);
        marks_[posting.row] = mark_;
      }
    all_marked_ = true;
  }
  return marks_[row] == mark_;
}

JoinStats NearestJoin::stats() const {
  JoinStats stats = stats_;
  stats.algorithm = "nearest";
  stats.threads = 1;
  stats.memory_peak = memory_.peak();
  return stats;
}

}  // namespace simjoin
