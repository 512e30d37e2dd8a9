// The sets of a join by bands as they are added: what stands for their tokens, and the hashes of their tokens
// for signatures. All of it can wait in the temporary file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/packed_texts.hpp"
#include "core/base/spill_file.hpp"
#include "core/base/worker_pool.hpp"
#include "core/lsh/lsh_join.hpp"
#include "core/lsh/lsh_waiting.hpp"
#include "core/lsh/lsh_weights.hpp"
#include "core/minhash/signature_device.hpp"
#include "core/sets/join_tokens.hpp"
#include "core/sets/numbered_sets.hpp"
#include "core/sets/raw_sets.hpp"
#include "core/sort/short_sort.hpp"

namespace simjoin {

// Rows are numbered over both sides, right ones after the left ones. Integers wait and are compared as they
// are (value_numbers), and all threads hash them at the end. Texts that will be compared are numbered and
// hashed as they come, by threads beside the caller. Of other texts only identities are kept, which are
// integers, too.
class LshInput {
 public:
  LshInput(const LshSpec &spec, MemoryCounter &memory);

  // Adds the next rows of a side, as JoinEngine::add() does. Throws Error invalid_argument where sets before
  // had tokens of another type.
  void add(Side side, const SetSlice &rows);

  uint32_t left_rows() const { return sides_[0].rows(); }
  uint32_t rows() const { return sides_[0].rows() + sides_[1].rows(); }
  // Returns the number of distinct tokens of each row of a side, of those with a weight above 0.
  const SetSizes &sizes(int side) const { return sides_[side].sizes; }
  // Returns the number of tokens of the sets, repeated ones included.
  uint64_t hashed_tokens() const { return hashed_tokens_; }

  // Returns about the bytes that the join of the sets so far takes at most without a file.
  size_t peak_in_memory() const;
  // From now on sets wait in the file.
  void spill_to(SpillFile &file);

  // Gives back the room that the sizes of more sets would have. Call it before other threads look at them.
  void shrink_sizes() {
    for (RawSets &side : sides_) side.sizes.shrink();
  }
  // Ends the addition of sets. Returns false if some are left at a time.
  bool end_sets(TextFeed::Time until) {
    return weights_ ? weights_->end_sets(until) : tokens_.end_texts(text_input(), until);
  }
  // Ends the input: equal tokens have equal numbers from now on.
  void number(WorkerPool &pool);
  // Calls visit(first_row, hashes) for the hashes of all tokens, consecutive rows at a time, in the order of
  // the rows. Then releases the hashes, and the sets if pairs are not verified.
  using VisitHashes = std::function<void(uint32_t first_row, const SetArrays<uint32_t> &hashes)>;
  void take_hashes(const VisitHashes &visit, WorkerPool &pool);
  // Returns the sets with their weights, of which take_hashes() knows nothing; null without weights.
  LshWeights *weights() { return weights_ ? &*weights_ : nullptr; }
  // Returns the numbers of the tokens of a side's sets: of each token one number of 32 bits, or one of 64.
  RawSets &sets(int side) { return sides_[side]; }
  bool wide() const { return type_ == TokenType::int8 || (type_ == TokenType::text && !spec_.verify); }
  // Returns whether the numbers of each set ascend.
  bool in_order() const { return !numbers_texts(); }

 private:
  // A part of a block, whose hashes go to the place `to`.
  struct Piece {
    const RawBlock *block;
    size_t from, count, to;  // tokens
  };

  void note_set(TokenType type, uint32_t tokens);
  template <typename T>
  void add_set(Side side, std::span<const T> tokens);
  void add_set(Side side, const PackedTexts &set);
  TextInput text_input();
  void take_rows(NumberedSets &&rows);
  bool numbers_texts() const { return type_ == TokenType::text && spec_.counts_tokens(); }
  void take_derived(int side, uint32_t first_row, const VisitHashes &visit, WorkerPool &pool);
  template <typename Number>
  void hash_pieces(std::span<const Piece> pieces, uint32_t *hashes, WorkerPool &pool) const;

  const LshSpec spec_;
  MemoryCounter &memory_;
  SpillFile *file_ = nullptr;
  std::optional<TokenType> type_;  // of the first set that is not empty
  JoinTokens tokens_;              // of texts that will be compared
  RawSets sides_[2];
  ShortSort sort_;
  DistinctNumbers distinct_;
  std::vector<int64_t> identities_;    // scratch of add()
  WaitingTokens<uint32_t> hashes_[2];  // of such texts, and of the rows before the first
  std::optional<LshWeights> weights_;  // of sets with weights, which have nothing but sizes elsewhere
  uint64_t hashed_tokens_ = 0;
  double reading_per_token_ = 0;  // bytes that reading took up to the file
};

}  // namespace simjoin
