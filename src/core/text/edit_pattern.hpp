// A text of up to 64 characters whose edit distances to many others are asked for (Myers: A fast bit-vector
// algorithm for approximate string matching, 1999).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace simjoin {

// Characters are numbers below `codes`.
class EditPattern {
 public:
  static constexpr size_t most_characters = 64;

  explicit EditPattern(size_t codes = 0) : places_(codes, 0) {}

  template <typename Code>
  void set(std::span<const Code> text) {
    for (const uint32_t code : codes_) places_[code] = 0;
    codes_.assign(text.begin(), text.end());
    for (size_t i = 0; i < text.size(); ++i) places_[text[i]] |= uint64_t{1} << i;
  }

  // Returns the distance to a text, or more than `most` >= 0 if it is above that. The pattern has characters.
  template <typename Code>
  int64_t distance_up_to(std::span<const Code> text, int64_t most) const {
    const size_t last = codes_.size() - 1;
    uint64_t more = ~uint64_t{0}, less = 0;  // the vertical differences of a column of the table
    auto distance = static_cast<int64_t>(codes_.size());
    auto rest = static_cast<int64_t>(text.size());
    for (const Code code : text) {
      const uint64_t equal = places_[code], vertical = equal | less;
      const uint64_t horizontal = (((equal & more) + more) ^ more) | equal;
      uint64_t row_more = less | ~(horizontal | more), row_less = more & horizontal;
      distance += static_cast<int64_t>(row_more >> last & 1) - static_cast<int64_t>(row_less >> last & 1);
      if (distance - --rest > most) return most + 1;  // a column takes one at most from it
      row_more = row_more << 1 | 1;
      row_less <<= 1;
      more = row_less | ~(vertical | row_more);
      less = row_more & vertical;
    }
    return distance;
  }

 private:
  std::vector<uint64_t> places_;  // of each code in the text: bit i is that of the i-th character
  std::vector<uint32_t> codes_;
};

}  // namespace simjoin
