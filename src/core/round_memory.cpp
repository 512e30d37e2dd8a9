#include "core/round_memory.hpp"

#include <algorithm>

#include "core/measure.hpp"
#include "core/prefix_sweep.hpp"

namespace simjoin {

uint32_t index_prefix_length(const JoinSpec &spec, uint32_t size) {
  if (!(spec.threshold > 0) || size == 0) return 0;
  const Bounds bounds(spec.measure, spec.threshold);
  const int64_t partner = spec.self_join ? size : bounds.min_partner(size);
  return static_cast<uint32_t>(bounds.prefix_length(size, partner));
}

size_t estimated_round_bytes(const JoinSpec &spec, const RoundShape &shape, uint32_t bitmap_words,
                             int workers) {
  constexpr size_t token = sizeof(uint32_t), start = sizeof(uint64_t), row = sizeof(uint32_t);
  constexpr size_t posting = sizeof(uint64_t), signature = sizeof(uint64_t);
  // Counts of shared tokens, and lists of the sets with some.
  constexpr size_t worker_set = 12;
  // Blocks of short sets and their prefixes.
  constexpr size_t swept_set = 64;
  // Of sets of 16 tokens or more on average.
  constexpr size_t wide_signature = 4 * sizeof(uint64_t);
  constexpr uint64_t wide_tokens = 16;

  const size_t sets = shape.tokens * token + shape.sets * (start + row);
  // While they are brought into order there are two copies; a key for each set where they are grouped.
  const size_t key = spec.algorithm == Algorithm::groupjoin ? 16 : 0;
  const size_t ordering = 2 * sets + shape.ranks * sizeof(uint32_t) + shape.sets * key;
  if (bitmap_words > 0) {
    const size_t bitmap = bitmap_words * sizeof(uint64_t) + sizeof(uint32_t);
    return std::max(ordering, sets + shape.sets * bitmap);
  }
  const bool automatic = spec.algorithm == Algorithm::automatic, sign = automatic && shape.signs_postings;
  // Postings on their way into the index, with their ranks: not all at a time.
  const uint64_t unsorted = std::min<uint64_t>(shape.postings, shape.tokens / 8 + (uint64_t{1} << 14));
  const size_t each = posting + (sign ? signature : 0);
  size_t index = shape.postings * each + shape.ranks * start + unsorted * (each + sizeof(uint32_t));
  if (automatic && shape.tokens >= wide_tokens * shape.sets) index += shape.sets * wide_signature;
  const size_t worker =
      worker_set * shape.sets +
      (sign ? swept_set * std::min<uint64_t>(shape.sets, PrefixSweeper::block_probes(shape.sets)) : 0);
  return std::max(ordering, sets + index + static_cast<size_t>(workers) * worker);
}

}  // namespace simjoin
