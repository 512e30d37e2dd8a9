// The right rows of a search for nearest texts: each distinct text once, with its rows, by key and by length.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/mix.hpp"
#include "core/base/worker_pool.hpp"
#include "core/nearest/text_kernels.hpp"
#include "core/text/character_table.hpp"

namespace simjoin {

// Texts of one length whose rows have the same key, one after the other: [begin, end).
struct TextClass {
  uint64_t key;
  uint32_t length;
  uint32_t begin, end;
  uint64_t codes;  // where their characters begin
};

class TextIndex {
 public:
  explicit TextIndex(MemoryCounter &memory) : memory_(memory) {}

  // Adds the next row.
  void add(uint64_t key, std::span<const int32_t> characters);
  // Adds a row that is not in the index.
  void add_none();
  // Ends the rows. Throws Cancelled if the flag is set.
  void end(const StopFlag &stop);

  uint32_t rows() const { return static_cast<uint32_t>(lengths_.size()); }
  uint32_t length_of_row(uint32_t row) const { return lengths_[row]; }
  uint64_t characters() const { return recorded_.size(); }
  uint32_t texts() const { return static_cast<uint32_t>(classes_of_.size()); }
  // Returns the number of codes, of which 0 is for characters that no row has.
  uint32_t codes() const { return alphabet_ + 1; }
  uint32_t code_of(int32_t character) { return code_table_.of(static_cast<uint32_t>(character)); }
  bool has_bytes() const { return alphabet_ <= UINT8_MAX; }

  // Returns the classes of the key, by length.
  std::span<const TextClass> classes_of_key(uint64_t key) const;
  uint32_t first_row_of(uint32_t text) const { return first_rows_[text]; }
  const TextClass &class_of(uint32_t text) const { return classes_[classes_of_[text]]; }
  // Returns the rows of a text, in their order.
  std::span<const uint32_t> rows_of(uint32_t text) const {
    return {sorted_rows_.data() + row_begins_[text], sorted_rows_.data() + row_begins_[text + 1]};
  }
  // Returns the codes of a text of the class: of 8 bits if has_bytes(), else of 32.
  template <typename Code>
  std::span<const Code> codes_of(const TextClass &texts, uint32_t text) const {
    return {codes_at<Code>(texts.codes + size_t{text - texts.begin} * texts.length), texts.length};
  }

  // Returns the signature of the probe's codes, and how many of them no row has.
  template <typename Code>
  TextSignature signature_of(std::span<const Code> codes, uint32_t *unknown);
  void count_missing_of(const TextClass &texts, const TextSignature &probe, uint8_t base, uint8_t least,
                        uint8_t *missing) const {
    count_missing(signatures_[0].data() + texts.begin, signatures_[1].data() + texts.begin,
                  texts.end - texts.begin, probe, base, least, missing);
  }
  // Return how many bits of the probe a text lacks: of characters, and of pairs of neighbours.
  uint32_t missing_of(uint32_t text, const TextSignature &probe) const {
    return bits_missing(probe, {signatures_[0][text], signatures_[1][text]});
  }
  uint32_t missing_pairs_of(uint32_t text, const TextSignature &probe) const {
    return bits_missing(probe, pairs_[text]);
  }
  // Returns the signature of the pairs of neighbours in the signed part of a text.
  template <typename Code>
  static TextSignature pair_signature(std::span<const Code> codes) {
    TextSignature signature = {};
    for (size_t i = 1; i < std::min<size_t>(codes.size(), signed_characters); ++i) {
      const uint64_t bit = (uint64_t{codes[i - 1]} << 32 | codes[i]) * golden_gamma >> 57;
      signature.words[bit >> 6] |= uint64_t{1} << (bit & 63);
    }
    return signature;
  }

  // The signature of a probe is of so many characters. A longer text lacks none by its signature.
  static constexpr uint32_t signed_characters = 1 << 16;

  // Returns about the bytes that indexing takes in all.
  static size_t bytes_of(uint64_t rows, uint64_t characters) {
    constexpr size_t of_row = 200, of_character = 6;
    return rows * of_row + characters * of_character;
  }
  size_t bytes_to_index() const {
    constexpr size_t of_code = 16 + most_repeats * (sizeof(uint8_t) + 2 * sizeof(uint32_t));
    return bytes_of(rows(), recorded_.size()) + codes() * of_code;
  }

 private:
  // A character that stands more often in a text has no token for it.
  static constexpr uint32_t most_repeats = 16;

  struct Entry {
    uint64_t key, hash;
    uint32_t length, row;
  };

  template <typename Code>
  const Code *codes_at(uint64_t at) const {
    if constexpr (std::is_same_v<Code, uint8_t>)
      return bytes_.data() + at;
    else
      return words_.data() + at;
  }
  void sort_rows(Buffer<Entry> *entries, const StopFlag &stop) const;
  void place_texts(const Buffer<Entry> &entries, const StopFlag &stop);
  void choose_bits(const StopFlag &stop);
  void sign_texts(const StopFlag &stop);
  bool same_text(const Entry &a, const Entry &b) const;
  void add_text(const Entry &entry, const StopFlag &stop);
  template <typename Code, typename Visit>
  void for_each_token(std::span<const Code> codes, Visit visit);
  template <typename Visit>
  void for_each_token_of(uint32_t text, Visit visit);

  static constexpr uint32_t token_of(uint32_t code, uint32_t repeat) { return code * most_repeats + repeat; }

  MemoryCounter &memory_;
  CharacterTable<uint32_t> code_table_;
  uint32_t alphabet_ = 0;
  // By row. A row that is not in the index has no key.
  Buffer<uint32_t> recorded_{memory_};  // codes of all rows
  Buffer<uint64_t> starts_{memory_};    // of each row, in recorded_
  Buffer<uint32_t> lengths_{memory_};
  Buffer<uint64_t> keys_{memory_};
  std::vector<bool> left_out_;

  // By text.
  Buffer<uint8_t> bytes_{memory_};
  Buffer<uint32_t> words_{memory_};
  Buffer<uint32_t> sorted_rows_{memory_};
  Buffer<uint32_t> row_begins_{memory_};  // in sorted_rows_
  Buffer<uint32_t> first_rows_{memory_};
  Buffer<uint32_t> classes_of_{memory_};
  Buffer<uint64_t> signatures_[2] = {Buffer<uint64_t>(memory_), Buffer<uint64_t>(memory_)};
  Buffer<TextSignature> pairs_{memory_};

  struct Group {
    uint64_t key;
    uint32_t first_class;
  };
  std::vector<TextClass> classes_;
  std::vector<Group> groups_;  // by key, and one behind the last
  std::vector<uint8_t> bits_;  // by token
  std::vector<uint8_t> seen_;  // by code, in the text that is looked at
};

}  // namespace simjoin
