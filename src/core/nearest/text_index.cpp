#include "core/nearest/text_index.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "core/base/interruption.hpp"
#include "core/base/mix.hpp"

namespace simjoin {
namespace {

constexpr uint32_t word_bits = 64;

// Returns a hash of the first characters.
uint64_t hash_of_codes(std::span<const uint32_t> codes) {
  uint64_t hash = 0;
  for (const uint32_t code : codes.first(std::min<size_t>(codes.size(), TextIndex::signed_characters)))
    hash = mix_bits(hash ^ code);
  return hash;
}

}  // namespace

// ---- Rows ----

void TextIndex::add(uint64_t key, std::span<const int32_t> characters) {
  starts_.push_back(recorded_.size());
  lengths_.push_back(static_cast<uint32_t>(characters.size()));
  keys_.push_back(key);
  left_out_.push_back(false);
  uint32_t *code = recorded_.extend(characters.size());
  for (size_t i = 0; i < characters.size(); ++i) {
    check_interruption_at(i);
    uint32_t &number = code_table_.of(static_cast<uint32_t>(characters[i]));
    if (number == 0) number = ++alphabet_;
    code[i] = number;
  }
}

void TextIndex::add_none() {
  add(0, {});
  left_out_.back() = true;
}

void TextIndex::end(const StopFlag &stop) {
  seen_.resize(codes(), 0);
  Buffer<Entry> entries(memory_);
  sort_rows(&entries, stop);
  place_texts(entries, stop);
  for (Buffer<uint64_t> *recorded : {&starts_, &keys_}) recorded->release();
  recorded_.release();
  choose_bits(stop);
  sign_texts(stop);
}

void TextIndex::sort_rows(Buffer<Entry> *entries, const StopFlag &stop) const {
  entries->reserve(rows());
  for (uint32_t row = 0; row < rows(); ++row) {
    stop.check_at(row);
    const std::span codes(recorded_.data() + starts_[row], lengths_[row]);
    if (!left_out_[row]) entries->push_back({keys_[row], hash_of_codes(codes), lengths_[row], row});
  }
  size_t step = 0;
  std::sort(entries->begin(), entries->end(), [&](const Entry &a, const Entry &b) {
    stop.check_at(step++);
    return std::tie(a.key, a.length, a.hash, a.row) < std::tie(b.key, b.length, b.hash, b.row);
  });
}

bool TextIndex::same_text(const Entry &a, const Entry &b) const {
  if (a.key != b.key || a.length != b.length || a.hash != b.hash || a.length > signed_characters)
    return false;
  const uint32_t *codes = recorded_.data() + starts_[a.row];
  return std::equal(codes, codes + a.length, recorded_.data() + starts_[b.row]);
}

// Gives each distinct text a number, and so each very long one. Rows of equal texts stand one after the
// other, unless hashes are equal by chance.
void TextIndex::place_texts(const Buffer<Entry> &entries, const StopFlag &stop) {
  if (has_bytes())
    bytes_.reserve(recorded_.size());
  else
    words_.reserve(recorded_.size());
  sorted_rows_.reserve(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    stop.check_at(i);
    if (i == 0 || !same_text(entries[i - 1], entries[i])) add_text(entries[i], stop);
    sorted_rows_.push_back(entries[i].row);
    if (i == 0 || entries[i - 1].key != entries[i].key)
      groups_.push_back({entries[i].key, static_cast<uint32_t>(classes_.size() - 1)});
  }
  row_begins_.push_back(static_cast<uint32_t>(sorted_rows_.size()));
  groups_.push_back({0, static_cast<uint32_t>(classes_.size())});
}

void TextIndex::add_text(const Entry &entry, const StopFlag &stop) {
  const bool first = sorted_rows_.empty();
  const bool same_class =
      !first && classes_.back().length == entry.length && classes_.back().key == entry.key;
  const uint32_t text = texts();
  if (!same_class)
    classes_.push_back({entry.key, entry.length, text, text, has_bytes() ? bytes_.size() : words_.size()});
  classes_.back().end = text + 1;
  classes_of_.push_back(static_cast<uint32_t>(classes_.size() - 1));
  row_begins_.push_back(static_cast<uint32_t>(sorted_rows_.size()));
  first_rows_.push_back(entry.row);
  const uint32_t *codes = recorded_.data() + starts_[entry.row];
  for (uint32_t i = 0; i < entry.length; ++i) {
    if (i > 0) stop.check_at(i);
    if (has_bytes())
      bytes_.push_back(static_cast<uint8_t>(codes[i]));
    else
      words_.push_back(codes[i]);
  }
}

std::span<const TextClass> TextIndex::classes_of_key(uint64_t key) const {
  const auto end = groups_.end() - 1;
  const auto group = std::lower_bound(groups_.begin(), end, key,
                                      [](const Group &other, uint64_t wanted) { return other.key < wanted; });
  if (group == end || group->key != key) return {};
  return {classes_.data() + group->first_class, (group + 1)->first_class - group->first_class};
}

// ---- Signatures ----

// Calls visit(token) for the tokens of a text: its characters, each with how often it stands before.
template <typename Code, typename Visit>
void TextIndex::for_each_token(std::span<const Code> codes, Visit visit) {
  codes = codes.first(std::min<size_t>(codes.size(), signed_characters));
  for (const Code code : codes)
    if (code != 0 && seen_[code] < most_repeats) visit(token_of(code, seen_[code]++));
  for (const Code code : codes) seen_[code] = 0;
}

template <typename Visit>
void TextIndex::for_each_token_of(uint32_t text, Visit visit) {
  has_bytes() ? for_each_token(codes_of<uint8_t>(class_of(text), text), visit)
              : for_each_token(codes_of<uint32_t>(class_of(text), text), visit);
}

// The most frequent tokens have bits of their own. All others share the bits of the second word.
void TextIndex::choose_bits(const StopFlag &stop) {
  std::vector<uint32_t> frequencies(size_t{codes()} * most_repeats, 0), tokens(frequencies.size());
  for (uint32_t text = 0; text < texts(); ++text) {
    stop.check_at(text);
    for_each_token_of(text, [&](uint32_t token) { ++frequencies[token]; });
  }
  std::iota(tokens.begin(), tokens.end(), 0);
  size_t step = 0;
  std::sort(tokens.begin(), tokens.end(), [&](uint32_t a, uint32_t b) {
    stop.check_at(step++);
    return frequencies[a] != frequencies[b] ? frequencies[a] > frequencies[b] : a < b;
  });
  bits_.resize(tokens.size());
  for (size_t rank = 0; rank < tokens.size(); ++rank)
    bits_[tokens[rank]] = static_cast<uint8_t>(rank < word_bits ? rank : word_bits + rank % word_bits);
}

void TextIndex::sign_texts(const StopFlag &stop) {
  pairs_.resize(texts());
  for (Buffer<uint64_t> &words : signatures_) words.resize(texts(), 0);
  for (uint32_t text = 0; text < texts(); ++text) {
    stop.check_at(text);
    if (class_of(text).length > signed_characters) {
      pairs_[text] = {{~uint64_t{0}, ~uint64_t{0}}};
      for (Buffer<uint64_t> &words : signatures_) words[text] = ~uint64_t{0};
      continue;
    }
    pairs_[text] = has_bytes() ? pair_signature(codes_of<uint8_t>(class_of(text), text))
                               : pair_signature(codes_of<uint32_t>(class_of(text), text));
    for_each_token_of(text, [&](uint32_t token) {
      signatures_[bits_[token] / word_bits][text] |= uint64_t{1} << bits_[token] % word_bits;
    });
  }
}

template <typename Code>
TextSignature TextIndex::signature_of(std::span<const Code> codes, uint32_t *unknown) {
  TextSignature signature = {};
  *unknown = 0;
  for (size_t i = 0; i < codes.size(); ++i) {
    check_interruption_at(i);
    *unknown += codes[i] == 0;
  }
  for_each_token(codes, [&](uint32_t token) {
    signature.words[bits_[token] / word_bits] |= uint64_t{1} << bits_[token] % word_bits;
  });
  return signature;
}

template TextSignature TextIndex::signature_of(std::span<const uint8_t>, uint32_t *);
template TextSignature TextIndex::signature_of(std::span<const uint32_t>, uint32_t *);

}  // namespace simjoin
