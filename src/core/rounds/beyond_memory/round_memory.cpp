#include "core/rounds/beyond_memory/round_memory.hpp"

#include <algorithm>

#include "core/candidates/prefix/parity_signature.hpp"
#include "core/candidates/prefix/prefix_index.hpp"
#include "core/candidates/prefix/prefix_sweep.hpp"

namespace simjoin {
namespace {

// Sets of more tokens are few, so the lengths of their prefixes are not kept.
constexpr uint32_t longest_kept_size = uint32_t{1} << 12;
constexpr uint32_t unknown_length = UINT32_MAX;

}  // namespace

uint32_t index_prefix_length(const Bounds &bounds, bool self_join, uint32_t size) {
  if (!(bounds.threshold() > 0) || size == 0) return 0;
  const int64_t partner = self_join ? size : bounds.min_partner(size);
  return static_cast<uint32_t>(bounds.prefix_length(size, partner));
}

void PrefixPostings::update(const SetSizes &sizes) {
  sizes.visit(seen_, sizes.size(), [&](size_t, uint32_t size) {
    const uint32_t known = size < lengths_.size() ? lengths_[size] : unknown_length;
    postings_ += known != unknown_length ? known : length(size);
  });
  seen_ = sizes.size();
}

// Returns the length of the index prefix of a set of this size.
uint32_t PrefixPostings::length(uint32_t size) {
  if (size > longest_kept_size) {
    ++classes_;
    return index_prefix_length(bounds_, self_join_, size);
  }
  if (size >= lengths_.size()) lengths_.resize(size_t{size} + 1, unknown_length);
  uint32_t &length = lengths_[size];
  if (length == unknown_length) {
    length = index_prefix_length(bounds_, self_join_, size);
    ++classes_;
  }
  return length;
}

bool sweeps_all(const Bounds &of_index, uint32_t size, uint32_t largest) {
  // The tokens that only one set has are the most for sizes at the ends of their ranges (most_differences()).
  for (const int64_t s : {int64_t{1}, int64_t{size}}) {
    for (const int64_t partner :
         {of_index.min_partner(s), std::max(s, of_index.max_partner(s, int64_t{largest}))}) {
      if (partner + s - 2 * of_index.min_overlap(s, partner) >= useful_differences) return false;
    }
  }
  return true;
}

RoundBytes estimated_round_bytes(const JoinSpec &spec, const RoundShape &shape, uint32_t bitmap_words,
                                 int workers) {
  constexpr size_t token = sizeof(uint32_t), start = sizeof(uint64_t), row = sizeof(uint32_t);
  constexpr size_t posting = sizeof(uint64_t), signature = sizeof(uint64_t);
  // For each set of a block of short sets: the set and its prefix.
  constexpr size_t swept_set = 64;
  // Sets of 16 tokens or more on average have a wide signature.
  constexpr size_t wide_signature = 4 * sizeof(uint64_t);
  constexpr uint64_t wide_tokens = 16;

  RoundBytes bytes;
  const size_t sets = shape.tokens * token + shape.sets * (start + row);
  if (spec.algorithm == Algorithm::groupjoin) {
    // Groups are ordered by keys and a second copy.
    constexpr size_t key = 16;
    bytes.ordering = 2 * sets + shape.ranks * sizeof(uint32_t) + shape.sets * key;
  } else {
    // The set of each row has a number meanwhile.
    bytes.ordering = sets + shape.sets * row + std::min(shape.tokens * token, shape.kept_ids);
  }
  if (bitmap_words > 0) {
    bytes.building = bytes.joining = sets + shape.sets * (bitmap_words * sizeof(uint64_t) + sizeof(uint32_t));
    return bytes;
  }
  const bool automatic = spec.algorithm == Algorithm::automatic, sign = automatic && shape.signs_postings;
  const size_t each = posting + (sign ? signature : 0);
  bytes.building = bytes.joining = sets + shape.postings * each + shape.ranks * start;
  bytes.building +=
      PrefixIndex::building_bytes(static_cast<uint32_t>(shape.ranks), shape.postings, sign, workers);
  if (automatic && shape.signs_sets && shape.tokens >= wide_tokens * shape.sets) {
    bytes.joining += shape.sets * wide_signature;
  }
  if (sign) {
    const uint64_t swept =
        std::min<uint64_t>(shape.sets, PrefixSweeper::block_probes(shape.index_sets, workers));
    bytes.joining += static_cast<size_t>(workers) * swept_set * swept;
  }
  if (shape.counts) bytes.joining += counted_bytes(shape.index_sets, workers);
  return bytes;
}

}  // namespace simjoin
