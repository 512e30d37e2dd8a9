// The sets of a weighted join as they are added: numbers of tokens beside weights, in blocks that can wait in
// the temporary file. At the end of the input they become ranked sets.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/packed_texts.hpp"
#include "core/base/spill_file.hpp"
#include "core/base/worker_pool.hpp"
#include "core/sets/join_tokens.hpp"
#include "core/sets/raw_sets.hpp"
#include "core/weighted/exact_sum.hpp"
#include "core/weighted/token_rarity.hpp"
#include "core/weighted/weighted_bounds.hpp"
#include "core/weighted/weighted_sets.hpp"

namespace simjoin {

class WeightedInput {
 public:
  // `measure` is jaccard or cosine. Blocks take about `block_bytes` of token numbers. Up to `threads`
  // threads, the caller's included, number texts within a part of `memory_limit`. `by_rarity`: tokens get
  // their weights by their rarity in all sets.
  WeightedInput(Measure measure, bool self_join, size_t block_bytes, int threads, size_t memory_limit,
                MemoryCounter &memory, bool by_rarity = false);

  // Adds the next row of a side: a span of distinct integers, those of 32 bits ascending, or PackedTexts.
  // Each token has a weight.
  template <class Set>
  void add(Side side, const Set &set, std::span<const double> weights);
  // The same in a join by rarity: any span of integers, or PackedTexts.
  template <class Set>
  void add(Side side, const Set &set);
  // Says that so many more rows have the set of a left row (JoinEngine::add_copies).
  void add_copies(uint32_t row, uint32_t copies);

  // Moves the sets into the file. From now on the numbering of tokens keeps to about `vocabulary_bytes`.
  void spill_to(SpillFile &file, size_t vocabulary_bytes);

  uint32_t rows(int side) const { return sides_[side].rows(); }
  uint64_t tokens(int side) const { return sides_[side].tokens() / tokens_.ids_per_token(); }
  // Returns the sizes of a side's sets, which stay when the sets are gone.
  const SetSizes &sizes(int side) const { return sides_[side].sizes; }
  uint64_t distinct_tokens() const { return tokens_.distinct_tokens(); }
  size_t ranking_bytes() const { return tokens_.ranking_bytes(tokens(0) + tokens(1)); }
  // Return what the ranked tokens took in memory, or would have taken without a file, and the bytes of the
  // input with it.
  const JoinTokens::InMemory &ranked() const { return tokens_.ranked(); }
  size_t ranked_bytes() const {
    return (tokens(0) + tokens(1)) * (sizeof(uint32_t) + (wide_ ? sizeof(double) : sizeof(float))) +
           ranked().numbering + ranked().ranking;
  }
  // The cosine needs no exact totals: those of its sets are rounded sums of squares, the same in any order.
  WeightFormat format() const { return {wide_, measure_ == Measure::jaccard && !range_.sums_are_exact()}; }
  // Returns the number of tokens of the largest set.
  uint32_t largest_set() const { return std::max(sides_[0].sizes.largest(), sides_[1].sizes.largest()); }

  // Ends the addition of sets. Returns false if some are left at a time.
  bool end_sets(TextFeed::Time until) {
    if (!tokens_.end_texts(text_input(), until)) return false;
    for (WaitingWeights &waiting : waiting_) waiting.weights.release();
    return true;
  }
  // Ends the input. Returns the ranks of the tokens. In a join by rarity they now have their weights.
  Ranking take_ranking(size_t extra_bytes, WorkerPool &pool);
  // Returns the ranked sets of a side, block by block, and releases what was added. Sets without weight are
  // left out, unless every pair qualifies by the bounds.
  std::vector<WeightedBlock> take_sets(int side, const Ranking &ranking, const WeightedBounds &bounds,
                                       WorkerPool &pool);
  // Forgets what tokens weigh by their rarity: all sets are taken.
  void release_rarity() { rarity_.reset(); }

 private:
  // The weights of the sets of a RawBlock, in its order.
  struct WeightBlock {
    explicit WeightBlock(MemoryCounter &memory) : floats(memory), doubles(memory) {}

    double operator[](size_t i) const { return wide ? doubles[i] : static_cast<double>(floats[i]); }

    Buffer<float> floats;
    Buffer<double> doubles;  // in place of the floats, if some weight is no float4
    bool wide = false;
    uint64_t count = 0;
    uint64_t place = 0;  // in the file
    bool in_file = false;
  };

  // Weights of sets of texts that have no numbers yet, in the order of the rows.
  struct WaitingWeights {
    explicit WaitingWeights(MemoryCounter &memory) : weights(memory) {}

    Buffer<double> weights;
    size_t taken = 0;  // at the beginning, that wait no more
  };

  template <class Token>
  void place(Side side, std::span<const Token> tokens, std::span<const double> weights);
  void add_texts(Side side, const PackedTexts &set, std::span<const double> weights);
  TextInput text_input();
  void take_rows(NumberedSets &&rows);
  void add_weights(int side, std::span<const double> weights);
  void end_waiting();
  void spill(WeightBlock &block);
  void load(WeightBlock &block) const;
  WeightedSets ranked_sets(const RawSets &raw, const RawBlock &block, const WeightBlock &weights,
                           const Ranking &ranking, const WeightedBounds &bounds, const StopFlag &stop) const;

  const Measure measure_;
  const bool by_rarity_;
  const int threads_;
  const size_t memory_limit_;
  MemoryCounter &memory_;
  JoinTokens tokens_;
  RawSets sides_[2];
  std::vector<WeightBlock> weights_[2];  // one for each block of a side; without weights if by rarity
  Buffer<uint32_t> copies_;              // of each left row, up to the last one that has some
  std::optional<TokenRarity> rarity_;
  WaitingWeights waiting_[2];
  SpillFile *file_ = nullptr;
  size_t vocabulary_bytes_ = 0;
  WeightRange range_;  // of all sets
  bool wide_ = false;
};

}  // namespace simjoin
