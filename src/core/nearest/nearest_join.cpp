#include "core/nearest/nearest_join.hpp"

#include <algorithm>
#include <bit>
#include <functional>

#include "core/base/check.hpp"
#include "core/base/interruption.hpp"
#include "core/base/wall_clock.hpp"
#include "core/candidates/signature_kernels.hpp"
#include "core/candidates/verify.hpp"
#include "core/set_slices.hpp"
#include "core/sort/ascending.hpp"
#include "core/sort/long_sort.hpp"

namespace simjoin {
namespace {

// The memory of this many rows is asked for before one of them is looked at.
constexpr size_t candidates_at_a_time = 32;
// The filter is for sets of at most this many tokens: that of a larger one costs as much as its verification.
constexpr uint32_t most_filtered = 64;
// The memory that tokens are looked up in is asked for this many tokens ahead.
constexpr size_t tokens_ahead = 4;

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
  filter_.assign(ranks_.data(), ranks_.size());
  signatures_.resize(ranks_.size());
  uint64_t signature = 0;
  for (size_t i = ranks_.size(); i-- > 0; signature |= index_->bit_of(ranks_[i])) signatures_[i] = signature;
  for (const uint32_t rank : ranks_) index_->prefetch_list(rank);
  best_.begin_row(order_.score(0, 1, 1));
}

// ---- The nearest of its pairs that have not been given ----

// Counts steps of some nanoseconds, over all lists, and checks for interruption now and then.
void NearestJoin::take_steps(size_t count) {
  steps_ += count;
  if (steps_ < steps_between_checks) return;
  steps_ = 0;
  check_interruption();
}

// A row that is met first in the list of the left row's i-th token shares none of the tokens before. So lists
// of frequent tokens, which come last, are mostly not looked at.
void NearestJoin::search() {
  begin_marks();
  first_version_ = ++version_;
  const auto count = static_cast<uint32_t>(ranks_.size());
  for (uint32_t i = 0; i < count; ++i) {
    take_steps(1);
    if (index_->list(ranks_[i]).size() > NearBlock::entries)
      verify_candidates();  // less may be asked for then
    const uint32_t most = count - i;
    if (!best_.is_wanted(order_.score(most, size_, most))) break;
    scan(i);
  }
  verify_candidates();
}

// Returns the smallest overlap, `least` or more, with a row of this size that may be asked for; more than
// both sets have if there is none.
uint32_t NearestJoin::least_overlap(uint32_t size, uint32_t least) const {
  const auto wanted = [&](uint32_t overlap) { return best_.is_wanted(order_.score(overlap, size_, size)); };
  const uint32_t most = std::min(static_cast<uint32_t>(ranks_.size()), size);
  if (least > most || wanted(least)) return least;
  ++least;
  for (uint32_t end = most + 1; least < end;) {
    const uint32_t middle = least + (end - least) / 2;
    wanted(middle) ? end = middle : least = middle + 1;
  }
  return least;
}

// Returns the smallest overlap with a row of this size that may be asked for. It does not decrease as sizes
// grow.
uint32_t NearestJoin::required(uint32_t size) {
  if (size > NearestIndex::most_size) return least_overlap(size, 1);
  Required &known = required_[size];
  if (known.version != version_)
    known = {version_, least_overlap(size, known.version >= first_version_ ? known.overlap : 1)};
  return known.overlap;
}

// Looks at the rows of a token. `hidden` of its set's tokens after it have no bit of their own.
void NearestJoin::scan(uint32_t number) {
  const NearList list = index_->list(ranks_[number]);
  const uint64_t signature = signatures_[number];
  const auto others = static_cast<uint32_t>(ranks_.size()) - number - 1;
  const uint32_t hidden = others - static_cast<uint32_t>(std::popcount(signature));
  for (size_t at = list.begin, end; at < list.end; at = end) {
    take_steps(1);
    end = std::min(list.end, (at / NearBlock::entries + 1) * NearBlock::entries);
    const NearBlock &block = index_->block_of(at);
    const uint32_t least = required(block.size);
    if (least > others + 1) break;  // nor do the larger rows that follow qualify
    if (least > block.rest && block.rest < NearBlock::most) continue;
    const uint32_t others_required = least - 1 > hidden ? least - 1 - hidden : 0;
    for (uint64_t near = select_sharing(index_->signatures() + at, end - at, signature, others_required);
         near != 0; near &= near - 1) {
      take_steps(1);
      consider(at + static_cast<size_t>(std::countr_zero(near)), number, hidden);
    }
  }
}

// Makes the row of an entry a candidate if it may be asked for. No row that is met first in the list of this
// token shares one of the rarer ones.
void NearestJoin::consider(size_t entry, uint32_t number, uint32_t hidden) {
  const uint64_t theirs = index_->signatures()[entry];
  const uint32_t size = NearestIndex::size_in(theirs);
  const auto shared = static_cast<uint32_t>(std::popcount(theirs & signatures_[number]));
  uint32_t most = std::min(1 + hidden + shared, static_cast<uint32_t>(ranks_.size()) - number);
  if (size < NearestIndex::most_size) most = std::min(most, size);
  const double score = order_.score(most, size_, size);
  if (score < best_.least() || (score == best_.least() && index_->row_at(entry) >= best_.before_row()))
    return;
  index_->prefetch_row(entry);
  candidates_.push_back({score, entry, 0});
  if (candidates_.size() == candidates_at_a_time) verify_candidates();
}

// Verifies the candidates, first the one that may be the nearest. After it, few others may be asked for.
void NearestJoin::verify_candidates() {
  if (candidates_.empty()) return;
  size_t nearest = 0;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    Candidate &candidate = candidates_[i];
    candidate.row = index_->row_at(candidate.entry);
    index_->prefetch(candidate.row);
    __builtin_prefetch(marks_.data() + candidate.row);
    if (candidate.score > candidates_[nearest].score) nearest = i;
  }
  std::swap(candidates_.front(), candidates_[nearest]);
  verify(candidates_.front());
  for (const Candidate &candidate : candidates_)
    if (best_.is_wanted(candidate.score, candidate.row)) index_->prefetch_set(candidate.row);
  for (const Candidate &candidate : candidates_) verify(candidate);
  candidates_.clear();
}

