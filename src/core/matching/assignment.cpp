#include "core/matching/assignment.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <string>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/parallel_ranges.hpp"
#include "core/graph/components.hpp"
#include "core/matching/assignment_search.hpp"
#include "core/matching/greedy.hpp"

namespace simjoin {
namespace {

constexpr uint32_t rows_at_a_time = 1 << 20;

// The left rows of the graph's components, one component after the other.
struct LeftRows {
  explicit LeftRows(MemoryCounter &memory) : rows(memory), begins(memory) {}

  size_t components() const { return begins.size() - 1; }

  Buffer<uint32_t> rows;    // ascending within a component
  Buffer<uint32_t> begins;  // of each component; one more entry than there are components
};

// Returns where the pairs of each left row begin, and where the last ones end.
Buffer<uint64_t> begins_of_rows(const Buffer<SortKey> &pairs, uint32_t left_rows, const StopFlag &stop,
                                MemoryCounter &memory) {
  Buffer<uint64_t> begins(memory, size_t{left_rows} + 1);
  size_t row = 0;
  for (size_t i = 0; i < pairs.size(); ++i) {
    stop.check_at(i);
    for (const uint32_t left = ByLeft::pair(pairs[i]).left; row <= left; ++row) begins[row] = i;
  }
  for (; row < begins.size(); ++row) begins[row] = pairs.size();
  return begins;
}

// Returns the smallest left row of the component of each left row.
Buffer<uint32_t> component_of_rows(const Buffer<SortKey> &pairs, uint32_t left_rows, uint32_t right_rows,
                                   const StopFlag &stop, MemoryCounter &memory) {
  if (uint64_t{left_rows} + right_rows > UINT32_MAX)
    throw Error(ErrorKind::limit_exceeded, "the pairs have more than " + std::to_string(UINT32_MAX) + " rows",
                "Match parts of the tables that have no pairs with each other, one after the other.");
  DisjointSets sets(memory);
  for (uint32_t rows = 0, all = left_rows + right_rows; rows < all;) {
    stop.check();
    rows += std::min(all - rows, rows_at_a_time);
    sets.grow(rows);
  }
  for (size_t i = 0; i < pairs.size(); ++i) {
    stop.check_at(i);
    const RankedPair pair = ByLeft::pair(pairs[i]);
    sets.unite(pair.left, left_rows + pair.right);
  }
  Buffer<uint32_t> component_of(memory, left_rows);
  for (uint32_t row = 0; row < left_rows; ++row) {
    stop.check_at(row);
    component_of[row] = sets.find(row);  // the smallest number, which is that of a left row
  }
  return component_of;
}

// Returns the left rows of each component, in the order of the components' smallest rows.
LeftRows rows_by_component(const Buffer<uint32_t> &component_of, const StopFlag &stop,
                           MemoryCounter &memory) {
  const auto rows = static_cast<uint32_t>(component_of.size());
  LeftRows result(memory);
  Buffer<uint32_t> places(memory, rows, 0);  // of the next row, by the smallest row of the component
  for (uint32_t row = 0; row < rows; ++row) {
    stop.check_at(row);
    ++places[component_of[row]];
  }
  uint32_t begin = 0;
  for (uint32_t row = 0; row < rows; ++row) {
    stop.check_at(row);
    if (component_of[row] != row) continue;
    result.begins.push_back(begin);
    begin += std::exchange(places[row], begin);
  }
  result.begins.push_back(rows);
  result.rows.resize(rows);
  for (uint32_t row = 0; row < rows; ++row) {
    stop.check_at(row);
    result.rows[places[component_of[row]]++] = row;
  }
  return result;
}

// Matches the left rows of a component greedily.
void match_component_greedily(const uint32_t *rows, size_t count, const Buffer<SortKey> &pairs,
                              const Buffer<uint64_t> &begins, Partner *partners, uint8_t *taken,
                              const StopFlag &stop, MemoryCounter &memory) {
  Buffer<SortKey> keys(memory);
  for (size_t i = 0; i < count; ++i)
    for (size_t at = begins[rows[i]]; at < begins[rows[i] + 1]; ++at) {
      stop.check_at(at);
      const RankedPair pair = ByLeft::pair(pairs[at]);
      if (pair.similarity > 0) keys.push_back(BySimilarity::key(pair));
    }
  WorkerPool alone(1, stop);
  sort_keys(keys, alone, memory);
  match_in_order(keys.data(), keys.size(), partners, taken, stop);
}

}  // namespace

Assignment assign(Buffer<SortKey> &pairs, uint32_t left_rows, uint32_t right_rows, uint64_t most_looked_at,
                  WorkerPool &pool, MemoryCounter &memory) {
  sort_keys(pairs, pool, memory);
  const Buffer<uint64_t> begins = begins_of_rows(pairs, left_rows, pool.stop(), memory);
  const LeftRows lefts = rows_by_component(
      component_of_rows(pairs, left_rows, right_rows, pool.stop(), memory), pool.stop(), memory);
  Assignment result = {Buffer<Partner>(memory)};
  fill(result.partners, left_rows, {0, Partner::none}, pool);
  Buffer<uint8_t> taken(memory);
  fill(taken, right_rows, uint8_t{0}, pool);
  AssignmentGraph graph(pairs, begins, right_rows, pool, memory);
  std::deque<AssignmentSearch> searches;  // of each worker
  for (int worker = 0; worker < pool.workers(); ++worker)
    searches.emplace_back(graph, most_looked_at, pool.stop(), memory);
  std::atomic<size_t> greedy_components{0};
  pool.parallel_pieces(lefts.components(), 64, [&](int worker, size_t component) {
    const uint32_t *rows = lefts.rows.begin() + lefts.begins[component];
    const size_t count = lefts.begins[component + 1] - lefts.begins[component];
    if (searches[static_cast<size_t>(worker)].assign(rows, count, result.partners.data())) return;
    ++greedy_components;
    match_component_greedily(rows, count, pairs, begins, result.partners.data(), taken.data(), pool.stop(),
                             memory);
  });
  result.greedy_components = greedy_components;
  return result;
}

}  // namespace simjoin
