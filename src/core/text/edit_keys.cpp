#include "core/text/edit_keys.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/base/interruption.hpp"
#include "core/base/mix.hpp"

namespace simjoin {
namespace {

// The longest texts with keys of deletions, by the number of edits. They have some hundred keys.
constexpr size_t deletion_lengths[] = {0, 32, 20, 16};

size_t deletion_length(size_t edits) {
  return edits < std::size(deletion_lengths) ? deletion_lengths[edits] : 0;
}

constexpr uint64_t factor = golden_gamma;  // any odd number with its bits spread would do

uint64_t power_of_factor(size_t exponent) {
  uint64_t power = 1, square = factor;
  for (; exponent > 0; exponent >>= 1, square *= square)
    if ((exponent & 1) != 0) power *= square;
  return power;
}

int32_t key_of(uint64_t hash) {
  return static_cast<int32_t>(mix64(hash) >> 32);
}

// The characters of a segment that count, and the longest text whose runs all have hashes: a longer one has
// too few segments to make it worth the memory.
constexpr size_t counted_characters = 4096;
constexpr size_t hashed_text = size_t{1} << 20;

// The key that short texts share where the number of edits leaves nothing of some segment.
const int32_t common_key = key_of(golden_gamma);

// Makes the keys of one text. A run of characters has a polynomial of them as its hash, modulo 2^64.
template <typename Character>
class KeyMaker {
 public:
  // The common part of two texts has at least `shortest` characters.
  KeyMaker(std::span<const Character> text, size_t edits, size_t shortest, std::vector<int32_t> *keys)
      : text_(text), edits_(edits), shortest_(shortest), keys_(*keys) {
    if (text.size() > hashed_text) return;
    hashes_.resize(text.size() + 1);
    for (size_t i = 0; i < text.size(); ++i) {
      check_interruption_at(i);
      hashes_[i + 1] = hashes_[i] * factor + mix_bits(text[i]);
    }
  }

  void add() {
    const size_t short_length = deletion_length(edits_), length = text_.size();
    if (edits_ < std::size(deletion_lengths) && length <= short_length + edits_) add_deletions();
    for (size_t shorter = std::max({short_length + 1, length - std::min(length, edits_), shortest_});
         shorter <= length; ++shorter) {
      if (shorter > edits_) add_segments(shorter);
    }
    if (std::max(short_length + 1, shortest_) <= edits_ && length <= 2 * edits_) keys_.push_back(common_key);
  }

 private:
  // Returns the hash of characters [begin, end). `power` is that of their number.
  uint64_t hash_of(size_t begin, size_t end, uint64_t power) const {
    if (!hashes_.empty()) return hashes_[end] - hashes_[begin] * power;
    uint64_t hash = 0;
    for (const Character character : text_.subspan(begin, end - begin))
      hash = hash * factor + mix_bits(character);
    return hash;
  }

  void add_deletions() {
    powers_.resize(text_.size() + 1, 1);
    for (size_t i = 1; i < powers_.size(); ++i) powers_[i] = powers_[i - 1] * factor;
    keys_.push_back(key_of(hashes_.back()));
    delete_from(0, 0, edits_);
  }

  // Adds the keys of the texts that remain if up to `count` >= 1 characters from `begin` on are deleted.
  // `hash` is that of the text before.
  void delete_from(size_t begin, uint64_t hash, size_t count) {
    for (size_t at = begin; at < text_.size(); ++at) {
      if (at > begin && text_[at] == text_[at - 1]) continue;  // the same without the one before
      const uint64_t before = with_run(hash, begin, at);
      keys_.push_back(key_of(with_run(before, at + 1, text_.size())));
      if (count > 1) delete_from(at + 1, before, count - 1);
    }
  }

  // Returns the hash of a text and characters [begin, end) after it.
  uint64_t with_run(uint64_t hash, size_t begin, size_t end) const {
    const uint64_t power = powers_[end - begin];
    return hash * power + hash_of(begin, end, power);
  }

