// From probes to the pairs that may qualify: look-ups of their tokens, and comparisons of what these find.
#pragma once

#include <cstdint>

#include "core/weighted/weighted_bounds.hpp"
#include "core/weighted/weighted_device.hpp"
#include "cuda/base/device.hpp"
#include "cuda/weighted/weighted_lists.hpp"

namespace simjoin::gpu {

// One look-up of a probe's token: the part of a list that it visits.
struct WeightedLookup {
  uint64_t posting;  // the first one
  double least;      // the least excess with which an index set can be the partner
  uint32_t probe;
  uint32_t rank;
};

struct WeightedCounters {
  unsigned long long compatible;  // pairs of compatible totals
  unsigned long long candidates;  // pairs that were compared
  unsigned long long found;       // pairs that may qualify, also those beyond the room for them
};

// What the kernels of one join read.
struct WeightedJob {
  WeightedView probes;
  WeightedView index;
  const WeightedPosting *postings;
  const uint64_t *starts;
  WeightedBounds bounds;
  bool self_join;  // a probe's partners come before it
};

// The look-ups of some consecutive probes, one for each token.
struct WeightedLookups {
  const WeightedLookup *lookups;
  const uint64_t *offsets;  // the postings that the look-ups before visit
  uint64_t count;
};

// Room for pairs.
struct WeightedPairs {
  WeightedPair *pairs;
  uint64_t capacity;
  WeightedCounters *counters;
};

// Makes the look-ups of the probes [first, end), and counts the postings that each visits.
void launch_look_up(const Device &device, const WeightedJob &job, uint32_t first, uint32_t end,
                    WeightedLookup *lookups, uint32_t *lengths, WeightedCounters *counters);

// Visits the postings [begin, end) of all that the look-ups visit. Appends each pair that may qualify once. A
// block takes `item` postings at a time.
void launch_filter(const Device &device, const WeightedJob &job, const WeightedLookups &lookups,
                   uint64_t begin, uint64_t end, uint32_t item, const WeightedPairs &pairs);

}  // namespace simjoin::gpu
