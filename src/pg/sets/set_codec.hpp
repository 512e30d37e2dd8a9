// From PostgreSQL arrays to sets: checks, and views on the elements without a copy.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "utils/array.h"
}

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/packed_texts.hpp"
#include "core/join.hpp"
#include "core/set_slices.hpp"

namespace simjoin::pg {

// The elements of a checked one-dimensional array without NULLs. `array` is detoasted; for int4 and int8
// `data` points at `count` contiguous elements.
struct SetView {
  TokenType type;
  uint32_t count;
  const void *data;
  const ArrayType *array;
};

// Gives the token type of int4[], int8[], text[] and of domains over them. Returns false for other types.
bool token_type_of(Oid array_type, TokenType *type);

// Returns the token type of an argument of this type that is given for its type only, as NULL::int[] is.
// Errors, naming `function`, where sets cannot have that type.
TokenType kind_argument(Oid type, const char *function);

// Returns the type of arrays of such tokens.
Oid array_type_of(TokenType type);

// Returns an array of the tokens.
ArrayType *construct_token_array(Datum *tokens, size_t count, TokenType type);

// Returns a view on the array, detoasted in the current memory context where it has to be. Errors, naming
// `function`: a NULL element, more than one dimension, another element type.
SetView view_set(Datum array, const char *function);

// Returns the view of a detoasted array of which dimensions_of_flawed() returned 0 and whose elements are
// tokens of the type. Returns false for elements of another type.
bool view_plain_set(ArrayType *array, TokenType type, SetView *set);

// Returns 0 where the array is a set, that is, has at most one dimension and no NULL elements. Otherwise
// returns the number of its dimensions: where that is 1, some elements are NULL.
int dimensions_of_flawed(ArrayType *array);

// Raises view_set's error for an array that is no set. `dimensions` is what dimensions_of_flawed returned.
[[noreturn]] void raise_flawed(const char *function, int dimensions);

// Raises the error of check_plain_array() for an array of so many dimensions, which is not plain.
[[noreturn]] void raise_not_plain(int dimensions, const char *function, const char *what,
                                  const char *null_hint);

// Errors, naming `function` and calling the array `what`, unless it is one-dimensional (or empty) without
// NULL elements; `null_hint` is the hint about those.
void check_plain_array(ArrayType *array, const char *function, const char *what, const char *null_hint);

// Frees what view_set(array) had to detoast; the view is invalid afterwards.
void free_view(const SetView &set, Datum array);

// Tokens that are made different from those of other partitions. Sets of the same partition share as many
// tokens as before, and sets of different partitions share none. Rare coincidences are possible, so the
// caller checks that the rows of a pair are of one partition.
class PartitionedTokens {
 public:
  explicit PartitionedTokens(uint64_t partition) : partition_(partition) {}

  // Add the next token of a set.
  void add(int64_t token) {
    integers_.push_back(static_cast<int64_t>(static_cast<uint64_t>(token) ^ partition_));
  }
  void add(std::string_view token) {
    texts_.add({reinterpret_cast<const char *>(&partition_), sizeof partition_}, token);
  }
  // Returns the set, a row whose tokens have these weights, if there are some. Called once.
  SetSlice row(const double *weights = nullptr) {
    packed_ = texts_.texts();
    size_ = static_cast<uint32_t>(integers_.size());
    if (packed_.count > 0) return row_of(packed_, weights);
    return row_of(std::span<const int64_t>(integers_), size_, weights);
  }

 private:
  const uint64_t partition_;
  std::vector<int64_t> integers_;
  TextPacker texts_;
  PackedTexts packed_;
  uint32_t size_ = 0;
};

// Adds the set as the next row of a side. Raises the engine's errors as PostgreSQL errors.
void feed_set(JoinEngine *engine, Side side, const SetView &set);

// Adds the sets as the next rows of a side.
void feed_sets(JoinEngine *engine, Side side, const SetView *sets, size_t count);

// Adds the set as the next row of a side, with PartitionedTokens.
void feed_partitioned_set(JoinEngine *engine, Side side, const SetView &set, uint64_t partition);

// Adds an empty set as the next row of a side (where the array was NULL).
void feed_empty_set(JoinEngine *engine, Side side, TokenType type);

}  // namespace simjoin::pg
