// The sets of a join by bands as they are added: numbers of their tokens for verification, and hashes of
// their tokens for signatures. Both can wait in the temporary file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/spill_file.hpp"
#include "core/base/worker_pool.hpp"
#include "core/lsh/lsh_join.hpp"
#include "core/minhash/signature_device.hpp"
#include "core/sets/join_tokens.hpp"
#include "core/sets/raw_sets.hpp"

namespace simjoin {

// Rows are numbered over both sides, right ones after the left ones.
class LshInput {
 public:
  LshInput(const LshSpec &spec, MemoryCounter &memory);

  void add(Side side, std::span<const int32_t> tokens) { add_set(side, tokens); }
  void add(Side side, std::span<const int64_t> tokens) { add_set(side, tokens); }
  void add(Side side, std::span<const std::string_view> tokens) { add_set(side, tokens); }

  uint32_t left_rows() const { return sides_[0].rows(); }
  uint32_t rows() const { return sides_[0].rows() + sides_[1].rows(); }
  // Returns the number of distinct tokens of each row of a side.
  const SetSizes &sizes(int side) const { return sides_[side].sizes; }
  // Returns the number of tokens of the sets, repeated ones included.
  uint64_t hashed_tokens() const { return hashed_tokens_; }

  // Returns about the bytes that the join of the sets so far takes at most without a file.
  size_t peak_in_memory() const;
  // From now on sets wait in the file.
  void spill_to(SpillFile &file);

  // Ends the input: equal tokens have equal numbers from now on.
  void number(WorkerPool &pool);
  // Calls visit(first_row, hashes) for the hashes of all tokens, consecutive rows at a time, in the order of
  // the rows. Then releases the hashes.
  using VisitHashes = std::function<void(uint32_t first_row, const SetArrays<uint32_t> &hashes)>;
  void take_hashes(const VisitHashes &visit);
  // Returns the numbers of the tokens of a side's sets, or only their sizes if pairs are not verified.
  RawSets &sets(int side) { return sides_[side]; }

 private:
  // Token hashes of consecutive rows of a side.
  struct TokenHashes {
    explicit TokenHashes(MemoryCounter &memory) : values(memory), ends(memory) {}

    SetArrays<uint32_t> arrays() const {
      return {{values.data(), values.size()}, {ends.data(), ends.size()}};
    }

    Buffer<uint32_t> values;
    Buffer<size_t> ends;  // by row
  };
  // The same in the file.
  struct StoredHashes {
    uint32_t rows;
    size_t before;  // what is to be taken from the ends
    size_t tokens;
    uint64_t place;  // of the values, which the ends follow
  };

  template <typename T>
  void add_set(Side side, std::span<const T> tokens);
  template <typename T>
  uint32_t distinct_tokens(std::span<const T> tokens);
  size_t signing_bytes(size_t rows, size_t tokens) const;
  void spill_hashes(int side);
  void load(const StoredHashes &stored, TokenHashes &hashes) const;

  const LshSpec spec_;
  MemoryCounter &memory_;
  SpillFile *file_ = nullptr;
  JoinTokens tokens_;
  RawSets sides_[2];
  std::vector<uint64_t> identities_;     // scratch of distinct_tokens()
  TokenHashes hashes_[2];                // that are in memory
  std::vector<StoredHashes> stored_[2];  // those before them
  uint64_t hashed_tokens_ = 0;
  double reading_per_token_ = 0;  // bytes that reading took up to the file
};

}  // namespace simjoin
