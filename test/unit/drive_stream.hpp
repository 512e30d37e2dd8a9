// Feeds a join with a small side and takes its pairs, as drive.hpp does for other joins.
#pragma once

#include "core/stream/streamed_join.hpp"
#include "unit/drive.hpp"

namespace simjoin::test {

inline constexpr Side sides[] = {Side::left, Side::right};

inline Side other(Side side) {
  return side == Side::left ? Side::right : Side::left;
}

template <class Token>
const Sets<Token> &side_of(const Input<Token> &input, Side side) {
  return side == Side::left ? input.left : input.right;
}

// Returns whether the small side has been indexed.
inline bool index(StreamedJoin &join) {
  join.index(StopFlag());
  return join.is_indexed();
}

// Adds a streamed set and appends its pairs, with its row in the place of 0. Throws if a batch is malformed.
template <class Token>
void stream(StreamedJoin &join, Side small, const std::vector<Token> &set, uint32_t row,
            std::vector<Pair> &pairs) {
  add_row(join, other(small), set);
  Batch batch;
  while (join.has_more()) {
    if (join.step(step_budget, batch) != StepResult::batch) continue;
    const size_t before = pairs.size();
    collect(batch, pairs);
    for (size_t i = before; i < pairs.size(); ++i) {
      uint32_t &streamed = small == Side::left ? pairs[i].right : pairs[i].left;
      if (streamed != 0) throw std::logic_error("a pair of a row that has streamed before");
      streamed = row;
    }
  }
  if (join.step(step_budget, batch) != StepResult::done) throw std::logic_error("pairs after the last one");
}

// Runs a whole join and gives its pairs in ascending order, and its figures if `stats` is not null. Returns
// false if its small side does not let it stream.
template <class Token>
bool run_streamed(const JoinSpec &spec, Side small, const Input<Token> &input, std::vector<Pair> &pairs,
                  JoinStats *stats = nullptr) {
  StreamedJoin join(spec, small);
  for (const auto &set : side_of(input, small)) add_row(join, small, set);
  if (!join.is_small() || !index(join)) return false;
  uint32_t row = 0;
  for (const auto &set : side_of(input, other(small))) stream(join, small, set, row++, pairs);
  std::sort(pairs.begin(), pairs.end());
  if (stats != nullptr) *stats = join.stats();
  return true;
}

}  // namespace simjoin::test
