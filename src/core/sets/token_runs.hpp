// The numbering of a join's tokens beside little memory: run by run in the temporary file, put together at
// the end.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/spill_file.hpp"
#include "core/base/worker_pool.hpp"
#include "core/sets/raw_sets.hpp"
#include "core/sets/vocabulary.hpp"

namespace simjoin {

// A run is a number of sets that were added one after the other, whose tokens have ids of their own, from 0
// on; a token may be in several runs. In the file the tokens of a run lie in parts, by their hashes, so that
// those of all runs can be compared part by part.
class TokenRuns {
 public:
  TokenRuns(SpillFile &file, MemoryCounter &memory) : file_(file), memory_(memory), order_(memory) {}

  // Ends a run: the sets since the last one, in the blocks up to these of the left and the right side, have
  // the ids of these tokens, which go to the file little by little: at each write_some().
  void end_run(TokenList tokens, size_t left_blocks, size_t right_blocks);
  // Writes some tokens of the last run: more than `added`, if there are so many left.
  void write_some(size_t added);
  // Replaces the ids in all blocks of the sides: equal tokens get equal numbers, from 0 on without a gap.
  // Returns what all runs have together. Uses about `bytes`, but a 64th of what all tokens take and four
  // bytes for each id of the longest run in any case. Throws Error limit_exceeded at 2^32 - 2 numbers.
  VocabularySize number(const std::array<RawSets *, 2> &sides, size_t bytes, WorkerPool &pool);

 private:
  static constexpr uint32_t parts = 64;

  struct Run {
    uint32_t tokens = 0;
    uint64_t place = 0;    // in the file: of the tokens, by part,
    uint64_t ids = 0;      // of their ids, in that order,
    uint64_t numbers = 0;  // and of their numbers within a group
    std::array<size_t, 2> end_blocks{};
    std::array<uint32_t, parts + 1> begins{};  // of each part, in tokens
    std::array<uint64_t, parts + 1> bytes{};   // the same in bytes
  };
  // Consecutive parts that are numbered together.
  struct Group {
    uint32_t begin;
    uint32_t end;
    uint64_t bytes = 0;  // to number its tokens
    VocabularySize distinct{};
    uint32_t before = 0;  // distinct tokens of the groups before it
  };

  void sort_into_parts(Run &run);
  std::vector<Group> groups(size_t bytes) const;
  template <typename Token>
  VocabularySize number_group(const Group &group, const StopFlag &stop) const;
  void replace(const Run &run, std::span<const Group> groups, const std::array<RawSets *, 2> &sides,
               const std::array<size_t, 2> &first_blocks, WorkerPool &pool) const;

  SpillFile &file_;
  MemoryCounter &memory_;
  std::vector<Run> runs_;
  bool texts_ = false;
  // Of the last run, until it is written.
  std::optional<TokenList> tokens_;
  Buffer<uint32_t> order_;  // the ids by part
  size_t written_ = 0;      // of these
  uint64_t written_bytes_ = 0;
};

}  // namespace simjoin
