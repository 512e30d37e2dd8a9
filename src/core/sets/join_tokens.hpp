// The tokens of a join on the CPU, from values to ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <type_traits>

#include "core/base/check.hpp"
#include "core/base/interruption.hpp"
#include "core/base/memory.hpp"
#include "core/base/packed_texts.hpp"
#include "core/base/spill_file.hpp"
#include "core/base/worker_pool.hpp"
#include "core/set_slices.hpp"
#include "core/sets/int32_values.hpp"
#include "core/sets/int64_values.hpp"
#include "core/sets/ranking.hpp"
#include "core/sets/raw_sets.hpp"
#include "core/sets/text_feed.hpp"
#include "core/sets/token_runs.hpp"
#include "core/sets/value_numbers.hpp"
#include "core/sets/vocabulary.hpp"

namespace simjoin {

// A row of a slice as JoinTokens takes it. A set of the other kind is empty.
template <typename T>
std::span<const T> integers_of(std::span<const T> set) {
  return set;
}
inline std::span<const int32_t> integers_of(const PackedTexts &) {
  return {};
}
template <typename T>
PackedTexts texts_of(std::span<const T>) {
  return {};
}
inline const PackedTexts &texts_of(const PackedTexts &set) {
  return set;
}

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
  // In a self-join every set is on the left. With `as_one`, both sides count as one collection: a token has a
  // rank if any two sets share it.
  JoinTokens(bool self_join, MemoryCounter &memory, bool as_one = false)
      : self_join_(self_join || as_one), memory_(memory), vocabulary_(self_join_, memory) {}

  // Adds a set of integers as the next row of its side: what stands for its distinct tokens. Returns how many
  // they are. Beside a file (not null) the numbering keeps to about `vocabulary_bytes`. With `in_order`, the
  // tokens are distinct, those of 32 bits ascend, and what stands for them has their order. Throws Error
  // invalid_argument where sets before had tokens of another type.
  template <typename T>
  uint32_t add_row(Side side, std::span<const T> tokens, RawSets (&sides)[2], SpillFile *file,
                   size_t vocabulary_bytes, bool in_order = false);
  // Adds sets of integers of 32 bits, whose tokens follow each other, as add_row() does one by one. Not for
  // use beside a file.
  void add_rows(Side side, std::span<const int32_t> tokens, std::span<const uint32_t> lengths,
                RawSets (&sides)[2]);
  // Returns how many ids in the blocks stand for a token: two while integers of 64 bits wait.
  uint32_t ids_per_token() const { return waiting_ ? Int64Values::ids_per_number : 1; }
  // Takes the sets of sides that have a file now. Calls again(side, tokens) for each set, in the order of a
  // side's rows, which has to be added by add_row() again. After an exception only the destructor may be
  // called.
  template <typename Again>
  void end_waiting(RawSets (&sides)[2], SpillFile &file, Again &&again);

  // Returns whether the next row, a span of integers or PackedTexts, is one for add_texts(). Throws Error
  // invalid_argument where sets before had tokens of another type.
  template <typename Set>
  bool takes_as_texts(const Set &set) const {
    constexpr bool are_texts = std::is_same_v<Set, PackedTexts>;
    if (!are_texts && feeds_texts() && size_of_set(set) > 0) Vocabulary::throw_mixed();
    return feeds_texts() || (are_texts && size_of_set(set) > 0);
  }
  // Adds a set of texts as the next row of a side, in place of add_row(): now, or with a
  // later set or end_texts(). Every set that comes after the first that is not empty has to be added so.
  void add_texts(Side side, const PackedTexts &set, const TextInput &input);
  // Returns whether sets of texts have been added so.
  bool feeds_texts() const { return feed_.has_value(); }
  // Adds the rows that have not been added yet. Returns false if some are left at a time. Uses up to as many
  // threads as there were to add_texts().
  bool end_texts(const TextInput &input, TextFeed::Time until);

