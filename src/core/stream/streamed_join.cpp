#include "core/stream/streamed_join.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <type_traits>
#include <utility>

#include "core/base/check.hpp"
#include "core/base/costs.hpp"
#include "core/base/error.hpp"
#include "core/base/interruption.hpp"
#include "core/base/wall_clock.hpp"
#include "core/candidates/prefix/parity_signature.hpp"
#include "core/candidates/verify.hpp"
#include "core/set_slices.hpp"
#include "core/sort/ascending.hpp"
#include "core/sort/long_sort.hpp"

namespace simjoin {
namespace {

// Indexing this many tokens takes some 40 ms.
constexpr uint64_t long_to_index = uint64_t{1} << 17;
// With so few sets, no number of postings makes a difference.
constexpr uint32_t always_small = 64;
// Candidates are prefetched this far ahead.
constexpr size_t candidates_ahead = 8;
// What a step returns at most: a caller that asks for one partner needs no more than a few pairs.
constexpr size_t verified_per_step = 16;
constexpr size_t candidates_per_step = 4096;
// A limit on the differing bits of a signature that all signatures keep.
constexpr uint32_t no_limit = 64;
// The memory that tokens are looked up in is asked for this many tokens ahead.
constexpr size_t tokens_at_a_time = 8;
constexpr size_t tokens_between_checks = size_t{1} << 16;
// Streamed sets up to this size find the range of their partners in a table.
constexpr uint32_t usual_size = 4096;

// Moves the `count` least of different numbers to the front. Steps of a quickselect that mispredict nothing
// take a third of the time of std::nth_element, which bounds the time for many numbers.
void least_to_front(uint32_t *begin, uint32_t *end, size_t count) {
  constexpr ptrdiff_t most = 256, few = 8;
  while (count > 0 && end - begin <= most && end - begin > few) {
    const uint32_t first = *begin, middle = begin[(end - begin) / 2], last = end[-1];
    const uint32_t pivot = std::max(std::min(first, middle), std::min(std::max(first, middle), last));
    uint32_t *less = begin;
    for (uint32_t *at = begin; at != end; ++at) {
      const uint32_t number = *at;
      *at = *less;
      *less = number;
      less += number < pivot;
    }
    const auto found = static_cast<size_t>(less - begin);
    if (found > count) {
      end = less;
    } else {
      begin = less;
      count -= found;
    }
  }
  if (count < static_cast<size_t>(end - begin)) std::nth_element(begin, begin + count, end);
}

}  // namespace

StreamedJoin::StreamedJoin(const JoinSpec &spec, Side small)
    : spec_(spec),
      small_(small),
      bounds_(small == Side::right ? Bounds(spec.measure, spec.threshold)
                                   : Bounds(spec.measure, spec.threshold).reversed()),
      recorded_(memory_),
      other_integers_(memory_),
      other_texts_(memory_),
      ranks_(memory_),
      sorted_(memory_),
      near_(memory_),
      seen_(memory_) {
  stats_.algorithm = algorithm_name;
  stats_.streamed = small == Side::left ? "right" : "left";
  stats_.threads = 1;
  if (spec.device == Device::automatic) stats_.gpu_refused = "one side has few rows";
}

template <typename T>
void StreamedJoin::add_set(Side side, std::span<const T> tokens) {
  stats_.sets[static_cast<int>(side)] += !tokens.empty();
  if (side != small_) {
    SIMJOIN_CHECK(index_.has_value());
    ++streamed_rows_;
    look_up(tokens);
  } else if (index_) {
    throw Error(ErrorKind::internal, "a set was added to the small side of a join after its index was made");
  } else {
    recorded_.add(tokens);
  }
}

void StreamedJoin::add(Side side, const SetSlice &rows) {
  refuse_weights(rows);
  SIMJOIN_CHECK(side == small_ || rows.rows <= 1);  // the pairs of a row are those of the last one
  if (rows.type != TokenType::text)
    return for_each_integer_set(rows, [&](auto tokens) { add_set(side, tokens); });
  for_each_text_set(rows, [&](const PackedTexts &set) {
    texts_.clear();
    for_each_token(set, [&](std::string_view text) { texts_.push_back(text); });
    add_set(side, std::span<const std::string_view>(texts_));
  });
}

bool StreamedJoin::is_small() const {
  return recorded_.rows() <= most_rows && recorded_.size() <= most_tokens &&
         SmallIndex::bytes_of(recorded_.rows(), recorded_.size()) + 2 * recorded_.text_bytes() <=
             spec_.memory_limit;
}

bool StreamedJoin::takes_long_to_index() const {
  return recorded_.size() >= long_to_index;
}

void StreamedJoin::index(const StopFlag &stop) {
  SIMJOIN_CHECK(!index_);
  const auto begin = WallClock::now();
  recorded_.end();
  index_.emplace(bounds_.reversed(), recorded_, stop, memory_);
  stats_.reasons.push_back("a set that is like one of the small side meets " +
                           std::to_string(std::llround(index_->postings_met())) + " postings");
  if (!pays()) {
    index_.reset();
    return;
  }
  recorded_.release_sets();
  seen_.resize(index_->sets().sets(), 0);
  partners_.resize(usual_size);
  stats_.tokens[static_cast<int>(small_)] = index_->sets().tokens.size();
  stats_.build_ms = milliseconds_since(begin);
}

// Returns whether looking up a set that is like one of the small side takes no longer than to rank it.
bool StreamedJoin::pays() {
  const SetCollection &sets = index_->sets();
  if (sets.sets() <= always_small) return true;
  const double average_size = static_cast<double>(sets.tokens.size()) / sets.sets();
  const Partners usual = find_partners(static_cast<uint32_t>(std::llround(average_size)));
  const double posting =
      usual.differences < useful_differences ? costs::streaming::posting : costs::streaming::candidate;
  return index_->postings_met() * posting <= average_size * costs::streaming::ranked_token;
}

void StreamedJoin::hand_over(JoinEngine &engine) {
  recorded_.hand_over(engine, small_);
}

// ---- A streamed set ----

// Finds the ranks of the tokens that the small side has, and the other tokens, which may repeat. Returns
// false once fewer than `least` tokens can have a rank.
template <typename T>
bool StreamedJoin::find_ranks(std::span<const T> tokens, uint32_t least, auto &others) {
  if (tokens.size() < least) return false;
  ranks_.resize(tokens.size());
  others.resize(tokens.size());
  uint32_t *known = ranks_.data();
  auto *other = others.data();
  TokenTable &table = index_->tokens();
  uint64_t keys[tokens_at_a_time];
  for (size_t begin = 0; begin < tokens.size(); begin += tokens_at_a_time) {
    if ((begin + tokens_at_a_time) % tokens_between_checks == 0) check_interruption();
    const size_t end = std::min(tokens.size(), begin + tokens_at_a_time);
    for (size_t i = begin; i < end; ++i) table.prefetch(keys[i - begin] = TokenTable::key_of(tokens[i]));
    for (size_t i = begin; i < end; ++i) {
      const uint32_t rank = table.find(tokens[i], keys[i - begin], number_);
      *known = rank;
      known += rank < TokenTable::repeated;
      if constexpr (std::is_integral_v<T>)
        *other = tokens[i];
      else
        *other = {keys[i - begin], tokens[i]};
      other += rank == TokenTable::none;
    }
    if (static_cast<size_t>(known - ranks_.data()) + (tokens.size() - end) < least) return false;
  }
  ranks_.resize(static_cast<size_t>(known - ranks_.data()));
  others.resize(static_cast<size_t>(other - others.data()));
  return true;
}

// Begins to look for the partners of a streamed set.
template <typename T>
void StreamedJoin::look_up(std::span<const T> tokens) {
  auto &others = others_of(T{});
  list_ = lists_ = next_near_ = 0;
  near_.clear();
  waiting_.clear();
  if (index_->least_overlap() == SmallIndex::none) return;
  count_set();
  const bool ascending = strictly_ascending(tokens);
  if (ascending) range_ = partners_of(size_ = static_cast<uint32_t>(tokens.size()));
  if (!find_ranks(tokens, ascending ? range_.overlap : index_->least_overlap(), others)) return;
  others_ = static_cast<uint32_t>(others.size());
  if (!ascending) {
    if (others.size() <= longest_short_run)
      std::sort(others.begin(), others.end());
    else
      std::sort(others.begin(), others.end(), interruptible(std::less<>()));
    others_ = static_cast<uint32_t>(
        std::unique(others.begin(), others.end(), interruptible(std::equal_to<>())) - others.begin());
    range_ = partners_of(size_ = static_cast<uint32_t>(ranks_.size()) + others_);
    if (ranks_.size() < range_.overlap) return;
  }
  forget_done_rows();
  begin_scan();
  scan(waiting_);
}

// Prepares the search with the known ranks.
void StreamedJoin::begin_scan() {
  lists_ = ranks_.size() - range_.overlap + 1;
  least_to_front(ranks_.begin(), ranks_.end(), lists_);
  for (size_t i = 0; i < lists_; ++i) index_->prefetch_begin(ranks_[i]);
  sorted_.clear();
  has_wide_ = false;
  signature_ = 0;
  for (const uint32_t rank : ranks_) signature_ ^= uint64_t{1} << parity_bit<1>(index_->sets(), rank);
  // The partners lack the other tokens, which are in no signature.
  const uint32_t most = range_.differences;
  limit_ = most >= useful_differences ? no_limit : most - std::min(most, others_);
  for (size_t i = 0; i < lists_; ++i) index_->prefetch_postings(ranks_[i]);
}

// Gives the streamed set a number.
void StreamedJoin::count_set() {
  if (++number_ != 0) return;
  std::fill(seen_.begin(), seen_.end(), 0);
  index_->tokens().forget_sets();
  number_ = 1;
}

StreamedJoin::Partners StreamedJoin::partners_of(uint32_t size) {
  if (size >= usual_size) return find_partners(size);
  Partners &known = partners_[size];
  if (known.overlap == 0) known = find_partners(size);
  return known;
}

// Returns the sets of the small side whose sizes allow them to be partners.
StreamedJoin::Partners StreamedJoin::find_partners(uint32_t size) const {
  const std::vector<SizeClass> &classes = index_->sets().classes;
  const int64_t smallest = bounds_.min_partner(size);
  const int64_t largest = bounds_.max_partner(size, classes.back().size);
  const auto smaller = [](const SizeClass &c, int64_t value) { return c.size < value; };
  const auto first = std::lower_bound(classes.begin(), classes.end(), smallest, smaller);
  const auto last = std::lower_bound(first, classes.end(), largest + 1, smaller);
  if (size == 0 || first == last) return {0, 0, SmallIndex::none, 0};
  Partners partners = {first->begin, (last - 1)->end,
                       static_cast<uint32_t>(bounds_.min_overlap(size, first->size)), 0};
  for (auto sizes = first; sizes != last && partners.differences < useful_differences; ++sizes) {
    const int64_t both = int64_t{size} + sizes->size, shared = bounds_.min_overlap(size, sizes->size);
    partners.differences = std::max(partners.differences, static_cast<uint32_t>(both - 2 * shared));
  }
  return partners;
}

// ---- Its pairs ----

// Returns whether the caller needs no more pairs of this row of the small side.
bool StreamedJoin::is_done(uint32_t row) const {
  return spec_.done_rows != nullptr && spec_.done_rows->bits != nullptr && small_ == Side::left &&
         spec_.done_rows->is_done(row);
}

// Removes the postings of rows that are done, once looking at them has taken as long as that takes.
void StreamedJoin::forget_done_rows() {
  if (skipped_ == 0 || skipped_ < index_->postings()) return;
  index_->remove_postings([this](uint32_t row) { return is_done(row); });
  skipped_ = 0;
}

uint32_t StreamedJoin::required(uint32_t partner_size) {
  if (required_size_ != size_ || required_partner_ != partner_size) {
    required_ = static_cast<uint32_t>(bounds_.min_overlap(size_, partner_size));
    required_size_ = size_;
    required_partner_ = partner_size;
  }
  return required_;
}

// Returns whether a partner's wide signature shows that the pair shares too few tokens.
bool StreamedJoin::differs_too_much(StreamPosting posting) {
  const uint64_t allowed = uint64_t{size_} + posting.size() - 2 * uint64_t{required(posting.size())};
  if (limit_ < no_limit || allowed >= ParityTable::useful_differences) return false;
  if (!has_wide_) {
    std::fill(std::begin(wide_), std::end(wide_), 0);
    for (const uint32_t rank : ranks_) {
      const uint32_t bit = parity_bit<ParityTable::words>(index_->sets(), rank);
      wide_[bit / 64] ^= uint64_t{1} << bit % 64;
    }
    has_wide_ = true;
  }
  return others_ + index_->wide_signatures().differences(posting.set(), wide_) > allowed;
}

// Verifies a pair and, if it qualifies, appends it.
void StreamedJoin::try_pair(StreamPosting posting, Batch &out) {
  const SetCollection &sets = index_->sets();
  const uint32_t row = sets.rows[posting.set()], least = required(posting.size());
  if (is_done(row)) {
    ++skipped_;
    ++stats_.left_out;
    return;
  }
  if (sorted_.empty()) {
    sorted_.resize(ranks_.size());
    std::copy(ranks_.begin(), ranks_.end(), sorted_.begin());
    sort_long(sorted_.data(), sorted_.size(), sort_, check_interruption);
  }
  ++stats_.verified;
  const uint32_t overlap = bounded_overlap(sorted_.data(), static_cast<uint32_t>(sorted_.size()),
                                           sets.begin(posting.set()), posting.size(), 0, least);
  if (overlap < least) return;
  ++stats_.output;
  small_ == Side::left ? out.push(row, 0, overlap) : out.push(0, row, overlap);
}

// Appends a few pairs.
void StreamedJoin::scan(Batch &out) {
  for (size_t looked_at = 0, verified = 0;;) {
    for (; next_near_ < near_.size(); ++next_near_) {
      const StreamPosting posting = near_[next_near_];
      if (posting.set() < range_.begin || posting.set() >= range_.end || seen_[posting.set()] == number_)
        continue;
      if (looked_at++ == candidates_per_step || verified == verified_per_step) return;
      if (next_near_ + candidates_ahead < near_.size())
        index_->wide_signatures().prefetch(near_[next_near_ + candidates_ahead].set());
      seen_[posting.set()] = number_;
      if (differs_too_much(posting)) continue;
      ++verified;
      try_pair(posting, out);
    }
    if (list_ == lists_) return;
    index_->select(ranks_[list_++], signature_, limit_, near_);
    next_near_ = 0;
  }
}

StepResult StreamedJoin::step(std::chrono::microseconds, Batch &out) {
  out.clear();
  if (waiting_.size() > 0) {
    std::swap(out, waiting_);
  } else {
    scan(out);
  }
  if (out.size() > 0) return StepResult::batch;
  return has_more() ? StepResult::working : StepResult::done;
}

JoinStats StreamedJoin::stats() const {
  JoinStats stats = stats_;
  if (index_) stats.pairs = streamed_rows_ * index_->rows();
  stats.memory_peak = memory_.peak();
  return stats;
}

}  // namespace simjoin
