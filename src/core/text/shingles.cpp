#include "core/text/shingles.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/base/interruption.hpp"
#include "core/sort/hash_sort.hpp"
#include "core/sort/long_sort.hpp"
#include "core/text/fold_kernels.hpp"
#include "core/text/letters_and_digits.hpp"

namespace simjoin {
namespace {

// At least this many bytes before the window are kept, so that few steps move the window.
constexpr size_t kept_text = 4096;
// Bytes that are folded at a time, and then hashed from the cache.
constexpr size_t folded_bytes = 8192;
// Longer windows are hashed one by one, unless they are of ASCII.
constexpr size_t most_started = 64;

// Returns the first space of the text, nullptr without one.
const char *first_space(const char *text, const char *end) {
  return text == end ? nullptr
                     : static_cast<const char *>(std::memchr(text, ' ', static_cast<size_t>(end - text)));
}

bool begins_character(char byte) {
  return (static_cast<uint8_t>(byte) & 0xC0) != 0x80;
}

bool is_ascii(std::string_view text) {
  uint8_t bits = 0;
  for (const char byte : text) bits |= static_cast<uint8_t>(byte);
  return bits < 0x80;
}

bool is_utf8(std::string_view text) {
  const char *const end = text.data() + text.size();
  for (const char *next = text.data(); next < end;) {
    const size_t length = character_length(next, end);
    if (length == 1 && static_cast<uint8_t>(*next) >= 0x80) return false;
    next += length;
  }
  return true;
}

// The number of a hash: numbers without a sign have the order of the values.
template <typename Number>
Number shingle_number(uint64_t hash) {
  return static_cast<Number>(hash) ^
         static_cast<Number>(std::numeric_limits<std::make_signed_t<Number>>::min());
}

// Hashes windows that begin one byte after the other. Their length is known to be within bounds, so that the
// compiler leaves out what XXH3 does for others. It would call XXH3 if the attribute were missing.
template <size_t least, size_t most, typename Number>
[[gnu::flatten]] void hash_each(const char *text, size_t length, size_t count, Number *numbers) {
  if (length < least || length > most) __builtin_unreachable();
  for (size_t i = 0; i < count; ++i) numbers[i] = shingle_number<Number>(XXH3_64bits(text + i, length));
}

}  // namespace

template <typename Value>
void Shingler<Value>::begin(ShingleUnit unit, uint32_t size, bool multi) {
  unit_ = unit;
  multi_ = multi;
  size_ = std::max<uint32_t>(size, 1);
  rest_ = {};
  normal_.clear();
  hashes_.clear();
  after_space_ = ascii_ = utf8_ = true;
  begin_ = window_end_ = next_ = units_ = 0;
  if (unit_ != ShingleUnit::gram) return;
  after_space_ = false;
  pad('#');
}

template <typename Value>
void Shingler<Value>::pad(char character) {
  std::fill_n(normal_.extend(size_ - 1), size_ - 1, character);
}

template <typename Value>
bool Shingler<Value>::step(size_t budget) {
  work_ = 0;
  while (hash_windows(budget)) {
    if (rest_.empty()) return false;
    if (work_ >= budget) break;
    forget_text();
    unit_ == ShingleUnit::gram ? take_as_it_is(budget - work_) : fold(budget - work_);
  }
  return true;
}

// Forgets the text before the window if it is most of the text.
template <typename Value>
void Shingler<Value>::forget_text() {
  if (begin_ < kept_text || begin_ < normal_.size() / 2) return;
  std::copy(normal_.begin() + begin_, normal_.end(), normal_.begin());
  normal_.resize(normal_.size() - begin_);
  window_end_ -= begin_;
  next_ -= begin_;
  begin_ = 0;
}

// Takes whole characters, if the text is UTF-8.
template <typename Value>
void Shingler<Value>::take_as_it_is(size_t budget) {
  const size_t least = std::min({budget, folded_bytes, rest_.size()});
  size_t taken = least;
  while (taken < std::min(least + 3, rest_.size()) && !begins_character(rest_[taken])) ++taken;
  const std::string_view text = rest_.substr(0, taken);
  std::copy(text.begin(), text.end(), normal_.extend(taken));
  const bool ascii = is_ascii(text);
  ascii_ &= ascii;
  utf8_ &= ascii || is_utf8(text);
  rest_.remove_prefix(taken);
  work_ += taken;
}

template <typename Value>
void Shingler<Value>::fold(size_t budget) {
  const size_t least = std::min({budget, folded_bytes, rest_.size()}), before = normal_.size();
  char *folded = normal_.extend(least + fold_padding);
  FoldedText to = {folded, after_space_, ascii_, utf8_};
  const size_t taken = fold_text(letters_, rest_, least, &to);
  if (unit_ == ShingleUnit::run) keep_letters_and_digits(folded, after_space_, &to);
  normal_.resize(before + static_cast<size_t>(to.end - folded));
  after_space_ = to.after_space;
  ascii_ = to.ascii;
  utf8_ = to.utf8;
  rest_.remove_prefix(taken);
  work_ += taken;
}

// Adds the text's next unit to the window. Returns false if it is not complete.
template <typename Value>
bool Shingler<Value>::pass_unit() {
  if (by_characters()) {
    if (next_ >= text_end()) return false;
    window_end_ = next_ += character_length(at(next_), normal_.end());
  } else {
    const char *space = first_space(at(next_), normal_.end());
    work_ += (space == nullptr ? normal_.end() : space) - at(next_);
    next_ = space == nullptr ? normal_.size() : static_cast<size_t>(space + 1 - normal_.data());
    if (space == nullptr) return false;
    window_end_ = next_ - 1;
  }
  ++units_;
  return true;
}

template <typename Value>
void Shingler<Value>::pass_first_unit() {
  if (by_characters()) {
    begin_ += character_length(at(begin_), normal_.end());
  } else {
    const char *space = first_space(at(begin_), at(window_end_));
    begin_ = space == nullptr ? next_ : static_cast<size_t>(space + 1 - normal_.data());
  }
  --units_;
}

template <typename Value>
void Shingler<Value>::hash_window() {
  hashes_.push_back(shingle_number<Number>(XXH3_64bits(at(begin_), window_end_ - begin_)));
  work_ += window_end_ - begin_;
}

// Returns whether all windows of the text so far are hashed.
template <typename Value>
bool Shingler<Value>::hash_windows(size_t budget) {
  if (by_characters()) ascii_ ? hash_ascii(budget) : hash_utf8(budget);
  while (units_ == size_ || pass_unit()) {
    if (units_ < size_) continue;
    if (work_ >= budget) return false;
    hash_window();
    pass_first_unit();
  }
  return true;
}

// Hashes windows in which each byte is a character, one after the other.
template <typename Value>
void Shingler<Value>::hash_ascii(size_t budget) {
  const size_t end = text_end(), size = size_;
  if (end - begin_ < size || work_ >= budget) return;
  const size_t count = std::min(end - begin_ - size + 1, (budget - work_) / size + 1);
  const char *text = at(begin_);
  Number *numbers = hashes_.extend(count);
  if (size < 4)
    hash_each<1, 3>(text, size, count, numbers);
  else if (size <= 8)
    hash_each<4, 8>(text, size, count, numbers);
  else if (size <= 16)
    hash_each<9, 16>(text, size, count, numbers);
  else
    hash_each<17, SIZE_MAX>(text, size, count, numbers);
  work_ += count * size;
  begin_ += count;
  units_ = size_ - 1;
  window_end_ = next_ = begin_ + units_;
}

// Hashes windows whose characters are found all at once. Long windows would have them found again and again.
template <typename Value>
void Shingler<Value>::hash_utf8(size_t budget) {
  if (!utf8_ || size_ > most_started || text_end() - begin_ < size_) return;
  const std::string_view text(at(begin_), text_end() - begin_);
  starts_.resize(text.size() + 1);
  const size_t count = character_starts(text, starts_.data());
  starts_[count] = static_cast<uint32_t>(text.size());
  if (count < size_) return;
  size_t i = 0;
  Number *numbers = hashes_.extend(count - size_ + 1);
  for (; i + size_ <= count && work_ < budget; ++i) {
    const size_t length = starts_[i + size_] - starts_[i];
    numbers[i] = shingle_number<Number>(XXH3_64bits(text.data() + starts_[i], length));
    work_ += length;
  }
  hashes_.resize(hashes_.size() - (count - size_ + 1 - i));
  units_ = size_ - 1;
  window_end_ = next_ = begin_ + starts_[i + units_];
  begin_ += starts_[i];
}

template <typename Value>
void Shingler<Value>::finish() {
  if (unit_ == ShingleUnit::gram) {
    pad('$');
    hash_windows(SIZE_MAX);
    return;
  }
  const size_t end = text_end();
  if (end == 0) return;
  if (!by_characters() && !after_space_) {
    ++units_;
    window_end_ = end;
  }
  if (units_ < size_ && !hashes_.empty()) return;
  window_end_ = end;
  hash_window();
}

template <typename Value>
void Shingler<Value>::sort() {
  room_.resize(std::min(hashes_.size(), longest_short_run));
  const auto sort = [&](Number *numbers, size_t some) { sort_hashes(numbers, some, room_.data()); };
  sort_long(hashes_.data(), hashes_.size(), sort, check_interruption);
}

// Makes the n-th of equal hashes, which are beside each other, the hash of the pair (hash, n). The first one
// stays.
template <typename Value>
void Shingler<Value>::tell_apart_occurrences() {
  Number before = 0;
  uint64_t earlier = 0;
  for (size_t i = 0; i < hashes_.size(); ++i) {
    if (i % longest_short_run == longest_short_run - 1) check_interruption();
    const Number number = hashes_[i];
    earlier = i > 0 && number == before ? earlier + 1 : 0;
    before = number;
    if (earlier == 0) continue;
    const uint64_t hash = shingle_number<Number>(number);
    hashes_[i] = shingle_number<Number>(occurrence_hash(hash, earlier));
  }
}

template <typename Value>
std::span<const Value> Shingler<Value>::set() {
  sort();
  if (multi_) {
    tell_apart_occurrences();
    sort();
  }
  const size_t count = hashes_.size();
  size_t kept = 0;
  for (size_t i = 0; i < count; ++i) {
    if (i % longest_short_run == longest_short_run - 1) check_interruption();
    const Number number = hashes_[i];
    hashes_[kept] = shingle_number<Number>(number);
    kept += i + 1 == count || hashes_[i + 1] != number;
  }
  return {reinterpret_cast<const Value *>(hashes_.data()), kept};
}

template class Shingler<int32_t>;
template class Shingler<int64_t>;

}  // namespace simjoin
