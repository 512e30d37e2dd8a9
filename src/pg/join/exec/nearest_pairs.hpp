// What the planner tells the node NearestPairs, and what that tells the join below it.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/extensible.h"
#include "nodes/plannodes.h"
}

#include "core/measure.hpp"

namespace simjoin::pg {

// The plan of the node. Of its children, the first one sorts the pairs of a join with a threshold, and the
// second one sorts all pairs. Where pairs of equal similarity may come in any order, a third one joins
// without a sort: as soon as there are as many copies as are asked for, that is all there is to do.
struct NearestPairsPlan {
  Measure measure;
  bool distance;      // pairs come by ascending distance
  bool nulls_first;   // and first of all pairs of sets that are NULL
  AttrNumber column;  // of the children's output: the similarity or the distance
  int first_step;     // 1 without the third child
  int steps;          // from 0 on, those with a threshold
  int most_rows;      // that are asked for; 0 where this is not known
  int most_pairs;     // that all searches may look at in vain; 0 for any number
};

List *encode_nearest_pairs(const NearestPairsPlan &plan);

// Returns the threshold of a step: of the similarity, or of the distance. That of step 0 is the greatest
// similarity, which an overlap does not have.
double threshold_of_step(Measure measure, bool distance, int step);

// Returns how many steps there are.
int count_steps(Measure measure);

// What a join below the node looks for.
struct PairSearch {
  double threshold;
  bool nulls;         // pairs of sets that are NULL as well
  int64 *pairs_left;  // counted down by pairs that do not meet the conditions and up by others; the join
                      // ends below 0. NULL for any number
};

// Returns what the node that runs looks for. Called by a join below it.
PairSearch current_pair_search();

// CreateCustomScanState of the node.
Node *create_nearest_pairs_state(CustomScan *plan);

}  // namespace simjoin::pg
