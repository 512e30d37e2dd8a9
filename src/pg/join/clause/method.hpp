// How the join operator finds similar pairs: exactly, or by bands of MinHash signatures where simjoin.method
// asks for it and it is possible.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/nodes.h"
}

#include "core/lsh/lsh_join.hpp"
#include "pg/base/arguments.hpp"

namespace simjoin::pg {

struct JoinMethod {
  bool by_bands;
  const char *refused;  // why the join is not by bands although the settings ask for it; else NULL
  BandPlan plan;        // this and the next are set where by_bands is
  double recall;        // the least probability that a pair exactly on the threshold is found
};

// Returns how the settings want a join of this kind to be done.
JoinMethod choose_method(Measure measure, double threshold, JoinType jointype, bool weighted);

// Returns whether one side of such a join may be indexed while the other one streams past it, if it turns out
// to be small. A GPU or an algorithm that the user asked for has the join itself.
bool may_stream(const JoinMethod &method, double threshold, bool same_rows);

// Returns the specification of a join by the method's bands. The rest comes from the settings.
LshSpec band_join_spec(const JoinMethod &method, RowMeasure measure, double threshold, bool self_join,
                       size_t memory_limit);

// Returns the percentage of all comparisons that it would take to compare each row of the bucket with each.
double share_of_comparisons(const ChainedBucket &bucket, const LshStats &stats);

// Returns the largest chained buckets as a line of text, palloc'ed: their rows and their shares of the
// comparisons.
char *largest_buckets(const LshStats &stats);

// Tells the user, by a NOTICE that begins with `who`, where buckets of a join by bands were chained.
void report_chained_buckets(const LshStats &stats, const char *who);

}  // namespace simjoin::pg