  // Adds keys for the segments of common parts of the length `shorter`, which is above the number of edits.
  // Some segment stands unchanged in both texts with up to as many edits before it as there are segments. So
  // the text has no more characters of its own before it than that, and behind it than what is left.
  void add_segments(size_t shorter) {
    const size_t count = edits_ + 1, size = shorter / count, larger = shorter % count;
    const auto excess = static_cast<int64_t>(text_.size() - shorter);
    const uint64_t powers[] = {power_of_factor(std::min(size, counted_characters)),
                               power_of_factor(std::min(size + 1, counted_characters))};
    size_t place = 0;
    for (size_t i = 0; i < count; ++i) {
      const size_t more = i < count - larger ? 0 : 1, length = size + more;
      const size_t counted = std::min(length, counted_characters);
      const auto at = static_cast<int64_t>(place), before = static_cast<int64_t>(i);
      const auto behind = static_cast<int64_t>(edits_ - i);
      const int64_t first = at + std::max(excess - behind, int64_t{0}), last = at + std::min(excess, before);
      for (int64_t begin = first; begin <= last; ++begin) {
        if (hashes_.empty()) check_interruption();
        const auto from = static_cast<size_t>(begin);
        keys_.push_back(key_of(hash_of(from, from + counted, powers[more]) + mix_bits(shorter * count + i)));
      }
      place += length;
    }
  }

  std::span<const Character> text_;
  size_t edits_;
  size_t shortest_;
  std::vector<int32_t> &keys_;
  std::vector<uint64_t> hashes_;  // of the first characters, by their number
  std::vector<uint64_t> powers_;
};

// The number of edits between a text and a shorter one if they have a similarity, by the length of the longer
// one. It is -1 where there is none, and most_edits + 1 where it is above most_edits.
class EditsByLength {
 public:
  explicit EditsByLength(double similarity) : share_(1 - similarity + rounded) {}

  int32_t operator()(size_t length) const {
    const double edits = std::floor(share_ * static_cast<double>(length));
    return static_cast<int32_t>(std::clamp(edits, -1.0, most_edits + 1.0));
  }
  // Returns the least length with `edits` >= 0 or more, which some length has.
  size_t first_length(int32_t edits) const {
    if (edits == 0) return 0;
    auto length = static_cast<size_t>(edits / share_);
    while (length > 0 && (*this)(length - 1) >= edits) --length;
    while ((*this)(length) < edits) ++length;
    return length;
  }

 private:
  // More than roundings take from a similarity that is computed as 1 - edits / length: 1 - 1 / 5 is 0.8, but
  // (1 - 0.8) * 5 is below 1. Too little for one more edit of any text.
  static constexpr double rounded = 4e-16;

  double share_;
};

}  // namespace

template <typename Character>
void add_edit_keys(std::span<const Character> text, int32_t edits, std::vector<int32_t> *keys) {
  if (edits > most_edits) {
    keys->push_back(common_key);
  } else if (edits >= 0) {
    const auto count = static_cast<size_t>(edits);
    KeyMaker<Character>(text, count, 0, keys).add();
  }
}

template <typename Character>
void add_edit_similarity_keys(std::span<const Character> text, double similarity,
                              std::vector<int32_t> *keys) {
  if (!(similarity > 0)) {
    keys->push_back(common_key);
    return;
  }
  const EditsByLength edits_of(similarity);
  size_t longer = text.size();
  for (int32_t edits = edits_of(longer); edits <= most_edits; ++edits) {
    const size_t first = keys->size();
    if (edits >= 0) {
      const auto count = static_cast<size_t>(edits);
      KeyMaker<Character>(text, count, edits_of.first_length(edits) - count, keys).add();
    }
    for (size_t i = first; i < keys->size(); ++i)
      (*keys)[i] = key_of(static_cast<uint64_t>(edits) << 32 | static_cast<uint32_t>((*keys)[i]));
    // The shortest text with more edits, if this one is long enough to be within them.
    while (edits_of(longer) <= edits && longer - text.size() <= static_cast<size_t>(most_edits)) ++longer;
    if (edits_of(longer) <= edits || longer - text.size() > static_cast<size_t>(edits_of(longer))) return;
  }
  keys->push_back(common_key);
}

template void add_edit_keys(std::span<const uint8_t>, int32_t, std::vector<int32_t> *);
template void add_edit_keys(std::span<const uint32_t>, int32_t, std::vector<int32_t> *);
template void add_edit_similarity_keys(std::span<const uint8_t>, double, std::vector<int32_t> *);
template void add_edit_similarity_keys(std::span<const uint32_t>, double, std::vector<int32_t> *);

}  // namespace simjoin
