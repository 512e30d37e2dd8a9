// Sets that are added several at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "core/base/packed_texts.hpp"
#include "core/set_slices.hpp"
#include "unit/oracle.hpp"
#include "unit/process.hpp"

namespace simjoin::test {

// Adds the sets in slices of so many rows each as next_rows() returns, none at times. Each token has the
// weight 1 if there are weights.
template <class Token, class NextRows>
void add_in_slices(JoinEngine &engine, Side side, const Sets<Token> &sets, NextRows &&next_rows,
                   bool weighted = false) {
  for (size_t begin = 0, rows; begin < sets.size(); begin += rows) {
    rows = std::min<size_t>(next_rows(), sets.size() - begin);
    std::vector<uint32_t> lengths;
    std::vector<Token> tokens;
    TextPacker packer;
    for (size_t row = begin; row < begin + rows; ++row) {
      lengths.push_back(static_cast<uint32_t>(sets[row].size()));
      tokens.insert(tokens.end(), sets[row].begin(), sets[row].end());
    }
    const std::vector<double> weights(tokens.size(), 1);
    SetSlice slice = {.lengths = lengths.data(),
                      .rows = static_cast<uint32_t>(rows),
                      .token_count = tokens.size(),
                      .weights = weighted ? weights.data() : nullptr};
    if constexpr (std::is_integral_v<Token>) {
      slice.type = token_type_of<Token>;
      slice.tokens = reinterpret_cast<const char *>(tokens.data());
    } else {
      for (const std::string &text : tokens) packer.add(text);
      slice.type = TokenType::text;
      slice.tokens = packer.texts().bytes;
      slice.text_bytes = packer.texts().size;
    }
    engine.add(side, slice);
    if (engine.wants_spill_file()) engine.set_spill_file(unlinked_file(), UINT64_MAX);
  }
}

}  // namespace simjoin::test
