#include "core/matching/match_finder.hpp"

#include <cmath>
#include <cstdio>

#include "core/base/error.hpp"
#include "core/base/parallel_ranges.hpp"
#include "core/matching/greedy.hpp"

namespace simjoin {
namespace {

constexpr double no_similarity = -1;

[[noreturn]] void throw_similarity(double similarity) {
  char message[80];
  std::snprintf(message, sizeof message, "the similarity of a pair is %g", similarity);
  throw Error(
      ErrorKind::invalid_argument, message,
      "Similarities are finite numbers that are not negative. Of a distance give 1 / (1 + distance).");
}

// Returns the numbers of ids in the ascending order of these.
Buffer<uint32_t> numbers_in_order(const NodeNumbers &numbers, WorkerPool &pool, MemoryCounter &memory) {
  Buffer<uint32_t> rank_of(memory);
  sorted_nodes(numbers, rank_of, pool, memory);
  Buffer<uint32_t> order(memory, rank_of.size());
  for (uint32_t number = 0; number < rank_of.size(); ++number) {
    pool.stop().check_at(number);
    order[rank_of[number]] = number;
  }
  return order;
}

// Replaces the numbers of the pairs by ranks, and makes them keys of this kind.
template <class Keys>
void rank_pairs(Buffer<SortKey> &pairs, const Buffer<uint32_t> &left_rank, const Buffer<uint32_t> &right_rank,
                WorkerPool &pool) {
  for_ranges(pool, pairs.size(), entries_per_range, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const RankedPair pair = ByLeft::pair(pairs[i]);
      pairs[i] = Keys::key({left_rank[pair.left], right_rank[pair.right], pair.similarity});
    }
  });
}

}  // namespace

MatchFinder::MatchFinder(MatchMethod method, MemoryCounter &memory, uint64_t most_looked_at)
    : method_(method),
      most_looked_at_(most_looked_at),
      memory_(memory),
      held_left_(memory, most_held),
      held_right_(memory, most_held),
      held_similarities_(memory, most_held),
      left_(memory),
      right_(memory),
      left_best_(memory),
      right_best_(memory),
      pairs_(memory) {}

void MatchFinder::add(int64_t left, int64_t right, double similarity) {
  if (!(similarity >= 0) || std::isinf(similarity)) throw_similarity(similarity);
  held_left_[held_] = left;
  held_right_[held_] = right;
  held_similarities_[held_] = similarity + 0.0;  // -0 becomes 0
  if (++held_ == most_held) absorb();
}

void MatchFinder::improve(Best &best, double similarity, int64_t partner) {
  if (similarity > best.similarity || (similarity == best.similarity && partner < best.partner))
    best = {similarity, partner};
}

// Numbers the rows of the pairs that are held, and adds these to what is kept.
void MatchFinder::absorb() {
  uint32_t left[most_held], right[most_held];
  left_.numbers_of(held_left_.data(), held_, left);
  if (method_ != MatchMethod::best) right_.numbers_of(held_right_.data(), held_, right);
  if (method_ == MatchMethod::one_to_one || method_ == MatchMethod::assignment) {
    SortKey *pairs = pairs_.extend(held_);
    for (size_t i = 0; i < held_; ++i) pairs[i] = ByLeft::key({left[i], right[i], held_similarities_[i]});
    held_ = 0;
    return;
  }
  while (left_best_.size() < left_.count()) left_best_.push_back({no_similarity, 0});
  while (right_best_.size() < right_.count()) right_best_.push_back({no_similarity, 0});
  for (size_t i = 0; i < held_; ++i) {
    improve(left_best_[left[i]], held_similarities_[i], held_right_[i]);
    if (method_ == MatchMethod::mutual) improve(right_best_[right[i]], held_similarities_[i], held_left_[i]);
  }
  held_ = 0;
}

Matches MatchFinder::best_matches(WorkerPool &pool) {
  const Buffer<uint32_t> order = numbers_in_order(left_, pool, memory_);
  Matches matches(memory_);
  for (size_t i = 0; i < order.size(); ++i) {
    pool.stop().check_at(i);
    const Best &best = left_best_[order[i]];
    const int64_t left = left_.nodes()[order[i]];
    if (method_ == MatchMethod::best || right_best_[right_.number_of(best.partner)].partner == left)
      matches.add(left, best.partner, best.similarity);
  }
  return matches;
}

Matches MatchFinder::exclusive_matches(WorkerPool &pool) {
  Buffer<uint32_t> left_rank(memory_), right_rank(memory_);
  const Buffer<int64_t> left = sorted_nodes(left_, left_rank, pool, memory_);
  const Buffer<int64_t> right = sorted_nodes(right_, right_rank, pool, memory_);
  left_.release();
  right_.release();
  const auto lefts = static_cast<uint32_t>(left.size()), rights = static_cast<uint32_t>(right.size());
  const bool greedy = method_ == MatchMethod::one_to_one;
  greedy ? rank_pairs<BySimilarity>(pairs_, left_rank, right_rank, pool)
         : rank_pairs<ByLeft>(pairs_, left_rank, right_rank, pool);
  left_rank.release();
  right_rank.release();
  const Assignment found = greedy ? Assignment{match_greedily(pairs_, lefts, rights, pool, memory_)}
                                  : assign(pairs_, lefts, rights, most_looked_at_, pool, memory_);
  pairs_.release();
  Matches matches(memory_);
  matches.greedy_components = found.greedy_components;
  for (size_t i = 0; i < left.size(); ++i) {
    pool.stop().check_at(i);
    const Partner &partner = found.partners[i];
    if (partner.right != Partner::none) matches.add(left[i], right[partner.right], partner.similarity);
  }
  return matches;
}

Matches MatchFinder::matches(WorkerPool &pool) {
  absorb();
  if (method_ == MatchMethod::best || method_ == MatchMethod::mutual) return best_matches(pool);
  return exclusive_matches(pool);
}

}  // namespace simjoin
