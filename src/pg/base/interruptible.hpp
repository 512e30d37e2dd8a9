// The tokens of sets one by one, and long loops and sorts that can be interrupted.
#pragma once

#include "pg/base/pg.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/base/interruption.hpp"
#include "pg/base/compat.hpp"
#include "pg/base/growing_array.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/base/set_codec.hpp"

namespace simjoin::pg {

// Walks over the elements of a text[]. Calls nothing of PostgreSQL that can error.
class TextCursor {
 public:
  explicit TextCursor(const SetView &set) : next_(static_cast<const char *>(set.data)) {}

  // Returns the next element. It may be called set.count times.
  std::string_view next() {
    const std::string_view token(VARDATA_ANY(next_), VARSIZE_ANY_EXHDR(next_));
    next_ = reinterpret_cast<const char *>(INTALIGN(reinterpret_cast<uintptr_t>(next_) + VARSIZE_ANY(next_)));
    return token;
  }

 private:
  const char *next_;
};

// Walks over the elements of a set of any type. Calls nothing of PostgreSQL that can error.
class TokenCursor {
 public:
  explicit TokenCursor(const SetView &set) : set_(set), texts_(set) {}

  // Returns visit(token) of the next token, an int64_t or a std::string_view. It may be called set.count
  // times.
  template <class Visit>
  auto next(Visit &&visit) {
    switch (set_.type) {
      case TokenType::int4:
        return visit(int64_t{static_cast<const int32_t *>(set_.data)[next_++]});
      case TokenType::int8:
        return visit(static_cast<const int64_t *>(set_.data)[next_++]);
      case TokenType::text:
        break;
    }
    return visit(texts_.next());
  }

  // Returns the next token. T is the type of the set's tokens.
  template <class T>
  T next_as() {
    return next([](auto token) {
      if constexpr (std::is_convertible_v<decltype(token), T>)
        return static_cast<T>(token);
      else
        return T{};  // of sets of other types
    });
  }

 private:
  const SetView &set_;
  TextCursor texts_;
  size_t next_ = 0;
};

// Returns body(token), where `token` is an empty value of the C++ type that stands for the token type:
// int32_t, int64_t or std::string_view.
template <class Body>
auto with_token_type(TokenType type, Body &&body) {
  switch (type) {
    case TokenType::int4:
      return body(int32_t{});
    case TokenType::int8:
      return body(int64_t{});
    case TokenType::text:
      break;
  }
  return body(std::string_view());
}

// Calls body(tokens) with a span of the set's tokens, within call_cpp. Throws Cancelled where the statement
// ends.
template <class Body>
auto with_tokens(const SetView &set, Body &&body) {
  if (set.type == TokenType::int4) return body(std::span(static_cast<const int32_t *>(set.data), set.count));
  if (set.type == TokenType::int8) return body(std::span(static_cast<const int64_t *>(set.data), set.count));
  std::vector<std::string_view> texts;
  texts.reserve(set.count);
  TextCursor cursor(set);
  for (size_t i = 0; i < set.count; ++i) {
    check_interruption_at(i);
    texts.push_back(cursor.next());
  }
  return body(std::span<const std::string_view>(texts));
}

// Tokens that are looked at between two interrupt checks.
inline constexpr size_t token_block = 1 << 16;

// Calls body(tokens) with one span of the set's tokens after the other. Processes interrupts between them.
template <class Body>
void for_token_blocks(const SetView &set, Body &&body) {
  with_token_type(set.type, [&](auto token) {
    using Token = decltype(token);
    constexpr bool copied = !std::is_arithmetic_v<Token>;
    Token *copy = copied ? allocate<Token>(std::min<size_t>(set.count, token_block)) : nullptr;
    TextCursor texts(set);
    for (size_t begin = 0; begin < set.count; begin += token_block) {
      check_interrupts();
      const size_t count = std::min<size_t>(set.count - begin, token_block);
      if constexpr (copied)
        for (size_t i = 0; i < count; ++i) copy[i] = texts.next();
      body(std::span<const Token>(copied ? copy : static_cast<const Token *>(set.data) + begin, count));
    }
    if (copied) pfree(copy);
  });
}

// Processes interrupts each time that work of some milliseconds has been reported, in units of about a
// nanosecond.
class InterruptCounter {
 public:
  void add(size_t work) {
    work_ += work;
    if (work_ < interval) return;
    work_ = 0;
    check_interrupts();
  }

 private:
  static constexpr size_t interval = 1 << 22;
  size_t work_ = 0;
};

// Copies numbers or views of texts. Processes interrupts.
template <class T>
void copy_tokens(const T *from, size_t count, T *to) {
  for (size_t begin = 0; begin < count; begin += token_block) {
    check_interrupts();
    std::copy_n(from + begin, std::min(token_block, count - begin), to + begin);
  }
}

// Returns the most that a comparison with the token costs, in the units of InterruptCounter.
inline size_t comparison_cost(int64_t) {
  return 1;
}
inline size_t comparison_cost(std::string_view token) {
  return 4 + token.size();
}

// Sorting this many numbers takes a few milliseconds.
constexpr size_t uninterrupted_sort = 1 << 16;

// Sorts by less(a, b). cost(element) is the cost of a comparison with the element. Interrupts are processed,
// so an ERROR may leave the data half sorted. Elements are trivial, so that an ERROR leaves nothing behind.
template <class T, class Less, class Cost>
void sort_interruptibly(T *data, size_t n, Less less, Cost cost) {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
  if constexpr (std::is_arithmetic_v<T>)
    if (n <= uninterrupted_sort) return std::sort(data, data + n, less);
  InterruptCounter interrupts;
  std::sort(data, data + n, [&](const T &a, const T &b) {
    interrupts.add(cost(a));
    return less(a, b);
  });
}

// Puts the `first` smallest of n numbers in front, ascending. Processes interrupts.
template <class T>
void sort_first_interruptibly(T *data, size_t first, size_t n) {
  static_assert(std::is_arithmetic_v<T>);
  const auto cost = [](T) { return size_t{1}; };
  if (first < n && n <= uninterrupted_sort) {
    std::nth_element(data, data + first, data + n);
  } else if (first < n) {
    InterruptCounter interrupts;
    std::nth_element(data, data + first, data + n, [&](T a, T b) {
      interrupts.add(1);
      return a < b;
    });
  }
  sort_interruptibly(data, first, std::less<>(), cost);
}

}  // namespace simjoin::pg
