// The division of the memory limit of a join by bands beside a file, and the bytes that it would take without
// one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/base/worker_pool.hpp"
#include "core/lsh/lsh_join.hpp"
#include "core/sets/raw_sets.hpp"

namespace simjoin::lsh_memory {

// Returns the bytes of a block of sets.
inline size_t block_bytes(const LshSpec &spec) {
  return RawSets::block_bytes(spec.memory_limit, thread_count(spec.threads));
}

// Returns the bytes that the numbering of tokens may take.
inline size_t vocabulary_bytes(const LshSpec &spec) {
  return std::max(spec.memory_limit / 4, size_t{1} << 18);
}

// Returns the bytes of token hashes that are signed at a time, with what is made of them: on a GPU more at a
// time take less, and beyond some megabytes it makes no difference.
inline constexpr size_t most_chunk_bytes = size_t{1} << 26;
inline size_t chunk_bytes(const LshSpec &spec) {
  return std::clamp(spec.memory_limit / 8, size_t{1} << 18, most_chunk_bytes);
}

// Returns the number of keys of a band that are sorted at a time.
inline size_t keys_at_a_time(const LshSpec &spec) {
  constexpr size_t key_bytes = 2 * 16 + 2;  // keys, sorted ones, and which bucket of the sort each is in
  return std::max(spec.memory_limit / 2 / key_bytes, size_t{1} << 13);
}

// Returns the bytes of the rows that one worker has in memory, in each of four places.
inline size_t loaded_bytes(const LshSpec &spec, int workers) {
  return std::clamp(spec.memory_limit / 16 / static_cast<size_t>(workers), size_t{1} << 15, size_t{1} << 18);
}

// Returns the bytes of what is made of a row's token hashes: its signature data, and a bitmap.
inline size_t signed_bytes(const LshSpec &spec) {
  constexpr size_t bitmap = 40;
  return spec.plan.bands * sizeof(uint64_t) + (spec.verify ? 0 : spec.permutations * sizeof(uint32_t)) +
         (spec.counts_tokens() ? bitmap : 0);
}

// Returns the bytes of a row while all keys of a band are sorted in memory: what was signed, where its tokens
// are, its keys, and the pairs that it has had (DoneRows).
inline size_t joining_bytes(const LshSpec &spec) {
  constexpr size_t place = 8, keys = 34, pairs = 2;
  return signed_bytes(spec) + (spec.verify ? place : 0) + keys + (spec.done_rows != nullptr ? pairs : 0);
}

}  // namespace simjoin::lsh_memory