// Computes the overlap of a candidate, and keeps it if it is asked for.
void NearestJoin::verify(const Candidate &candidate) {
  const uint32_t row = candidate.row;
  if (!best_.is_wanted(candidate.score, row) || marks_[row] == mark_) return;
  marks_[row] = mark_;
  const uint32_t size = index_->size_of(row), least = required(size);
  const auto count = static_cast<uint32_t>(ranks_.size());
  const uint32_t *set = index_->set_of(row);
  ++stats_.verified;
  take_steps(size);
  if (size <= most_filtered && filter_.count_of(set, size) < least) return;
  const uint32_t overlap = bounded_overlap(ranks_.data(), count, set, size, 0, least);
  if (overlap < least) return;
  const ScoredPair found = {order_.score(overlap, size_, size), row, overlap};
  const double least_score = best_.least();
  if (best_.is_wanted(found.score, row) && best_.keep(found) && best_.least() != least_score) ++version_;
}

// ---- Rows without pairs ----

bool NearestJoin::shares_tokens(uint32_t row) {
  if (!all_marked_) {
    begin_marks();
    size_t step = 0;
    for (const uint32_t rank : ranks_) {
      const NearList list = index_->list(rank);
      for (size_t entry = list.begin; entry < list.end; ++entry) {
        check_interruption_at(step++);
        marks_[index_->row_at(entry)] = mark_;
      }
    }
    all_marked_ = true;
  }
  return marks_[row] == mark_;
}

}  // namespace simjoin
