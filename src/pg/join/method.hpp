// How the join operator finds similar pairs: exactly, or by bands of MinHash signatures where simjoin.method
// asks for that and it makes sense.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/nodes.h"
}

#include "core/lsh/lsh_join.hpp"

namespace simjoin::pg {

struct JoinMethod {
  bool by_bands;
  const char *refused;  // why not, where the settings ask for it, as a constant; else NULL
  BandPlan plan;        // where by bands, as the following
  double recall;        // the probability that a pair exactly on the threshold is found, at least
};

// Returns how the settings want a join of this kind to be done.
JoinMethod choose_method(Measure measure, double threshold, JoinType jointype);

// Returns the specification of a join by the method's bands, the rest from the settings.
LshSpec band_join_spec(const JoinMethod &method, Measure measure, double threshold, bool self_join);

// Returns how many percent of all comparisons it would be to compare each row of a chained bucket with each.
double share_of_comparisons(const ChainedBucket &bucket, const LshStats &stats);

// Returns the largest chained buckets as a line of text, palloc'ed: rows, and that share.
char *largest_buckets(const LshStats &stats);

// Tells the user, by a NOTICE that begins with `who`, where buckets of a join by bands were chained.
void report_chained_buckets(const LshStats &stats, const char *who);

}  // namespace simjoin::pg
