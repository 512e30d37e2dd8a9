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
  explicit Vocabulary(MemoryCounter &memory) : memory_(memory) {}

  // Writes the ids of a set's distinct tokens to `ids` (room for tokens.size()) and returns how many.
  uint32_t intern(Side side, std::span<const int32_t> tokens, uint32_t *ids);
  uint32_t intern(Side side, std::span<const int64_t> tokens, uint32_t *ids);
  uint32_t intern(Side side, std::span<const std::string_view> tokens, uint32_t *ids);

  uint32_t distinct_tokens() const;
  Ranking rank(bool self_join, WorkerPool &pool) const;
  // Forgets everything, once the ids have become ranks.
  void release();

 private:
  IntegerInterner &integers();
  TextInterner &texts();

  MemoryCounter &memory_;
  std::optional<IntegerInterner> integers_;
  std::optional<TextInterner> texts_;
};

}  // namespace simjoin
