#include "core/rounds/beyond_memory/round_memory.hpp"

#include <algorithm>

#include "core/candidates/prefix/prefix_index.hpp"
#include "core/candidates/prefix/prefix_sweep.hpp"

namespace simjoin {

uint32_t index_prefix_length(const Bounds &bounds, bool self_join, uint32_t size) {
  if (!(bounds.threshold() > 0) || size == 0) return 0;
  const int64_t partner = self_join ? size : bounds.min_partner(size);
  return static_cast<uint32_t>(bounds.prefix_length(size, partner));
}

RoundBytes estimated_round_bytes(const JoinSpec &spec, const RoundShape &shape, uint32_t bitmap_words,
                                 int workers) {
  constexpr size_t token = sizeof(uint32_t), start = sizeof(uint64_t), row = sizeof(uint32_t);
  constexpr size_t posting = sizeof(uint64_t), signature = sizeof(uint64_t);
  // For each set, the count of its shared tokens and its entry in the list of counted sets.
  constexpr size_t counted_set = 12;
  // For each set of a block of short sets: the set and its prefix.
  constexpr size_t swept_set = 64;
  // Sets of 16 tokens or more on average have a wide signature.
  constexpr size_t wide_signature = 4 * sizeof(uint64_t);
  constexpr uint64_t wide_tokens = 16;

  RoundBytes bytes;
  const size_t sets = shape.tokens * token + shape.sets * (start + row);
  // The key of each set if sets are grouped.
  const size_t key = spec.algorithm == Algorithm::groupjoin ? 16 : 0;
  bytes.ordering = 2 * sets + shape.ranks * sizeof(uint32_t) + shape.sets * key;
  if (bitmap_words > 0) {
    bytes.building = bytes.joining = sets + shape.sets * (bitmap_words * sizeof(uint64_t) + sizeof(uint32_t));
    return bytes;
  }
  const bool automatic = spec.algorithm == Algorithm::automatic, sign = automatic && shape.signs_postings;
  const size_t each = posting + (sign ? signature : 0);
  bytes.building = bytes.joining = sets + shape.postings * each + shape.ranks * start;
  bytes.building += PrefixIndex::building_bytes(shape.tokens, shape.postings, sign, workers);
  if (automatic && shape.signs_sets && shape.tokens >= wide_tokens * shape.sets) {
    bytes.joining += shape.sets * wide_signature;
  }
  const size_t swept =
      sign ? swept_set * std::min<uint64_t>(shape.sets, PrefixSweeper::block_probes(shape.sets)) : 0;
  const size_t counted = shape.counts ? counted_set * shape.sets : 0;
  bytes.joining += static_cast<size_t>(workers) * (swept + counted);
  return bytes;
}

}  // namespace simjoin
