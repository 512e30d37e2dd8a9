// The sets of a slice, one by one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/error.hpp"
#include "core/base/interruption.hpp"
#include "core/base/packed_texts.hpp"
#include "core/join.hpp"

namespace simjoin {

template <typename T>
constexpr TokenType token_type_of = sizeof(T) == sizeof(int64_t) ? TokenType::int8 : TokenType::int4;

// Return the number of tokens of a set, which is a span of integers or packed texts.
template <typename T>
uint32_t size_of_set(std::span<const T> set) {
  return static_cast<uint32_t>(set.size());
}
inline uint32_t size_of_set(const PackedTexts &set) {
  return set.count;
}

// Return a slice of one row, which refers to the tokens of the set, to `count`, their number, and to the
// weights.
template <typename T>
SetSlice row_of(std::span<const T> set, const uint32_t &count, const double *weights = nullptr) {
  return {.type = token_type_of<T>,
          .tokens = reinterpret_cast<const char *>(set.data()),
          .lengths = &count,
          .rows = 1,
          .token_count = count,
          .weights = weights};
}
template <typename T>
SetSlice row_of(std::span<const T>, const uint32_t &&, const double * = nullptr) = delete;
inline SetSlice row_of(const PackedTexts &set, const double *weights = nullptr) {
  return {TokenType::text, set.bytes, &set.count, 1, set.count, set.size, weights};
}
SetSlice row_of(const PackedTexts &&, const double * = nullptr) = delete;

// Call visit(token) for each token of a set: an int32_t, an int64_t or a std::string_view. Now and then look
// whether the caller gives up.
template <typename T, typename Visit>
void for_each_token(std::span<const T> set, Visit &&visit) {
  for (size_t i = 0; i < set.size(); ++i) {
    check_interruption_at(i);
    visit(set[i]);
  }
}
template <typename Visit>
void for_each_token(const PackedTexts &set, Visit &&visit) {
  PackedTextReader reader(set);
  for (uint32_t i = 0; i < set.count; ++i) {
    check_interruption_at(i);
    visit(reader.next());
  }
}

// Calls add(set) for each row of a slice of integers, a span of int32_t or int64_t.
template <typename Add>
void for_each_integer_set(const SetSlice &slice, Add &&add) {
  const auto visit = [&](const auto *tokens) {
    for (uint32_t row = 0; row < slice.rows; tokens += slice.lengths[row++]) {
      add(std::span(tokens, slice.lengths[row]));
    }
  };
  if (slice.wide()) {
    visit(reinterpret_cast<const int64_t *>(slice.tokens));
  } else {
    visit(reinterpret_cast<const int32_t *>(slice.tokens));
  }
}

// The same for a slice of texts: PackedTexts.
template <typename Add>
void for_each_text_set(const SetSlice &slice, Add &&add) {
  if (slice.rows == 1) return add(PackedTexts{slice.tokens, slice.text_bytes, *slice.lengths});
  PackedTextReader reader({slice.tokens, slice.text_bytes, 0});
  for (uint32_t row = 0; row < slice.rows; ++row) add(reader.take(slice.lengths[row]));
}

// The same for a slice of either.
template <typename Add>
void for_each_set(const SetSlice &slice, Add &&add) {
  if (slice.type == TokenType::text) {
    for_each_text_set(slice, add);
  } else {
    for_each_integer_set(slice, add);
  }
}

[[noreturn]] inline void throw_weights_differ(bool has_weights) {
  throw Error(ErrorKind::internal, has_weights ? "a set with weights was added to a join without"
                                               : "a set was added without its weights");
}

// The same with the weights of the set's tokens: add(set, weights). Throws Error internal if they have none.
template <typename Add>
void for_each_weighted_set(const SetSlice &slice, Add &&add) {
  if (slice.weights == nullptr && slice.token_count > 0) throw_weights_differ(false);
  const double *weights = slice.weights;
  for_each_set(slice, [&](const auto &set) {
    const size_t size = size_of_set(set);
    add(set, std::span(weights, size));
    weights += size;
  });
}

// Throws Error internal if the sets have weights: for joins of sets without.
inline void refuse_weights(const SetSlice &slice) {
  if (slice.weights != nullptr) throw_weights_differ(true);
}

}  // namespace simjoin
