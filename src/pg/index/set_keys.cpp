#include "pg/index/set_keys.hpp"

#include <algorithm>
#include <span>

#include "pg/base/growing_array.hpp"
#include "pg/base/interruptible.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/sets/sorted_tokens.hpp"
#include "pg/sets/tokens.hpp"

namespace simjoin::pg {
namespace {

// Keys of the distinct tokens, in no order.
struct SetKeys {
  TokenKey *keys;
  size_t count;
};

SetKeys keys_of(const TokenOrder &order, const SetView &set) {
  return with_token_type(set.type, [&](auto token) -> SetKeys {
    using Token = decltype(token);
    const SortedTokens<Token> tokens = sorted_tokens<Token>(set);
    auto *keys = allocate<TokenKey>(tokens.count);
    for (size_t begin = 0; begin < tokens.count; begin += token_block) {
      check_interrupts();
      const size_t count = std::min(tokens.count - begin, token_block);
      order.keys_of(std::span<const Token>(tokens.data + begin, count), keys + begin);
    }
    free_tokens(tokens);
    return {keys, tokens.count};
  });
}

// Returns the smallest ones of the keys, `count` or all.
SetPrefix smallest(const SetKeys &keys, size_t count) {
  count = std::min(count, keys.count);
  sort_first_interruptibly(keys.keys, count, keys.count);
  return {static_cast<int64_t>(keys.count), {keys.keys, count}};
}

}  // namespace

SetPrefix prefix_of(const TokenOrder &order, const SetView &set) {
  const SetKeys keys = keys_of(order, set);
  return smallest(keys, static_cast<size_t>(order.prefix_length(static_cast<int64_t>(keys.count))));
}

SetPrefix keys_to_look_up(const TokenOrder &order, const SetView &set) {
  return smallest(keys_of(order, set), most_looked_up);
}

void free_keys(const SetPrefix &prefix) {
  if (prefix.keys.data() != nullptr) pfree(const_cast<TokenKey *>(prefix.keys.data()));
}

}  // namespace simjoin::pg
