// Sums of the hashes of a set's tokens, which are the same for any order of the tokens.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/interruption.hpp"
#include "core/base/token_hash.hpp"
#include "core/dedup/hash_kernels.hpp"

namespace simjoin {

// Calls body(some) for runs of the tokens, between which it looks whether the caller gives up.
template <typename Token, typename Body>
void for_runs(std::span<const Token> tokens, Body &&body) {
  for (size_t begin = 0; begin < tokens.size(); begin += steps_between_checks) {
    if (begin > 0) check_interruption();
    body(tokens.subspan(begin, std::min(steps_between_checks, tokens.size() - begin)));
  }
}

// Return 64 bits for the tokens, each as often as it is there.
template <typename Token>
uint64_t sum_of_hashes(std::span<const Token> tokens) {
  uint64_t sum = 0;
  for_runs(tokens, [&](auto some) {
    for (const Token &token : some) sum += token_value_hash(token);
  });
  return sum;
}
inline uint64_t sum_of_hashes(std::span<const int32_t> tokens) {
  HashSums sums;
  for_runs(tokens, [&](auto some) { sums += hash_sums(some.data(), some.size()); });
  return uint64_t{sums.one} << 32 | sums.other;
}

}  // namespace simjoin
