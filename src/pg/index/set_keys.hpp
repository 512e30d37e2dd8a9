// Where the tokens of a set come in an order of tokens. Large sets are sorted with interrupt checks.
#pragma once

#include "pg/base/pg.hpp"

#include "core/lookup/token_order.hpp"
#include "pg/sets/set_codec.hpp"

namespace simjoin::pg {

// Returns the prefix of the set. Its keys are in the current memory context.
SetPrefix prefix_of(const TokenOrder &order, const SetView &set);

// Returns as many keys of the set as a lookup needs, in the current memory context.
SetPrefix keys_to_look_up(const TokenOrder &order, const SetView &set);

// Frees the keys, if there are any.
void free_keys(const SetPrefix &prefix);

}  // namespace simjoin::pg
