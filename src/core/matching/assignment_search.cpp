#include "core/matching/assignment_search.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/base/parallel_ranges.hpp"

namespace simjoin {
namespace {

constexpr int weight_bits = 120;
constexpr Weight infinite = Weight{1} << 125;

}  // namespace

AssignmentGraph::AssignmentGraph(const Buffer<SortKey> &sorted_pairs, const Buffer<uint64_t> &row_begins,
                                 uint32_t right_rows, WorkerPool &pool, MemoryCounter &memory)
    : pairs(sorted_pairs),
      begins(row_begins),
      left_potentials(memory, row_begins.size() - 1),
      right_potentials(memory),
      left_pairs(memory),
      right_pairs(memory),
      distances(memory),
      reached_by(memory, right_rows),
      done(memory) {
  fill(right_potentials, right_rows, Weight{0}, pool);
  fill(left_pairs, row_begins.size() - 1, no_pair, pool);
  fill(right_pairs, right_rows, no_pair, pool);
  fill(distances, right_rows, infinite, pool);
  fill(done, right_rows, uint8_t{0}, pool);
}

void AssignmentSearch::choose_unit(const uint32_t *rows, size_t count) {
  double greatest = 0;
  for (size_t i = 0; i < count; ++i) {
    stop_.check_at(i);
    const uint64_t first = graph_.begins[rows[i]];  // the most similar one of the row
    if (first < graph_.begins[rows[i] + 1])
      greatest = std::max(greatest, ByLeft::pair(graph_.pairs[first]).similarity);
  }
  std::frexp(greatest, &exponent_);
}

Weight AssignmentSearch::weight(double similarity) const {
  constexpr int mantissa_bits = 52;
  const auto bits = std::bit_cast<uint64_t>(similarity);
  const auto power = static_cast<int>(bits >> mantissa_bits);  // 0 where the number is subnormal
  const uint64_t fraction = bits & ((uint64_t{1} << mantissa_bits) - 1);
  const Weight mantissa = power == 0 ? fraction : fraction | uint64_t{1} << mantissa_bits;
  // The number is mantissa * 2^(power - 1075), its weight that times 2^(weight_bits - exponent_).
  const int shift = std::max(power, 1) - 1075 + weight_bits - exponent_;
  return shift >= 0 ? mantissa << shift : shift > -64 ? mantissa >> -shift : Weight{0};
}

// A right row that is done is not looked at again. The pairs come with the most similar first, so none after
// one that is too far can be near enough: potentials are not negative.
void AssignmentSearch::look_at_pairs(uint32_t left, Weight distance) {
  const Weight from = distance + graph_.left_potentials[left];
  for (uint64_t i = graph_.begins[left]; i < graph_.begins[left + 1]; ++i) {
    stop_.check_at(++looked_at_);
    const RankedPair pair = ByLeft::pair(graph_.pairs[i]);
    const Weight least = from - weight(pair.similarity);
    if (least >= length_) return;
    const Weight to = least + graph_.right_potentials[pair.right];
    if (to >= length_ || to >= graph_.distances[pair.right]) continue;
    if (graph_.distances[pair.right] == infinite) reached_.push_back(pair.right);
    graph_.distances[pair.right] = to;
    graph_.reached_by[pair.right] = i;
    if (graph_.right_pairs[pair.right] == AssignmentGraph::no_pair) {
      length_ = to;
      last_pair_ = i;
    } else {
      heap_.push_back({to, pair.right});
      std::push_heap(heap_.begin(), heap_.end(), Farther());
    }
  }
}

void AssignmentSearch::change_potentials(uint32_t row) {
  graph_.left_potentials[row] -= length_;
  for (const uint32_t right : reached_) {
    if (graph_.done[right] == 0) continue;
    const Weight change = length_ - graph_.distances[right];
    graph_.right_potentials[right] += change;
    graph_.left_potentials[left_of(graph_.right_pairs[right])] -= change;
  }
}

// Keeps the pairs of the path to its end, in the place of those that were kept between them.
void AssignmentSearch::augment(uint32_t row) {
  uint64_t pair = last_pair_;
  if (pair == AssignmentGraph::no_pair) {
    if (last_left_ == row) return;
    pair = graph_.reached_by[right_of(std::exchange(graph_.left_pairs[last_left_], pair))];
  }
  for (;;) {
    const uint32_t left = left_of(pair);
    graph_.right_pairs[right_of(pair)] = pair;
    const uint64_t before = std::exchange(graph_.left_pairs[left], pair);
    if (left == row) return;
    pair = graph_.reached_by[right_of(before)];
  }
}

void AssignmentSearch::forget_reached() {
  for (const uint32_t right : reached_) {
    graph_.distances[right] = infinite;
    graph_.done[right] = 0;
  }
  reached_.clear();
  heap_.clear();
}

// Returns false where the search has looked at too many pairs.
bool AssignmentSearch::add_row(uint32_t row) {
  length_ = weight(ByLeft::pair(graph_.pairs[graph_.begins[row]]).similarity);
  graph_.left_potentials[row] = length_;
  last_pair_ = AssignmentGraph::no_pair;
  last_left_ = row;
  look_at_pairs(row, 0);
  while (!heap_.empty() && heap_[0].distance < length_ && looked_at_ <= most_looked_at_) {
    const Reached next = heap_[0];
    std::pop_heap(heap_.begin(), heap_.end(), Farther());
    heap_.resize(heap_.size() - 1);
    if (graph_.done[next.right] != 0) continue;
    graph_.done[next.right] = 1;
    const uint32_t left = left_of(graph_.right_pairs[next.right]);
    const Weight alone = next.distance + graph_.left_potentials[left];
    if (alone < length_) {
      length_ = alone;
      last_pair_ = AssignmentGraph::no_pair;
      last_left_ = left;
    }
    look_at_pairs(left, next.distance);
  }
  if (looked_at_ <= most_looked_at_) {
    change_potentials(row);
    augment(row);
  }
  forget_reached();
  return looked_at_ <= most_looked_at_;
}

bool AssignmentSearch::assign(const uint32_t *rows, size_t count, Partner *partners) {
  looked_at_ = 0;
  choose_unit(rows, count);
  for (size_t i = 0; i < count; ++i)
    if (!add_row(rows[i])) return false;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t kept = graph_.left_pairs[rows[i]];
    if (kept == AssignmentGraph::no_pair) continue;
    const RankedPair pair = ByLeft::pair(graph_.pairs[kept]);
    partners[rows[i]] = {pair.similarity, pair.right};
  }
  return true;
}

}  // namespace simjoin
