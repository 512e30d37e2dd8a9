// The sets with weights of a join by bands: what they are signed by, and what pairs are verified by.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/peak_estimate.hpp"
#include "core/base/spill_file.hpp"
#include "core/base/worker_pool.hpp"
#include "core/lsh/lsh_join.hpp"
#include "core/lsh/lsh_waiting.hpp"
#include "core/minhash/weighted_minhash.hpp"
#include "core/weighted/weighted_bounds.hpp"
#include "core/weighted/weighted_input.hpp"
#include "core/weighted/weighted_sets.hpp"

namespace simjoin {

// Rows are numbered over both sides, right ones after the left ones.
class LshWeights {
 public:
  LshWeights(const LshSpec &spec, MemoryCounter &memory);

  // Adds the next row of a side, as WeightedInput takes it. Returns the number of tokens whose weight is
  // above 0.
  template <class Set>
  uint32_t add(Side side, const Set &set, std::span<const double> weights);
  // Returns about the bytes that the join of the sets so far takes without a file, with `beside` for what is
  // kept elsewhere. With a file: only after rank().
  size_t peak_in_memory(size_t beside) const;
  // From now on sets wait in the file.
  void spill_to(SpillFile &file);

  // Ends the addition of sets. Returns false if some are left at a time.
  bool end_sets(TextFeed::Time until) { return input_.end_sets(until); }
  // Gives back memory that the sets do not need once all have come.
  void shrink() {
    for (WaitingTokens<WeightedToken> &side : waiting_) side.shrink();
  }
  // Calls visit(first_row, sets) for what all sets are signed by, consecutive rows at a time, and forgets it.
  template <class Visit>
  void take_signed(Visit &&visit) {
    waiting_[0].take(0, visit);
    waiting_[1].take(rows_[0], visit);
  }
  // Ends the input: pairs can be verified from now on.
  void rank(WorkerPool &pool);

  // The sets that one worker has read from the file.
  struct Loaded {
    explicit Loaded(MemoryCounter &memory)
        : sets{WeightedSets({}, memory), WeightedSets({}, memory)}, rows{no_row, no_row} {}

    std::array<WeightedSets, 2> sets;
    std::array<uint32_t, 2> rows;
  };
  // Returns the similarity of two rows with weights; if it is below the threshold, maybe another number below
  // the threshold.
  double similarity(uint32_t l, uint32_t r, Loaded &loaded, const StopFlag &stop) const;
  // Returns the bytes that a worker needs for two sets of so many tokens together.
  size_t loaded_bytes(uint64_t tokens) const {
    return file_ == nullptr ? 0 : WeightedSets::bytes(input_.format(), 2, tokens);
  }

 private:
  static constexpr uint32_t no_row = UINT32_MAX;

  // Where the set of a row is.
  struct Place {
    uint32_t block;
    uint32_t set;
  };

  size_t estimate(size_t beside, size_t held) const;
  WeightedSet load(uint32_t row, int number, Loaded &loaded) const;

  const LshSpec spec_;
  MemoryCounter &memory_;
  WaitingTokens<WeightedToken> waiting_[2];
  std::array<uint32_t, 2> rows_{};
  uint64_t signed_tokens_ = 0;
  WeightedInput input_;  // of pairs that will be verified
  std::optional<WeightedBounds> bounds_;
  std::vector<WeightedBlock> blocks_;  // of both sides
  Buffer<Place> places_;               // by row
  SpillFile *file_ = nullptr;
  mutable PeakEstimate peak_;  // of the join in memory
};

}  // namespace simjoin
