#include "pg/join/estimate/sampled_pairs.hpp"

extern "C" {
#include "parser/parsetree.h"
#include "utils/memutils.h"
}

#include <algorithm>
#include <bit>

#include "pg/base/growing_array.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/join/estimate/sampled_sets.hpp"
#include "pg/join/estimate/sampling_rights.hpp"

namespace simjoin::pg {
namespace {

// All of the first candidates are verified, later one in stride.
constexpr uint64 verified_candidates = 4096;
constexpr uint64 verified_stride = 32;
// The right sets that come after so many postings do not count, nor do their rows.
constexpr uint64 enough_postings = 500000;

// A set whose tokens are ranked by frequency, the rarest first.
struct RankedSet {
  uint64 row;
  int64 size;
  const uint32 *ranks;  // ascending
  uint64 parities;      // bit b: whether an odd number of its ranks have the remainder b
};

struct RankedSide {
  double rows, tokens;
  size_t count;
  RankedSet *sets;
};

// What was counted with a bound.
struct CountedPairs {
  Bounds bounds;
  SampledPairs counts;
};

// The samples of a clause's sides.
struct Samples {
  Expr *sets[2];
  const char *why_not;  // there are none
  bool same_table;
  uint32 rank_count;
  RankedSide sides[2];
  List *counted;  // CountedPairs pointers
};

// The samples of the query that is planned.
struct KeptSamples {
  PlannerInfo *root;
  MemoryContext context;
  List *samples;
};
KeptSamples kept_samples;

void forget_samples(void *context) {
  if (kept_samples.context == context) kept_samples = {};
}

void keep_samples_of(PlannerInfo *root) {
  if (kept_samples.root == root) return;
  if (kept_samples.context != nullptr) MemoryContextDelete(kept_samples.context);
  MemoryContext context =
      AllocSetContextCreate(root->planner_cxt, "simjoin: samples of tables", ALLOCSET_DEFAULT_SIZES);
  auto *callback =
      static_cast<MemoryContextCallback *>(MemoryContextAlloc(context, sizeof(MemoryContextCallback)));
  *callback = {forget_samples, context, nullptr};
  MemoryContextRegisterResetCallback(context, callback);
  kept_samples = {root, context, NIL};
}

// A token of one of the drawn sets.
struct DrawnToken {
  TokenKey token;
  uint32 place;  // among the tokens of both sides
};

// Ranks the tokens of both sides by how many sets hold them.
void rank_tokens(const DrawnSets drawn[2], Samples *samples) {
  const size_t left = drawn[0].tokens.size(), count = left + drawn[1].tokens.size();
  auto *tokens = allocate<DrawnToken>(count);
  for (size_t i = 0; i < count; ++i)
    tokens[i] = {i < left ? drawn[0].tokens[i] : drawn[1].tokens[i - left], static_cast<uint32>(i)};
  std::sort(tokens, tokens + count,
            [](const DrawnToken &a, const DrawnToken &b) { return a.token < b.token; });
  struct Frequency {
    size_t begin, count;
  };
  GrowingArray<Frequency> frequencies(CurrentMemoryContext);
  for (size_t i = 0; i < count; ++i) {
    if (i == 0 || tokens[i].token != tokens[i - 1].token) frequencies.append({i, 0});
    ++frequencies.back().count;
  }
  std::sort(frequencies.begin(), frequencies.end(), [](const Frequency &a, const Frequency &b) {
    return a.count < b.count || (a.count == b.count && a.begin < b.begin);
  });
  samples->rank_count = static_cast<uint32>(frequencies.size());
  auto *ranks = allocate_in<uint32>(kept_samples.context, count);
  for (uint32 rank = 0; rank < samples->rank_count; ++rank)
    for (size_t i = 0; i < frequencies[rank].count; ++i)
      ranks[tokens[frequencies[rank].begin + i].place] = rank;
  for (int side = 0; side < 2; ++side) {
    RankedSide *ranked = &samples->sides[side];
    *ranked = {drawn[side].rows, static_cast<double>(drawn[side].tokens.size()), drawn[side].sets.size(),
               allocate_in<RankedSet>(kept_samples.context, drawn[side].sets.size())};
    uint32 *of_side = ranks + (side == 0 ? 0 : left);
    for (size_t i = 0; i < ranked->count; ++i) {
      const DrawnSet &set = drawn[side].sets[i];
      std::sort(of_side + set.begin, of_side + set.begin + set.size);
      uint64 parities = 0;
      for (size_t j = 0; j < set.size; ++j) parities ^= uint64{1} << of_side[set.begin + j] % 64;
      ranked->sets[i] = {set.row, static_cast<int64>(set.size), of_side + set.begin, parities};
    }
  }
}

void draw_samples(PlannerInfo *root, const SimilarityClause &clause, Samples *samples) {
  SetOrigin origins[2];
  for (int side = 0; side < 2 && samples->why_not == nullptr; ++side)
    samples->why_not = why_not_sampled(root, samples->sets[side], &origins[side]);
  if (samples->why_not != nullptr) return;
  samples->same_table = planner_rt_fetch(origins[0].relid, origins[0].root)->relid ==
                        planner_rt_fetch(origins[1].relid, origins[1].root)->relid;
  DrawnSets drawn[2];
  for (int side = 0; side < 2; ++side) {
    if (!draw_sets(origins[side], clause.token_type, &drawn[side]))
      samples->why_not = "no rows could be sampled";
    if (samples->why_not == nullptr && drawn[side].sets.empty()) samples->why_not = "the sample has no sets";
    if (samples->why_not != nullptr) return;
  }
  rank_tokens(drawn, samples);
}

// Returns the samples of the clause's sides, drawn or kept.
Samples *samples_of(PlannerInfo *root, const SimilarityClause &clause) {
  keep_samples_of(root);
  ListCell *cell;
  foreach (cell, kept_samples.samples) {
    auto *samples = static_cast<Samples *>(lfirst(cell));
    if (equal(samples->sets[0], clause.left) && equal(samples->sets[1], clause.right)) return samples;
  }
  MemoryContext work =
      AllocSetContextCreate(CurrentMemoryContext, "simjoin: drawing samples", ALLOCSET_DEFAULT_SIZES);
  MemoryContext caller = MemoryContextSwitchTo(kept_samples.context);
  auto *samples = static_cast<Samples *>(palloc0(sizeof(Samples)));
  samples->sets[0] = static_cast<Expr *>(copyObjectImpl(clause.left));
  samples->sets[1] = static_cast<Expr *>(copyObjectImpl(clause.right));
  MemoryContextSwitchTo(work);
  draw_samples(root, clause, samples);
  MemoryContextSwitchTo(kept_samples.context);
  kept_samples.samples = lappend(kept_samples.samples, samples);
  MemoryContextSwitchTo(caller);
  MemoryContextDelete(work);
  return samples;
}

int64 overlap_of(const RankedSet &a, const RankedSet &b) {
  int64 shared = 0;
  for (int64 i = 0, j = 0; i < a.size && j < b.size;) {
    if (a.ranks[i] == b.ranks[j]) {
      ++shared, ++i, ++j;
    } else if (a.ranks[i] < b.ranks[j]) {
      ++i;
    } else {
      ++j;
    }
  }
  return shared;
}

// A left set with a token in its prefix.
struct Posting {
  uint32 set;
  uint32 place;  // of the token in the set
};

// The left sets by the tokens of their prefixes.
struct Postings {
  size_t *begin;  // of each rank, and the end of the last one
  Posting *entries;
};

int64 prefix_of(const RankedSet &set, const Bounds &bounds) {
  return Min(bounds.prefix_length(set.size, bounds.min_partner(set.size)), set.size);
}

Postings index_prefixes(const Samples &samples, const Bounds &bounds) {
  const RankedSide &side = samples.sides[0];
  Postings postings = {allocate<size_t>(samples.rank_count + size_t{1}), nullptr};
  std::fill_n(postings.begin, samples.rank_count + size_t{1}, 0);
  for (size_t i = 0; i < side.count; ++i)
    for (int64 j = prefix_of(side.sets[i], bounds); j-- > 0;) ++postings.begin[side.sets[i].ranks[j]];
  for (uint32 rank = 0; rank < samples.rank_count; ++rank) postings.begin[rank + 1] += postings.begin[rank];
  postings.entries = allocate<Posting>(postings.begin[samples.rank_count]);
  for (size_t i = 0; i < side.count; ++i)
    for (int64 j = prefix_of(side.sets[i], bounds); j-- > 0;)
      postings.entries[--postings.begin[side.sets[i].ranks[j]]] = {static_cast<uint32>(i),
                                                                   static_cast<uint32>(j)};
  return postings;
}

void count_pairs(const Samples &samples, const Bounds &bounds, SampledPairs *counts) {
  const RankedSide &left = samples.sides[0], &right = samples.sides[1];
  const Postings postings = index_prefixes(samples, bounds);
  const Bounds reversed = bounds.reversed();
  auto *seen = allocate<size_t>(left.count);  // the last right set, from 1, that a left set was found with
  std::fill_n(seen, left.count, 0);
  uint64 postings_met = 0, candidates = 0, similar = 0;
  size_t i = 0;
  for (; i < right.count && postings_met < enough_postings; ++i) {
    check_interrupts();
    const RankedSet &set = right.sets[i];
    const int64 prefix = prefix_of(set, reversed);
    for (int64 j = 0; j < prefix; ++j) {
      for (size_t k = postings.begin[set.ranks[j]]; k < postings.begin[set.ranks[j] + 1]; ++k) {
        const Posting &posting = postings.entries[k];
        const RankedSet &other = left.sets[posting.set];
        ++postings_met;
        if (seen[posting.set] == i + 1) continue;
        seen[posting.set] = i + 1;
        if (samples.same_table && other.row == set.row) continue;
        // This is the first token that they share, so no more can follow than both have left. Parities differ
        // in one bit at most for each token that only one of them has.
        const int64 needed = bounds.min_overlap(other.size, set.size);
        if (Min(other.size - posting.place, set.size - j) < needed) continue;
        if (std::popcount(other.parities ^ set.parities) > other.size + set.size - 2 * needed) continue;
        const uint64 stride = candidates++ < verified_candidates ? 1 : verified_stride;
        if (candidates % stride == 0 && overlap_of(other, set) >= needed) similar += stride;
      }
    }
  }
  *counts = {left.rows * right.rows * static_cast<double>(i) / static_cast<double>(right.count),
             static_cast<double>(postings_met),
             static_cast<double>(candidates),
             static_cast<double>(similar),
             {left.tokens / left.rows, right.tokens / right.rows}};
}

}  // namespace

const char *count_sampled_pairs(PlannerInfo *root, const SimilarityClause &clause, const Bounds &bounds,
                                SampledPairs *counts) {
  Samples *samples = samples_of(root, clause);
  if (samples->why_not != nullptr) return samples->why_not;
  ListCell *cell;
  foreach (cell, samples->counted) {
    const auto *counted = static_cast<const CountedPairs *>(lfirst(cell));
    if (counted->bounds.measure() != bounds.measure() || counted->bounds.threshold() != bounds.threshold())
      continue;
    *counts = counted->counts;
    return nullptr;
  }
  MemoryContext work =
      AllocSetContextCreate(CurrentMemoryContext, "simjoin: counting samples", ALLOCSET_DEFAULT_SIZES);
  MemoryContext caller = MemoryContextSwitchTo(work);
  count_pairs(*samples, bounds, counts);
  MemoryContextSwitchTo(kept_samples.context);
  auto *counted = static_cast<CountedPairs *>(palloc(sizeof(CountedPairs)));
  *counted = {bounds, *counts};
  samples->counted = lappend(samples->counted, counted);
  MemoryContextSwitchTo(caller);
  MemoryContextDelete(work);
  return nullptr;
}

}  // namespace simjoin::pg
