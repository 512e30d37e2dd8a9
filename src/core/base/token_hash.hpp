// Hashes of tokens by value: integers of any width, and texts. They are the same in every process.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/base/mix.hpp"

namespace simjoin {

// Returns 64 bits that depend on every bit of the token.
template <typename Token>
uint64_t token_value_hash(const Token &token) {
  if constexpr (std::is_same_v<Token, std::string_view>)
    return XXH3_64bits(token.data(), token.size());
  else
    return mix_bits(static_cast<uint64_t>(static_cast<int64_t>(token)));
}

}  // namespace simjoin
