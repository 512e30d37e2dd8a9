// The tokens of a join on the CPU, from values to ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "core/base/memory.hpp"
#include "core/base/spill_file.hpp"
#include "core/base/worker_pool.hpp"
#include "core/sets/int32_values.hpp"
#include "core/sets/int64_values.hpp"
#include "core/sets/ranking.hpp"
#include "core/sets/raw_sets.hpp"
#include "core/sets/text_feed.hpp"
#include "core/sets/token_runs.hpp"
#include "core/sets/vocabulary.hpp"

namespace simjoin {

// Where sets of texts go.
struct TextInput {
  RawSets &left;
  RawSets &right;
  int threads;              // the caller's included
  size_t memory_limit;      // of the join
  SpillFile *file;          // null without a file
  size_t vocabulary_bytes;  // that the numbering of tokens takes, about, with a file
  NumberedForm form = {};
  // Adds numbered rows to their side. Without it, RawSets::add_rows() does.
  std::function<void(NumberedSets &&rows)> add_rows = {};
};

// Integers of 32 bits wait for the end of the input as they are. Values of other types get an id at once,
// texts maybe a little later, on other threads. Integers of 64 bits wait, too, if many of them are distinct
// and there is no file.
class JoinTokens {
 public:
  // In a self-join every set is on the left.
  JoinTokens(bool self_join, MemoryCounter &memory)
      : self_join_(self_join), memory_(memory), vocabulary_(self_join, memory) {}

  // Writes what stands for a set's distinct tokens to `ids` (room for tokens.size()) and returns how many
  // they are. Throws Error invalid_argument where sets before had tokens of another type.
  uint32_t add(Side side, std::span<const int32_t> tokens, uint32_t *ids);
  uint32_t add(Side side, std::span<const int64_t> tokens, uint32_t *ids);
  uint32_t add(Side side, std::span<const std::string_view> tokens, uint32_t *ids);

  // Returns whether the integers of 64 bits of a join without a file, `tokens` in all so far, should wait.
  bool should_wait(uint64_t tokens) const;
  // Returns the values of the ids in the blocks. All sets have to be added again, by add_waiting().
  TokenList begin_waiting();
  // As add(), but each token has `waiting_ids` ids, for which `ids` has room.
  static constexpr uint32_t waiting_ids = Int64Values::ids_per_number;
  uint32_t add_waiting(std::span<const int64_t> tokens, uint32_t *ids) {
    return waiting_->take(tokens, reinterpret_cast<uint64_t *>(ids));
  }
  // Returns how many ids in the blocks stand for a token.
  uint32_t ids_per_token() const { return waiting_ ? waiting_ids : 1; }
  // All sets have to be added again, by add(), since there is a file now.
  void end_waiting();

  // The same for distinct tokens, in their order, so that weights can be beside them. Integers of 32 bits
  // have to ascend, and texts go to add_texts() with a form that keeps their order.
  template <typename T>
  uint32_t add_in_order(Side side, std::span<const T> tokens, uint32_t *ids);

  // Adds a set of texts as the next row of a side, in place of add() and RawSets::add_row(): now, or with a
  // later set or end_texts(). `Texts` is PackedTexts or a span of std::string_view. Every set that comes
  // after the first that is not empty has to be added so.
  template <typename Texts>
  void add_texts(Side side, const Texts &set, const TextInput &input);
  // Returns whether sets of texts have been added so.
  bool feeds_texts() const { return feed_.has_value(); }
  // Adds the rows that have not been added yet. Returns false if some are left at a time. Uses up to as many
  // threads as there were to add_texts().
  bool end_texts(const TextInput &input, TextFeed::Time until);

  // Keeps to about `bytes` from now on: called before a set of so many tokens is added, with the sides as
  // they are, whose blocks may end with the last set.
  void bound(size_t bytes, size_t tokens, RawSets &left, RawSets &right, SpillFile &file);
  // Returns the number of distinct tokens so far, about. Not for use after bound().
  uint64_t distinct_tokens() const;
  // Returns the bytes that take_ranking() takes besides what is there now, about, for sets of so many tokens.
  // Not for use after bound().
  size_t ranking_bytes(uint64_t tokens) const;
  // Makes equal tokens of all sets have equal numbers in the blocks, and forgets everything else. Uses about
  // `bytes` where blocks are in the file, as TokenRuns::number() does.
  void number(RawSets &left, RawSets &right, size_t bytes, WorkerPool &pool);
  // Returns the ranks by which apply_ranks() finds its way, and forgets everything else. Blocks may be in the
  // file (not null then). Uses about `extra_bytes` where more than the least would help.
  Ranking take_ranking(RawSets &left, RawSets &right, SpillFile *file, size_t extra_bytes, WorkerPool &pool);

  // What the tokens take in a join in memory, in bytes, at most.
  struct InMemory {
    uint64_t distinct = 0;
    size_t numbering = 0;  // until they are ranked
    size_t ranking = 0;    // besides, while they are
  };
  // Returns that for the tokens that were ranked, whether there was a file or not.
  const InMemory &ranked() const { return ranked_; }

 private:
  void take_numbered(const TextInput &input, TextFeed::Time until);
  void end_run(RawSets &left, RawSets &right);
  VocabularySize number_runs(RawSets &left, RawSets &right, size_t bytes, WorkerPool &pool);
  template <typename T>
  uint32_t intern(Side side, std::span<const T> tokens, uint32_t *ids);

  const bool self_join_;
  MemoryCounter &memory_;
  Vocabulary vocabulary_;  // of the sets since the last run ended
  std::optional<TokenRuns> runs_;
  std::optional<Int32Values> plain_;
  std::optional<Int64Values> waiting_;
  bool may_wait_ = false;         // with more memory, and so many tokens
  std::optional<TextFeed> feed_;  // destroyed before the vocabulary that it uses
  InMemory ranked_;
};

}  // namespace simjoin
