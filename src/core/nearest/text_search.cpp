#include "core/nearest/text_search.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/base/check.hpp"
#include "core/base/interruption.hpp"
#include "core/base/mix.hpp"
#include "core/base/wall_clock.hpp"
#include "core/set_slices.hpp"
#include "core/text/damerau_distance.hpp"
#include "core/text/edit_distance.hpp"
#include "core/text/jaro.hpp"

namespace simjoin {
namespace {

constexpr uint32_t halves_of_key = 2;
// The most characters that a count has, and that `base` of a count may have.
constexpr uint32_t most_counted = 255, most_base = 127;
constexpr size_t most_prefix = 4;  // that counts for Winkler

// A text within these distances has one of three segments unchanged: an exchange of neighbours changes two.
int64_t distance_by_segments(TextMeasure measure) {
  return measure == TextMeasure::edits ? 2 : 1;
}

// The most pairs of neighbours that an edit changes.
int64_t pairs_of_edit(TextMeasure measure) {
  return measure == TextMeasure::edits ? 2 : 3;
}

constexpr uint32_t segments = 3;
constexpr size_t counted_of_segment = 4096;

uint32_t begin_of_segment(uint32_t length, uint32_t segment) {
  return static_cast<uint32_t>(uint64_t{length} * segment / segments);
}

template <typename Code>
int32_t key_of_segment(std::span<const Code> codes, uint64_t of_class, uint32_t segment) {
  uint64_t hash = of_class + segment;
  // The first characters of a long one tell enough.
  for (const Code code : codes.first(std::min<size_t>(codes.size(), counted_of_segment)))
    hash = (hash ^ code) * golden_gamma;
  return static_cast<int32_t>(mix64(hash) >> 32);
}

// Returns the distance, or more than `most` if it is above that. up_to(most) takes time proportional to
// `most`.
template <typename UpTo>
int64_t distance_within(int64_t most, UpTo up_to) {
  for (int64_t within = 64; within < most; within *= 4) {
    const int64_t distance = up_to(within);
    if (distance <= within) return distance;
  }
  return up_to(most);
}

uint64_t hash_of_class(uint64_t key, uint32_t length) {
  return mix_bits(key ^ mix_bits(length)) & ~uint64_t{segments};
}

}  // namespace

void TextSearch::add(Side side, const SetSlice &rows) {
  refuse_weights(rows);
  SIMJOIN_CHECK(indexed_ == (side == Side::left) && rows.type == TokenType::int4);
  for_each_integer_set(rows, [&](const auto &set) {
    if constexpr (std::is_same_v<std::decay_t<decltype(set)>, std::span<const int32_t>>) {
      if (side == Side::left) return look_up(set);
      if (set.empty()) return index_.add_none();
      const uint64_t key = uint64_t{static_cast<uint32_t>(set[0])} << 32 | static_cast<uint32_t>(set[1]);
      index_.add(key, set.subspan(halves_of_key));
    }
  });
  stats_.sets[static_cast<int>(side)] += rows.token_count > 0;
}

void TextSearch::index(const StopFlag &stop) {
  const auto begin = WallClock::now();
  stats_.tokens[static_cast<int>(Side::right)] = index_.characters();
  index_.end(stop);
  missing_.resize(index_.texts());
  pattern_ = EditPattern(index_.codes());
  if (order_.by_edits() && index_.texts() >= least_looked_up) index_segments(stop);
  indexed_ = true;
  stats_.distinct_tokens = index_.codes() - 1;
  stats_.build_ms = milliseconds_since(begin);
}

void TextSearch::look_up(std::span<const int32_t> characters) {
  key_ = uint64_t{static_cast<uint32_t>(characters[0])} << 32 | static_cast<uint32_t>(characters[1]);
  characters = characters.subspan(halves_of_key);
  length_ = static_cast<uint32_t>(characters.size());
  bytes_.clear();
  words_.clear();
  for (size_t i = 0; i < characters.size(); ++i) {
    check_interruption_at(i);
    const uint32_t code = index_.code_of(characters[i]);
    if (index_.has_bytes())
      bytes_.push_back(static_cast<uint8_t>(code));
    else
      words_.push_back(code);
  }
  classes_ = index_.classes_of_key(key_);
  with_probe([&](auto codes) {
    pair_signature_ = TextIndex::pair_signature(codes);
    signature_ = index_.signature_of(codes, &unknown_);
    if (order_.measure == TextMeasure::edits && length_ <= EditPattern::most_characters) pattern_.set(codes);
  });
  best_.begin_row(order_.least_score());
}

// ---- The nearest of its pairs that have not been given ----

void TextSearch::search() {
  least_distance_ = 0;
  const bool many = !classes_.empty() && classes_.back().end - classes_.front().begin >= least_looked_up;
  const int64_t looked_up = segments_ && many ? distance_by_segments(order_.measure) : -1;
  for (int64_t within = 0; within <= looked_up; ++within)
    if (best_.is_wanted(order_.most_score(0, within, length_, length_ + within))) search_by_segments(within);
  most_distance_ = INT64_MAX;
  wanted_.reset();
  levels_.clear();
  for (uint32_t number = 0; number < classes_.size(); ++number) {
    const Level level = level_of(number, 0, false);
    if (best_.is_wanted(level.most_score)) levels_.push_back(level);
  }
  std::make_heap(levels_.begin(), levels_.end());
  while (!levels_.empty() && best_.is_wanted(levels_.front().most_score)) {
    std::pop_heap(levels_.begin(), levels_.end());
    const Level level = levels_.back();
    levels_.pop_back();
    search_level(level);
  }
}

TextSearch::Level TextSearch::level_of(uint32_t number, uint32_t missing, bool counted) const {
  const uint32_t length = classes_[number].length;
  missing = std::max(missing, length_ - std::min(length, length_));
  if (!counted) missing = std::min(missing, most_counted);
  return {order_.most_score(missing, least_distance_, length_, length), number, missing, counted};
}

// Looks at the texts of a level, and puts the next one of the class into the heap.
void TextSearch::search_level(const Level &level) {
  const TextClass &texts = classes_[level.number];
  if (!level.counted) {
    check_interruption();
    index_.count_missing_of(texts, signature_, static_cast<uint8_t>(std::min(unknown_, most_base)),
                            static_cast<uint8_t>(level.missing), missing_.data() + texts.begin);
  }
  const uint8_t *begin = missing_.data() + texts.begin, *end = missing_.data() + texts.end;
  for (const uint8_t *at = begin; at != end; ++at) {
    at = static_cast<const uint8_t *>(
        std::memchr(at, static_cast<int>(level.missing), static_cast<size_t>(end - at)));
    if (at == nullptr) break;
    if (!best_.is_wanted(level.most_score)) return;
    verify(texts, texts.begin + static_cast<uint32_t>(at - begin), level.missing);
  }
  if (level.missing >= std::min(length_, most_counted)) return;
  const Level next = level_of(level.number, level.missing + 1, true);
  if (!best_.is_wanted(next.most_score)) return;
  levels_.push_back(next);
  std::push_heap(levels_.begin(), levels_.end());
}

// Returns the greatest distance of a text of the length that may be asked for, -1 if there is none. `nearer`:
// that is nearer than the last pair.
int64_t TextSearch::wanted_distance(uint32_t length, bool nearer) const {
  int64_t least = -1, most = std::min(int64_t{std::max(length_, length)}, most_distance_);
  while (least < most) {
    const int64_t middle = most - (most - least) / 2;
    const double score = order_.score_of_edits(middle, length_, length);
    if (nearer ? score > best_.least() : best_.is_wanted(score))
      least = middle;
    else
      most = middle - 1;
  }
  return least;
}

const TextSearch::Wanted &TextSearch::wanted_of(uint32_t length) {
  if (!wanted_ || wanted_->length != length)
    wanted_ = {length, wanted_distance(length, false), wanted_distance(length, true)};
  return *wanted_;
}

// Gives the score of a text by edits, which lacks `missing` characters or more. Returns false if it is not
// asked for, or its pairs have been found.
bool TextSearch::find_edits(const TextClass &texts, uint32_t text, uint32_t missing, ScoredPair *found) {
  const uint32_t length = texts.length;
  const Wanted &wanted = wanted_of(length);
  const int64_t longer = std::max(int64_t{length} - int64_t{length_}, int64_t{0});
  const int64_t edits_of_pairs = pairs_of_edit(order_.measure);
  const int64_t pairs = index_.missing_pairs_of(text, pair_signature_);
  const int64_t least =
      std::max({least_distance_, int64_t{missing} + longer, (pairs + edits_of_pairs - 1) / edits_of_pairs});
  if (least > wanted.within) return false;
  // At the last pair's distance, the first row decides.
  const int64_t most = index_.first_row_of(text) < best_.before_row() ? wanted.within : wanted.nearer;
  if (least > most) return false;
  ++stats_.verified;
  const int64_t distance = with_pair(texts, text, [&](auto probe, auto codes) -> int64_t {
    if (probe.empty()) return static_cast<int64_t>(codes.size());
    if (order_.measure == TextMeasure::damerau)
      return distance_within(most,
                             [&](int64_t limit) { return damerau_distance_up_to(probe, codes, limit); });
    if (length_ <= EditPattern::most_characters && length <= steps_between_checks)
      return pattern_.distance_up_to(codes, most);
    return distance_within(most, [&](int64_t limit) { return edit_distance_up_to(probe, codes, limit); });
  });
  if (distance > most || distance < least_distance_) return false;
  found->score = order_.score_of_edits(distance, length_, length);
  found->overlap = static_cast<uint32_t>(distance);
  return true;
}

// The same for a similarity by Jaro. The text lacks `missing` characters or more.
bool TextSearch::find_jaro(const TextClass &texts, uint32_t text, uint32_t missing, ScoredPair *found) {
  return with_pair(texts, text, [&](auto probe, auto codes) {
    int prefix = 0;
    for (size_t i = 0; i < std::min({probe.size(), codes.size(), most_prefix}) && probe[i] == codes[i]; ++i)
      ++prefix;
    if (!best_.is_wanted(order_.most_score(missing, 0, length_, texts.length, prefix))) return false;
    ++stats_.verified;
    const auto first = order_.probe_first ? probe : codes, second = order_.probe_first ? codes : probe;
    found->score = order_.measure == TextMeasure::jaro ? jaro_similarity(first, second)
                                                       : jaro_winkler_similarity(first, second);
    return true;
  });
}

// Keeps the pairs of a text that are asked for.
void TextSearch::verify(const TextClass &texts, uint32_t text, uint32_t missing) {
  check_interruption();  // a distance counts its own steps, and many take fewer than it has between checks
  if (length_ == 0 && texts.length == 0 && !order_.empty_pairs) return;
  ScoredPair found = {};
  if (!(order_.by_edits() ? find_edits(texts, text, missing, &found)
                          : find_jaro(texts, text, missing, &found)))
    return;
  size_t step = 0;
  for (const uint32_t row : index_.rows_of(text)) {
    check_interruption_at(step++);
    if (!best_.is_wanted(found.score, row)) break;
    found.row = row;
    if (best_.keep(found)) wanted_.reset();
  }
}

// ---- Segments ----

void TextSearch::index_segments(const StopFlag &stop) {
  segments_.emplace();
  for (uint32_t text = 0; text < index_.texts(); ++text) {
    stop.check_at(text);
    const TextClass &texts = index_.class_of(text);
    int32_t keys[segments];
    with_pair(texts, text, [&](auto, auto codes) {
      for (uint32_t i = 0; i < segments; ++i) {
        const uint32_t begin = begin_of_segment(texts.length, i), end = begin_of_segment(texts.length, i + 1);
        keys[i] =
            key_of_segment(codes.subspan(begin, end - begin), hash_of_class(texts.key, texts.length), i);
      }
    });
    const uint32_t count = segments;
    segments_->add(Side::right, row_of(std::span<const int32_t>(keys), count));
  }
  segments_->index(stop);
}

// Adds the keys of the probe's characters that may be a segment of a text of this length within the distance.
// Fewer edits change fewer segments, so it takes fewer of them, the last ones.
void TextSearch::add_segments_of(uint32_t length, int64_t within) {
  const int64_t excess = int64_t{length_} - int64_t{length};
  const int64_t changed = order_.measure == TextMeasure::edits ? within : 2 * within;
  with_probe([&](auto probe) {
    for (auto i = static_cast<uint32_t>(segments - 1 - changed); i < segments; ++i) {
      const int64_t begin = begin_of_segment(length, i), end = begin_of_segment(length, i + 1);
      for (int64_t shift = -within; shift <= within; ++shift) {
        // The edits before the segment shift it, and those after it make up for the difference of lengths.
        if (std::abs(shift) + std::abs(excess - shift) > within || begin + shift < 0 ||
            end + shift > int64_t{length_})
          continue;
        const auto from = static_cast<size_t>(begin + shift), size = static_cast<size_t>(end - begin);
        keys_.push_back(key_of_segment(probe.subspan(from, size), hash_of_class(key_, length), i));
      }
    }
  });
}

// Finds all pairs within the distance that have not been found.
void TextSearch::search_by_segments(int64_t within) {
  keys_.clear();
  for (const TextClass &texts : classes_)
    if (std::abs(int64_t{texts.length} - int64_t{length_}) <= within) add_segments_of(texts.length, within);
  const auto count = static_cast<uint32_t>(keys_.size());
  segments_->add(Side::left, row_of(std::span<const int32_t>(keys_), count));
  most_distance_ = within;
  wanted_.reset();
  while (segments_->step(std::chrono::microseconds(0), batch_) == StepResult::batch)
    for (const uint32_t text : batch_.right)
      if (unknown_ + index_.missing_of(text, signature_) <= within) verify(index_.class_of(text), text, 0);
  least_distance_ = within + 1;
}

JoinStats TextSearch::stats() const {
  JoinStats stats = NearestSearch::stats();
  if (segments_) stats.memory_peak += segments_->stats().memory_peak;
  return stats;
}

}  // namespace simjoin