  // Returns the number of distinct tokens so far, about. Not for use beside a file.
  uint64_t distinct_tokens() const;
  // Returns the bytes that take_ranking() takes besides what is there now, about, for sets of so many tokens.
  // Not for use beside a file.
  size_t ranking_bytes(uint64_t tokens) const;
  // Makes equal tokens of all sets have equal numbers in the blocks, and forgets everything else. Uses about
  // `bytes` where blocks are in the file, as TokenRuns::number() does.
  void number(RawSets &left, RawSets &right, size_t bytes, WorkerPool &pool);
  // Returns the ranks by which apply_ranks() finds its way, and forgets everything else. Blocks may be in the
  // file (not null then). Uses about `extra_bytes` where more than the least would help. Any order is asked
  // for to save time: the ranks may be those by frequency.
  Ranking take_ranking(RawSets &left, RawSets &right, SpillFile *file, size_t extra_bytes, WorkerPool &pool,
                       RankOrder order = RankOrder::frequency);

  // What the tokens take in a join in memory, in bytes, at most.
  struct InMemory {
    uint64_t distinct = 0;
    size_t numbering = 0;  // until they are ranked
    size_t ranking = 0;    // besides, while they are
  };
  // Returns that for the tokens that were ranked, whether there was a file or not.
  const InMemory &ranked() const { return ranked_; }

 private:
  uint32_t add(Side side, std::span<const int32_t> tokens, uint32_t *ids);
  uint32_t add(Side side, std::span<const int64_t> tokens, uint32_t *ids);
  bool should_wait(const RawSets (&sides)[2]) const;
  void begin_waiting(RawSets (&sides)[2]);
  void bound(size_t bytes, size_t tokens, RawSets &left, RawSets &right, SpillFile &file);
  void take_numbered(const TextInput &input, TextFeed::Time until);
  void end_run(RawSets &left, RawSets &right);
  VocabularySize number_runs(RawSets &left, RawSets &right, size_t bytes, WorkerPool &pool);
  Ranking rank(RawSets &left, RawSets &right, SpillFile *file, size_t extra_bytes, WorkerPool &pool,
               RankOrder order);

  // Tokens between two looks whether the caller gives up.
  static constexpr size_t between_checks = size_t{1} << 16;

  const bool self_join_;  // all sets are one collection
  MemoryCounter &memory_;
  Vocabulary vocabulary_;  // of the sets since the last run ended
  std::optional<TokenRuns> runs_;
  std::optional<Int32Values> plain_;
  std::optional<Int64Values> waiting_;
  bool may_wait_ = false;         // with more memory, and so many tokens
  std::optional<TextFeed> feed_;  // destroyed before the vocabulary that it uses
  InMemory ranked_;
};

template <typename Again>
void JoinTokens::end_waiting(RawSets (&sides)[2], SpillFile &file, Again &&again) {
  SIMJOIN_CHECK(waiting_.has_value());
  waiting_.reset();
  RawSets taken[] = {sides[0].take(), sides[1].take()};
  for (RawSets &side : sides) side.spill_to(file);
  size_t unchecked = 0;
  const auto check = [&](size_t tokens) {
    unchecked += tokens;
    if (unchecked < between_checks) return;
    check_interruption();
    unchecked = 0;
  };
  for (const Side side : {Side::left, Side::right}) {
    RawSets &sets = taken[static_cast<int>(side)];
    for (RawBlock &block : sets.blocks) {
      // Numbers become values in their place.
      auto *numbers = reinterpret_cast<uint64_t *>(block.ids.data());
      for (uint32_t row = block.first_row; row < block.first_row + block.rows; ++row) {
        const size_t size = sets.sizes[row];
        for (size_t i = 0; i < size; ++i) {
          check(1);
          numbers[i] = static_cast<uint64_t>(value_of(numbers[i]));
        }
        again(side, std::span(reinterpret_cast<const int64_t *>(numbers), size));
        check(1);
        numbers += size;
      }
      block.ids.release();
    }
  }
}

}  // namespace simjoin
