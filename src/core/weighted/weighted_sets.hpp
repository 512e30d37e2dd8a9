// Sets with weights, as the weighted join needs them: ranked tokens beside their weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/spill_file.hpp"
#include "core/base/worker_pool.hpp"
#include "core/weighted/exact_sum.hpp"

namespace simjoin {

// How the weights of one join are stored.
struct WeightFormat {
  bool wide = false;   // some weight is no float4: weights are doubles
  bool exact = false;  // sums of weights in doubles may be rounded: each set has its exact total
};

// A set of a collection. Tokens that no other set can share have no rank and are not stored. They count in
// the total alone.
struct WeightedSet {
  uint32_t row;
  uint32_t count;         // of the stored tokens
  double total;           // the mass of all tokens (WeightedBounds)
  double stored;          // the mass of the stored tokens
  const uint32_t *ranks;  // ascending
  const float *floats;    // of the stored tokens, if the format is not wide
  const double *doubles;  // the same if it is
  const ExactSum *exact;  // the total, if the format has it

  template <class Weight>
  const Weight *weights() const {
    if constexpr (std::is_same_v<Weight, double>) {
      return doubles;
    } else {
      return floats;
    }
  }
};

class WeightedSets {
 public:
  WeightedSets(WeightFormat format, MemoryCounter &memory);

  uint32_t sets() const { return static_cast<uint32_t>(rows.size()); }
  uint64_t tokens() const { return ranks.size(); }
  WeightedSet operator[](uint32_t set) const {
    const uint64_t start = starts[set];
    return {rows[set],
            static_cast<uint32_t>(starts[set + 1] - start),
            totals[set],
            stored[set],
            ranks.data() + start,
            floats.data() + start,
            doubles.data() + start,
            format.exact ? exact.data() + set : nullptr};
  }
  // Both prefetch memory: what operator[] reads, and the tokens themselves.
  void prefetch_set(uint32_t set) const {
    __builtin_prefetch(starts.data() + set);
    __builtin_prefetch(totals.data() + set);
    __builtin_prefetch(stored.data() + set);
  }
  void prefetch_tokens(uint32_t set) const {
    const uint64_t start = starts[set];
    __builtin_prefetch(ranks.data() + start);
    if (format.wide) {
      __builtin_prefetch(doubles.data() + start);
    } else {
      __builtin_prefetch(floats.data() + start);
    }
  }
  // Makes room for sets and tokens, whose values the caller sets.
  void resize(size_t sets, uint64_t tokens);
  // Appends a set whose tokens will be at the end of the arrays.
  void push_set(uint32_t row, double total, double stored_mass);
  void push_token(uint32_t rank, double weight) {
    ranks.push_back(rank);
    format.wide ? doubles.push_back(weight) : floats.push_back(static_cast<float>(weight));
  }
  // Makes room for them that push_set() and push_token() fill, or gives back the room that they left.
  void reserve(size_t sets, uint64_t tokens);
  void shrink();
  // Returns the bytes that sets and tokens take.
  static size_t bytes(WeightFormat format, uint64_t sets, uint64_t tokens);

  // Both move all of it to a place of the file, or back. They take file_bytes() there.
  size_t file_bytes() const { return bytes(format, sets() + 1, tokens()); }
  void write(SpillFile &file, uint64_t place);
  void read(const SpillFile &file, uint64_t place, size_t sets, uint64_t tokens);
  // Reads one of the sets and tokens at a place of the file. These become that set alone.
  void read_set(const SpillFile &file, uint64_t place, size_t sets, uint64_t tokens, uint32_t set);

  WeightFormat format;
  Buffer<uint32_t> rows;    // by set
  Buffer<uint64_t> starts;  // one more entry than there are sets
  Buffer<double> totals;    // by set
  Buffer<double> stored;
  Buffer<ExactSum> exact;
  Buffer<uint32_t> ranks;  // by set and token
  Buffer<float> floats;
  Buffer<double> doubles;
};

// The sets of consecutive rows, in memory or in the file.
struct WeightedBlock {
  WeightedSets sets;  // empty where the block is in the file
  uint32_t count = 0;
  uint64_t tokens = 0;
  uint64_t postings = 0;  // of an index over them, if they are in the file
  uint64_t place = 0;     // in the file
  bool in_file = false;

  // Calls visit(sets). A block that is in the file is read for that time.
  template <class Visit>
  void visit(const SpillFile *file, MemoryCounter &memory, Visit &&visit) const {
    if (!in_file) return visit(sets);
    WeightedSets read(sets.format, memory);
    read.read(*file, place, count, tokens);
    visit(static_cast<const WeightedSets &>(read));
  }
};

// Returns the sets of the blocks [first, last), which are in the order of their rows, by ascending total and
// then by row. Releases those that are in memory.
WeightedSets order_by_total(std::vector<WeightedBlock> &blocks, size_t first, size_t last,
                            const SpillFile *file, WorkerPool &pool, MemoryCounter &memory);

}  // namespace simjoin
