#include "core/sets/join_tokens.hpp"

#include <memory>
#include <type_traits>
#include <utility>

#include "core/base/check.hpp"

namespace simjoin {
namespace {

// Of each distinct token while they are ranked: a key, and the place where it is sorted.
constexpr size_t ranked_bytes = 16;
// The same of texts, whose frequencies are counted first.
constexpr size_t ranked_text_bytes = ranked_bytes + 2 * sizeof(uint32_t);

// Integers of 64 bits are looked at when there are this many. If this many of them are distinct, the table in
// which the caller's thread looks them up has left the cache. It then takes longer than what all threads do
// later (two threads, livejournal- and twitter-shaped sets, Zen 4).
constexpr uint64_t looked_at_tokens = uint64_t{1} << 19;
constexpr uint32_t many_distinct = uint32_t{1} << 16;

}  // namespace

uint32_t JoinTokens::add(Side, std::span<const int32_t> tokens, uint32_t *ids) {
  if (tokens.empty()) return 0;
  if (!plain_) {
    if (waiting_ || vocabulary_.distinct_tokens() > 0) Vocabulary::throw_mixed();
    plain_.emplace(self_join_, memory_);
  }
  return plain_->take(tokens, ids);
}

uint32_t JoinTokens::add(Side side, std::span<const int64_t> tokens, uint32_t *ids) {
  if (tokens.empty()) return 0;
  if (plain_) Vocabulary::throw_mixed();
  may_wait_ = true;
  return vocabulary_.intern(self_join_ ? Side::left : side, tokens, ids);
}

template <typename T>
uint32_t JoinTokens::add_row(Side side, std::span<const T> tokens, RawSets (&sides)[2], SpillFile *file,
                             size_t vocabulary_bytes, bool in_order) {
  RawSets &sets = sides[static_cast<int>(side)];
  if constexpr (std::is_same_v<T, int64_t>) {
    if (file == nullptr && should_wait(sides)) begin_waiting(sides);
    if (waiting_) {
      constexpr uint32_t ids = Int64Values::ids_per_number;
      auto *const numbers = reinterpret_cast<uint64_t *>(sets.room(ids * tokens.size()));
      const uint32_t size = waiting_->take(tokens, numbers, in_order);
      sets.add_row(size, ids);
      return size;
    }
  }
  if (file != nullptr) bound(vocabulary_bytes, tokens.size(), sides[0], sides[1], *file);
  const uint32_t size = add(side, tokens, sets.room(tokens.size()));
  sets.add_row(size);
  return size;
}

template uint32_t JoinTokens::add_row(Side, std::span<const int32_t>, RawSets (&)[2], SpillFile *, size_t,
                                      bool);
template uint32_t JoinTokens::add_row(Side, std::span<const int64_t>, RawSets (&)[2], SpillFile *, size_t,
                                      bool);

// Takes as many sets at once as the last block has room for: most have few tokens, and each call for one
// takes longer than a copy of them.
void JoinTokens::add_rows(Side side, std::span<const int32_t> tokens, std::span<const uint32_t> lengths,
                          RawSets (&sides)[2]) {
  RawSets &sets = sides[static_cast<int>(side)];
  while (!lengths.empty()) {
    uint32_t *const ids = sets.room(lengths[0]);
    const size_t free = sets.free_ids();
    size_t rows = 0, taken = 0;
    while (rows < lengths.size() && lengths[rows] <= free - taken) taken += lengths[rows++];
    const auto some = lengths.first(rows);
    if (plain_ && rows > 1 && plain_->take_ascending(tokens.first(taken), some, ids)) {
      sets.add_rows_in_room(some);
    } else {
      size_t begin = 0;
      for (const uint32_t length : some) {
        add_row(side, tokens.subspan(begin, length), sides, nullptr, 0);
        begin += length;
      }
    }
    lengths = lengths.subspan(rows);
    tokens = tokens.subspan(taken);
  }
}

// Returns whether the integers of 64 bits of a join without a file should wait.
bool JoinTokens::should_wait(const RawSets (&sides)[2]) const {
  const uint64_t tokens = sides[0].tokens() + sides[1].tokens();
  return tokens >= looked_at_tokens && tokens < 2 * looked_at_tokens && !waiting_ &&
         vocabulary_.distinct_tokens() >= many_distinct;
}

// Gives a number of two ids to each token in the blocks. The tokens are so few that no look whether the
// caller gives up is due.
void JoinTokens::begin_waiting(RawSets (&sides)[2]) {
  waiting_.emplace(self_join_, memory_);
  const TokenList tokens = vocabulary_.take_tokens();
  for (RawSets &side : sides) {
    side.widen([&](const uint32_t *ids, size_t count, uint64_t *numbers) {
      for (size_t i = 0; i < count; ++i) numbers[i] = number_of(tokens.integer(ids[i]));
      waiting_->see(numbers, count);
    });
  }
}

void JoinTokens::add_texts(Side side, const PackedTexts &set, const TextInput &input) {
  if (plain_ || waiting_) Vocabulary::throw_mixed();
  TextNumbers &texts = vocabulary_.texts();
  if (!feed_) feed_.emplace(input.threads, input.memory_limit, memory_, input.form);
  feed_->add(side, set);
  if (!feed_->full()) return;
  if (input.file != nullptr) {
    // The sets on their way have new tokens at worst. Few have, so look again before a run ends. No run may
    // end while threads number.
    if (texts.bytes_with(feed_->pending_texts()) > input.vocabulary_bytes) {
      take_numbered(input, TextFeed::ever);
      bound(input.vocabulary_bytes, feed_->pending_texts(), input.left, input.right, *input.file);
    } else if (runs_) {
      runs_->write_some(feed_->pending_texts());
    }
  }
  feed_->submit(vocabulary_.texts());
  take_numbered(input, TextFeed::at_once);
}

bool JoinTokens::end_texts(const TextInput &input, TextFeed::Time until) {
  if (!feed_) return true;
  feed_->submit(vocabulary_.texts());
  take_numbered(input, until);
  if (!feed_->all_taken()) return false;
  feed_.reset();
  return true;
}

// Adds the rows that are numbered by a time.
void JoinTokens::take_numbered(const TextInput &input, TextFeed::Time until) {
  while (const std::unique_ptr<NumberedSets> sets = feed_->take(until)) {
    if (input.add_rows) {
      input.add_rows(std::move(*sets));
      continue;
    }
    RawSets &side = sets->side == Side::left ? input.left : input.right;
    side.add_rows(std::move(sets->numbers), sets->sizes);
  }
}

uint64_t JoinTokens::distinct_tokens() const {
  if (plain_) return plain_->distinct_values();
  return waiting_ ? waiting_->distinct_values() : vocabulary_.distinct_tokens();
}

size_t JoinTokens::ranking_bytes(uint64_t tokens) const {
  if (plain_) return plain_->ranking_bytes(tokens);
  if (waiting_) return waiting_->ranking_bytes(tokens);
  return (vocabulary_.has_texts() ? ranked_text_bytes : ranked_bytes) * vocabulary_.distinct_tokens();
}

// Keeps to about `bytes`: called before a set of so many tokens is added. Blocks may end with the last set.
void JoinTokens::bound(size_t bytes, size_t tokens, RawSets &left, RawSets &right, SpillFile &file) {
  SIMJOIN_CHECK(!waiting_);  // end_waiting() was called, since there is a file
  if (runs_) runs_->write_some(tokens);
  if (vocabulary_.distinct_tokens() == 0 || vocabulary_.bytes_with(tokens) <= bytes) return;
  if (!runs_) runs_.emplace(file, memory_);
  end_run(left, right);
}

void JoinTokens::end_run(RawSets &left, RawSets &right) {
  left.end_block();
  right.end_block();
  runs_->end_run(vocabulary_.take_tokens(true), left.blocks.size(), right.blocks.size());
}

// Returns the distinct tokens of all runs.
VocabularySize JoinTokens::number_runs(RawSets &left, RawSets &right, size_t bytes, WorkerPool &pool) {
  end_run(left, right);
  const VocabularySize distinct = runs_->number({&left, &right}, bytes, pool);
  runs_.reset();
  return distinct;
}

void JoinTokens::number(RawSets &left, RawSets &right, size_t bytes, WorkerPool &pool) {
  if (runs_) number_runs(left, right, bytes, pool);
  vocabulary_.release();
  plain_.reset();
}

// Returns the ranks of the tokens, which have one number in all blocks.
Ranking JoinTokens::rank(RawSets &left, RawSets &right, SpillFile *file, size_t extra_bytes, WorkerPool &pool,
                         RankOrder order) {
  if (plain_) return plain_->rank(left, right, file, extra_bytes, pool, order);
  if (waiting_) return waiting_->rank(left, right, extra_bytes, pool);
  if (!vocabulary_.has_texts()) return vocabulary_.take_ranking(pool);
  const uint32_t texts = vocabulary_.distinct_tokens();
  const Int32Values numbers(self_join_, texts, texts, memory_);
  Ranking ranking = rank_texts(numbers.frequencies(left, right, file, extra_bytes, pool), vocabulary_.texts(),
                               pool, memory_);
  vocabulary_.release();
  return ranking;
}

Ranking JoinTokens::take_ranking(RawSets &left, RawSets &right, SpillFile *file, size_t extra_bytes,
                                 WorkerPool &pool, RankOrder order) {
  SIMJOIN_CHECK(!feed_);  // end_texts() was called
  if (runs_) {
    const VocabularySize distinct = number_runs(left, right, extra_bytes, pool);
    ranked_.numbering = Vocabulary::bytes_of(distinct, self_join_);
    ranked_.ranking = ranked_bytes * distinct.tokens;
    plain_.emplace(self_join_, distinct.tokens, distinct.tokens, memory_);
  } else {
    ranked_.numbering = vocabulary_.bytes_with(0);
    ranked_.ranking = ranking_bytes(left.tokens() + right.tokens());
  }
  // One collection is ranked on the left.
  const size_t of_left = self_join_ ? left.take_blocks(right) : 0;
  Ranking ranking = rank(left, right, file, extra_bytes, pool, order);
  if (self_join_) left.give_blocks(of_left, right);
  plain_.reset();
  waiting_.reset();
  const uint64_t tokens = left.tokens() + right.tokens();
  if (may_wait_ && tokens >= looked_at_tokens && ranking.distinct >= many_distinct) {
    const size_t numbering = (Int64Values::ids_per_number - 1) * sizeof(uint32_t) * tokens;
    const size_t waiting = Int64Values::most_ranking_bytes(tokens, ranking.distinct);
    if (numbering + waiting > ranked_.numbering + ranked_.ranking) ranked_ = {0, numbering, waiting};
  }
  ranked_.distinct = ranking.distinct;
  return ranking;
}

}  // namespace simjoin
