// The tokens of one join, whatever their type.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "core/base/memory.hpp"
#include "core/sets/interner.hpp"
#include "core/sets/numbered_sets.hpp"
#include "core/sets/ranking.hpp"
#include "core/sets/text_numbers.hpp"

namespace simjoin {

// The tokens of ids from 0 on: integers or texts.
class TokenList {
 public:
  explicit TokenList(Buffer<int64_t> values)
      : size_(static_cast<uint32_t>(values.size())), values_(std::move(values)) {}
  TokenList(std::unique_ptr<TextStore> texts, uint32_t size, MemoryCounter &memory)
      : size_(size), values_(memory), texts_(std::move(texts)) {}

  uint32_t size() const { return size_; }
  bool texts() const { return texts_ != nullptr; }
  // Returns the integer of an id. The tokens are integers.
  int64_t integer(uint32_t id) const { return values_[id]; }
  // Returns the text of an id. The tokens are texts.
  std::string_view text(uint32_t id) const { return texts_->text(id); }
  // Returns visit(token), the token an int64_t or a string_view.
  template <typename Visit>
  auto visit(uint32_t id, Visit &&visit) const {
    if (!texts()) return visit(values_[id]);
    return visit(texts_->text(id));
  }

 private:
  uint32_t size_;
  Buffer<int64_t> values_;
  std::unique_ptr<TextStore> texts_;
};

// What the memory of a vocabulary depends on.
struct VocabularySize {
  uint32_t tokens = 0;
  bool texts = false;
  uint64_t text_bytes = 0;
  uint64_t least = UINT64_MAX;  // of integers, negative ones as the largest
  uint64_t greatest = 0;

  void see(int64_t value) {
    least = std::min(least, static_cast<uint64_t>(value));
    greatest = std::max(greatest, static_cast<uint64_t>(value));
  }
  void see(std::string_view) {}
  // Adds other tokens of the same kind.
  VocabularySize &operator+=(const VocabularySize &other) {
    tokens += other.tokens;
    text_bytes += other.text_bytes;
    least = std::min(least, other.least);
    greatest = std::max(greatest, other.greatest);
    return *this;
  }
};

// Interns either integers or texts: the first set decides, and a set of the other kind is an error.
class Vocabulary {
 public:
  // In a self-join every set is on the left. `small` where the tokens are some of many: takes little memory.
  Vocabulary(bool self_join, MemoryCounter &memory, bool small = false)
      : self_join_(self_join), small_(small), memory_(memory) {}

  // Writes the ids of a set's distinct tokens to `ids` (room for tokens.size()) and returns how many. Counts
  // integers.
  uint32_t intern(Side side, std::span<const int32_t> tokens, uint32_t *ids);
  uint32_t intern(Side side, std::span<const int64_t> tokens, uint32_t *ids);
  uint32_t intern(Side side, std::span<const std::string_view> tokens, uint32_t *ids);

  // Writes the numbers of texts, in the order of the texts.
  void number(std::span<const std::string_view> tokens, uint32_t *numbers);
  // Returns the numbers of texts, to use from several threads. The tokens are texts.
  TextNumbers &texts();
  bool has_texts() const { return texts_.has_value(); }

  uint32_t distinct_tokens() const;
  // Returns the bytes that it takes once so many tokens more have come, at most, but for those of texts.
  size_t bytes_with(size_t tokens) const;
  // Returns the bytes that a vocabulary of this size takes at most, and has taken while it grew.
  static size_t bytes_of(const VocabularySize &size, bool self_join);
  uint64_t text_bytes() const { return texts_ ? texts_->text_bytes() : 0; }
  // Returns the tokens by id, and begins anew. With `small`, the tokens to come are some of many.
  TokenList take_tokens(bool small = false);
  // Returns the text of an id, valid until more texts come. There are texts.
  std::string_view text(uint32_t id) const { return texts_->text(id); }
  [[noreturn]] static void throw_mixed();
  // Returns the ranks of all integers, and forgets everything else, as release() does.
  Ranking take_ranking(WorkerPool &pool);
  void release();

 private:
  IntegerInterner &integers();

  const bool self_join_;
  bool small_;
  MemoryCounter &memory_;
  std::optional<IntegerInterner> integers_;
  std::optional<TextNumbers> texts_;
  TextStore::Piece piece_;  // of texts_
  DistinctNumbers distinct_;
};

}  // namespace simjoin
