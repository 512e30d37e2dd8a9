// The sets of one side of a join, while it is open what becomes of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

#include "core/base/check.hpp"
#include "core/base/memory.hpp"
#include "core/join.hpp"
#include "core/sets/vocabulary.hpp"

namespace simjoin {

class RecordedSets {
 public:
  explicit RecordedSets(MemoryCounter &memory)
      : vocabulary_(true, memory, true), ids_(memory), ends_(memory) {}

  // Adds the next row. Throws Error invalid_argument if sets before had tokens of another type.
  template <typename T>
  void add(std::span<const T> tokens) {
    SIMJOIN_CHECK(!tokens_);  // before end()
    const size_t before = ids_.size();
    uint32_t *ids = ids_.extend(tokens.size());
    ids_.resize(before + (tokens.empty() ? 0 : vocabulary_.intern(Side::left, tokens, ids)));
    ends_.push_back(ids_.size());
    wide_ = wide_ || (std::is_same_v<T, int64_t> && !tokens.empty());
  }
  // Ends adding. Called before all that follows but the figures.
  void end() {
    SIMJOIN_CHECK(!tokens_);
    tokens_.emplace(vocabulary_.take_tokens());
  }

  uint32_t rows() const { return static_cast<uint32_t>(ends_.size()); }
  // Returns the number of tokens of all sets, without duplicates within a set.
  uint64_t size() const { return ids_.size(); }
  uint64_t text_bytes() const { return vocabulary_.text_bytes(); }

  // Returns the tokens by id.
  const TokenList &tokens() const {
    SIMJOIN_CHECK(tokens_.has_value());
    return *tokens_;
  }
  // Returns the ids of all rows' tokens, row by row, and where each row ends.
  const Buffer<uint32_t> &ids() const { return ids_; }
  const Buffer<uint64_t> &ends() const { return ends_; }
  // Forgets the sets, but not the tokens.
  void release_sets();
  // Adds the rows to a side of a join, and forgets everything.
  void hand_over(JoinEngine &engine, Side side);

 private:
  template <typename Token>
  void feed_integers(JoinEngine &engine, Side side) const;
  void feed_texts(JoinEngine &engine, Side side) const;

  Vocabulary vocabulary_;  // until the end
  std::optional<TokenList> tokens_;
  bool wide_ = false;  // some tokens came as int64
  Buffer<uint32_t> ids_;
  Buffer<uint64_t> ends_;  // of each row, in ids
};

}  // namespace simjoin
