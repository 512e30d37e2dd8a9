#include "core/dedup/judged_groups.hpp"

#include <algorithm>
#include <tuple>

#include "core/base/parallel_ranges.hpp"
#include "core/sort/pair_keys.hpp"

namespace simjoin {
namespace {

constexpr double none_similar = -1;

}  // namespace

JudgedGrouper::JudgedGrouper(const uint32_t *places, uint32_t rows, MemoryCounter &memory)
    : places_(places),
      memory_(memory),
      sets_(memory),
      same_(memory),
      pairs_(memory),
      apart_(memory),
      lists_(memory),
      row_at_(memory) {
  sets_.grow(rows);
  row_at_.resize(rows);
  for (uint32_t row = 0; row < rows; ++row) row_at_[places_[row]] = row;
}

JudgedGrouper::Pair JudgedGrouper::pair_of(uint32_t a, uint32_t b) const {
  return {std::min(places_[a], places_[b]), std::max(places_[a], places_[b])};
}

void JudgedGrouper::keep_apart(uint32_t place, uint32_t other) {
  List &list = lists_[place];
  const auto entry = static_cast<uint32_t>(apart_.size());
  apart_.push_back({other, list.first});
  list.first = entry;
  if (list.size++ == 0) list.last = entry;
}

void JudgedGrouper::add_verdict(uint32_t a, uint32_t b, bool same) {
  const Pair pair = pair_of(a, b);
  if (pair.earlier == pair.later) {
    if (!same) ++report_.of_one_row;
    return;
  }
  if (same) {
    same_.push_back(pair);
    return;
  }
  if (lists_.empty()) {
    lists_.resize(row_at_.size());
    std::fill(lists_.begin(), lists_.end(), List{});
  }
  keep_apart(pair.earlier, pair.later);
  keep_apart(pair.later, pair.earlier);
}

void JudgedGrouper::add_pair(uint32_t a, uint32_t b, double similarity) {
  const Pair pair = pair_of(a, b);
  if (pair.earlier != pair.later) pairs_.push_back(BySimilarity::key({pair.earlier, pair.later, similarity}));
}

// Returns whether two components have rows that are different. Looks through the shorter of their lists.
bool JudgedGrouper::are_apart(uint32_t one, uint32_t other) {
  if (lists_[other].size < lists_[one].size) std::swap(one, other);
  for (uint32_t entry = lists_[one].first; entry != none; entry = apart_[entry].next)
    if (sets_.find(apart_[entry].place) == other) return true;
  return false;
}

// Returns false where the pair's rows have to stay apart.
bool JudgedGrouper::unite(const Pair &pair) {
  const uint32_t one = sets_.find(pair.earlier), other = sets_.find(pair.later);
  if (one == other) return true;
  if (!lists_.empty()) {
    if (are_apart(one, other)) return false;
    List &kept = lists_[std::min(one, other)], &added = lists_[std::max(one, other)];
    if (added.size > 0) {
      apart_[added.last].next = kept.first;
      kept = {added.first, kept.size > 0 ? kept.last : added.last, kept.size + added.size};
    }
  }
  sets_.unite(one, other);
  return true;
}

void JudgedGrouper::unite_the_same(const StopFlag &stop) {
  std::sort(same_.begin(), same_.end(), stoppable(stop, [](const Pair &a, const Pair &b) {
              return std::tie(a.earlier, a.later) < std::tie(b.earlier, b.later);
            }));
  for (size_t i = 0; i < same_.size(); ++i) {
    stop.check_at(i);
    const Pair &pair = same_[i];
    if (i > 0 && same_[i - 1].earlier == pair.earlier && same_[i - 1].later == pair.later) continue;
    if (unite(pair)) continue;
    if (report_.contradictions < VerdictReport::most_examples)
      report_.examples[report_.contradictions] = {row_at_[pair.earlier], row_at_[pair.later]};
    ++report_.contradictions;
  }
}

DuplicateGroups JudgedGrouper::groups(WorkerPool &pool) {
  const StopFlag &stop = pool.stop();
  unite_the_same(stop);
  sort_keys(pairs_, pool, memory_);
  const auto rows = static_cast<uint32_t>(row_at_.size());
  DuplicateGroups result(memory_);
  result.similarities.resize(rows);
  std::fill(result.similarities.begin(), result.similarities.end(), none_similar);
  for (size_t i = 0; i < pairs_.size(); ++i) {
    stop.check_at(i);
    const RankedPair pair = BySimilarity::pair(pairs_[i]);
    if (!unite({pair.left, pair.right})) {
      ++report_.refused;
      continue;
    }
    // Pairs come by descending similarity: the first of a row is that with the most similar row of its group.
    for (const uint32_t place : {pair.left, pair.right}) {
      double &similarity = result.similarities[row_at_[place]];
      if (similarity == none_similar) similarity = pair.similarity;
    }
  }
  result.representatives.resize(rows);
  for (uint32_t row = 0; row < rows; ++row) {
    stop.check_at(row);
    const uint32_t first = sets_.find(places_[row]);
    result.representatives[row] = row_at_[first];
    if (first == places_[row]) result.similarities[row] = none_similar;
  }
  return result;
}

}  // namespace simjoin
