// The order of tokens.
#pragma once

#include <algorithm>
#include <functional>
#include <span>

namespace simjoin {

// Returns whether each token is greater than the one before it.
template <typename Token>
bool strictly_ascending(std::span<const Token> tokens) {
  return std::adjacent_find(tokens.begin(), tokens.end(), std::greater_equal<Token>()) == tokens.end();
}

}  // namespace simjoin
