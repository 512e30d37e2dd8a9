// Inputs with other tokens in the place of integers of 32 bits, equal where these are. Texts that are packed.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "core/base/packed_texts.hpp"
#include "unit/drive.hpp"

namespace simjoin::test {

// Returns the input with integers that agree in their lower halves, of either sign, or with texts.
template <class Token>
Input<Token> with_tokens(const Input<int32_t> &input) {
  Input<Token> other;
  other.self_join = input.self_join;
  const auto translate = [](const IntSets &from, Sets<Token> &to) {
    for (const IntSet &set : from) {
      auto &tokens = to.emplace_back();
      for (const int32_t token : set) {
        if constexpr (std::is_same_v<Token, std::string>)
          tokens.push_back("word " + std::to_string(token));
        else
          tokens.push_back((token % 2 == 0 ? Token{token} : -Token{token}) * (Token{1} << 32));
      }
    }
  };
  translate(input.left, other.left);
  translate(input.right, other.right);
  return other;
}

using Texts = std::vector<std::string>;

// Packs the texts.
inline TextPacker packed(const Texts &texts) {
  TextPacker packer;
  for (const std::string &text : texts) packer.add(text);
  return packer;
}

}  // namespace simjoin::test
