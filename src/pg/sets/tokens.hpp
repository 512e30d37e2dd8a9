// The tokens of sets, one by one or in blocks.
#pragma once

#include "pg/base/pg.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/base/interruption.hpp"
#include "pg/base/growing_array.hpp"
#include "pg/base/interruptible.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/sets/set_codec.hpp"

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

}  // namespace simjoin::pg
