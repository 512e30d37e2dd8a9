#include "pg/join/estimate/sum_arms.hpp"

extern "C" {
#include "nodes/makefuncs.h"
#include "optimizer/restrictinfo.h"
}

#include <cmath>
#include <limits>

#include "pg/join/clause/implied.hpp"
#include "pg/join/clause/sums.hpp"
#include "pg/join/estimate/driving_clause.hpp"
#include "pg/join/estimate/sampled_pairs.hpp"
#include "pg/join/estimate/selectivity.hpp"

namespace simjoin::pg {
namespace {

constexpr int most_arms = 6;  // further terms count as what others can add
constexpr int levels = 5;     // of a similarity, at which pairs are estimated
constexpr int units = 32;     // that a gain is split into
constexpr double least_share = 1e-15;
constexpr double impossible = std::numeric_limits<double>::infinity();

// A term of the sum that may stand in the disjunction.
struct Arm {
  const Term *term;
  double most;               // similarity that is estimated
  double pairs[levels + 1];  // the share of the pairs that are as similar as 0, ..., most

  double pairs_of(double similarity) const;
};

// Between two levels, the logarithm of the share is taken for linear.
double Arm::pairs_of(double similarity) const {
  const double place = similarity / most * levels;
  const int below = Min(static_cast<int>(place), levels - 1);
  return pairs[below] * std::pow(pairs[below + 1] / pairs[below], place - below);
}

// A way to split what terms must add to the sum.
struct Split {
  double pairs;             // the sum of the arms' shares of the pairs
  double gains[most_arms];  // what an arm adds; 0 where it is not in the disjunction
};

// Returns the split of the gain among a set of arms that has the fewest pairs.
Split split_gain(const Arm *arms, int count, uint32 set, double gain) {
  double best[units + 1];  // the fewest pairs, by the units that the arms so far have
  int taken[most_arms][units + 1];
  for (int unit = 0; unit <= units; ++unit) best[unit] = unit == 0 ? 0 : impossible;
  for (int i = 0; i < count; ++i) {
    if ((set >> i & 1) == 0) continue;
    double pairs[units + 1];  // of this arm
    for (int own = 1; own <= units; ++own) {
      const double similarity = gain * own / units / arms[i].term->weight();
      pairs[own] = similarity > arms[i].most ? impossible : arms[i].pairs_of(similarity);
    }
    for (int all = units; all >= 0; --all) {  // descending, so that fewer units are still without this arm
      double fewest = impossible;
      for (int own = 1; own <= all; ++own) {
        if (best[all - own] + pairs[own] >= fewest) continue;
        fewest = best[all - own] + pairs[own];
        taken[i][all] = own;
      }
      best[all] = fewest;
    }
  }
  Split split = {best[units], {}};
  for (int i = count - 1, left = units; i >= 0 && split.pairs < impossible; --i) {
    if ((set >> i & 1) == 0) continue;
    split.gains[i] = gain * taken[i][left] / units;
    left -= taken[i][left];
  }
  return split;
}

// Returns the share of the pairs that satisfy the clause or, by a sample, are its candidates. Returns false
// where there is no sample.
bool estimate_level(PlannerInfo *root, const SimilarityClause &clause, bool by_sample, double *share) {
  *share = Max(pair_selectivity(root, clause, nullptr), least_share);
  if (!by_sample) return true;
  SimilarityClause described;
  SampledPairs sample;
  if (!describe_similarity_clause(root, clause.rinfo, &described) ||
      count_sampled_pairs(root, described, planned_bounds(described), &sample) != nullptr)
    return false;
  *share = sample.share_of(sample.candidates, *share);
  return true;
}

// Gives the arms their shares of the pairs. Returns false where one has no sample.
bool estimate_arms(PlannerInfo *root, const Sum &sum, Arm *arms, int count, bool by_sample) {
  for (Arm *arm = arms; arm != arms + count; ++arm) {
    arm->pairs[0] = 1;
    for (int level = 1; level <= levels; ++level) {
      SimilarityClause clause;
      const double gain = arm->term->weight() * arm->most * level / levels;
      arm->pairs[level] = 1;
      if (bound_term(root, sum, *arm->term, gain, &clause) &&
          !estimate_level(root, clause, by_sample, &arm->pairs[level]))
        return false;
    }
  }
  return true;
}

// Finds the terms that can be arms. Takes from the gain what all other terms can add, and returns how many
// arms there are.
int find_arms(PlannerInfo *root, const Sum &sum, RelOptInfo *outer, RelOptInfo *inner, Arm *arms,
              double *gain) {
  int count = 0;
  const double needed = *gain;
  ListCell *cell;
  foreach (cell, sum.terms) {
    auto *term = static_cast<const Term *>(lfirst(cell));
    if (!term->rises()) continue;
    SimilarityClause clause = term->call;
    if (count < most_arms && assign_sides(root, outer, inner, call_arguments(clause.call), &clause))
      arms[count++] = {term, Min(term->most(), needed / term->weight()), {}};
    else
      *gain -= term->weight() * term->most();
  }
  return count;
}

// Returns the best split among all sets of at least two arms. The others can add to the sum what they have.
Split best_split(const Arm *arms, int count, double gain) {
  Split best = {impossible, {}};
  for (uint32 set = 0; set < 1U << count; ++set) {
    if ((set & (set - 1)) == 0) continue;
    double rest = gain;
    for (int i = 0; i < count; ++i)
      if ((set >> i & 1) == 0) rest -= arms[i].term->weight() * arms[i].term->most();
    if (!(rest > 0)) continue;
    const Split split = split_gain(arms, count, set, rest);
    if (split.pairs < best.pairs) best = split;
  }
  return best;
}

// Returns a disjunction that keeps its place behind the conditions of security barriers.
RestrictInfo *make_disjunction(PlannerInfo *root, List *clauses, Index security_level) {
  RestrictInfo *disjunction = make_simple_restrictinfo(root, make_orclause(clauses));
  disjunction->security_level = security_level;
  ListCell *cell;
  foreach (cell, castNode(BoolExpr, disjunction->orclause)->args) {
    SimilarityClause arm = {};
    arm.rinfo = lfirst_node(RestrictInfo, cell);
    arm.rinfo->security_level = security_level;
    pair_selectivity(root, arm, nullptr);  // which notes it
  }
  return disjunction;
}

// Returns the disjunction that `greater >= lesser` implies.
RestrictInfo *disjunction_of(PlannerInfo *root, Node *greater, Node *lesser, Index security_level,
                             RelOptInfo *outer, RelOptInfo *inner) {
  Sum sum;
  if (!describe_difference(greater, lesser, &sum)) return nullptr;
  Arm arms[most_arms];
  double gain = needed_gain(sum);
  const int count = find_arms(root, sum, outer, inner, arms, &gain);
  if (count < 2 || !(gain > 0)) return nullptr;
  const bool by_sample = outer != nullptr && worth_sample(outer->rows * inner->rows);
  if (!estimate_arms(root, sum, arms, count, by_sample)) estimate_arms(root, sum, arms, count, false);
  const Split split = best_split(arms, count, gain);
  List *clauses = NIL;
  for (int i = 0; i < count; ++i) {
    if (split.gains[i] == 0) continue;
    SimilarityClause clause;
    if (!bound_term(root, sum, *arms[i].term, split.gains[i], &clause)) return nullptr;
    clauses = lappend(clauses, clause.rinfo->clause);
  }
  return clauses == NIL ? nullptr : make_disjunction(root, clauses, security_level);
}

}  // namespace

RestrictInfo *implied_disjunction(PlannerInfo *root, RestrictInfo *rinfo, RelOptInfo *outer,
                                  RelOptInfo *inner) {
  auto *clause = reinterpret_cast<Node *>(rinfo->clause);
  Node *greater, *lesser;
  const bool equality = describe_equality(clause, &greater, &lesser);
  if (!equality && !describe_order(clause, &greater, &lesser)) return nullptr;
  RestrictInfo *implied = disjunction_of(root, greater, lesser, rinfo->security_level, outer, inner);
  return implied == nullptr && equality
             ? disjunction_of(root, lesser, greater, rinfo->security_level, outer, inner)
             : implied;
}

}  // namespace simjoin::pg
