// The tokens of one join, whatever their type.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/interner.hpp"
#include "core/memory.hpp"
#include "core/ranking.hpp"

namespace simjoin {

// Interns either integers or texts: the first set decides, and a set of the other kind is an error.
class Vocabulary {
 public:
  // In a self-join every set is on the left.
  Vocabulary(bool self_join, MemoryCounter &memory) : self_join_(self_join), memory_(memory) {}

  // Writes the ids of a set's distinct tokens to `ids` (room for tokens.size()) and returns how many.
  uint32_t intern(Side side, std::span<const int32_t> tokens, uint32_t *ids);
  uint32_t intern(Side side, std::span<const int64_t> tokens, uint32_t *ids);
  uint32_t intern(Side side, std::span<const std::string_view> tokens, uint32_t *ids);

  uint32_t distinct_tokens() const;
  [[noreturn]] static void throw_mixed();
  // Returns the ranks of all ids, and forgets everything else, as release() does.
  Ranking take_ranking(WorkerPool &pool);
  void release();

 private:
  IntegerInterner &integers();
  TextInterner &texts();

  const bool self_join_;
  MemoryCounter &memory_;
  std::optional<IntegerInterner> integers_;
  std::optional<TextInterner> texts_;
};

}  // namespace simjoin
