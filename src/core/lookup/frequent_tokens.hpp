// The most frequent tokens of a collection, in few bytes: an index on sets keeps them among its parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace simjoin {

// A token is known by the upper bits of its code, so a few rare tokens are taken for frequent ones.
inline constexpr int token_print_bits = 18;

struct FrequentToken {
  uint32_t print;  // the upper bits of the code
  uint32_t place;  // from 1 on, larger for more frequent tokens; tokens of about the same frequency share it
};

// Encodes the tokens, the most frequent first: about nine bits a token. Tokens after `most_stored_tokens` are
// left out. The bytes look random for any tokens.
inline constexpr size_t most_stored_tokens = 4500;
std::string encode_frequent_tokens(std::span<const int32_t> codes);

// Returns the tokens that the bytes encode, nothing if they are invalid.
std::optional<std::vector<FrequentToken>> decode_frequent_tokens(std::string_view bytes);

}  // namespace simjoin
