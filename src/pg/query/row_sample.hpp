// A random sample of the sets of a query's rows, kept while the rows come in.
#pragma once

#include "pg/base/pg.hpp"

#include "core/base/memory.hpp"
#include "pg/base/growing_array.hpp"
#include "pg/computation/engine.hpp"
#include "pg/sets/set_codec.hpp"

namespace simjoin::pg {

struct SampledSet {
  uint64 priority;
  uint32 row;
  ArrayType *set;  // a copy; nullptr where the set is empty
};

// The rows with the smallest priorities, as a heap with the largest on top. Priorities are hashes of a number
// of each row, so the sample depends on these numbers and on the seed only.
struct RowSample {
  uint32 most;  // rows
  uint64 seed;
  MemoryContext context;  // of the copies
  MemoryCounter *memory;
  GrowingArray<SampledSet> rows;
};

// Returns an empty sample in the context. It errors where copies need more memory than the counter allows.
RowSample *create_row_sample(uint32 most, uint64 seed, MemoryContext context, MemoryCounter *memory);

// Returns whether the sample would take the next row.
bool would_take(const RowSample &sample, int64 number, uint32 row);

// Offers the next row to the sample. `number` is different for each row.
void offer_row(RowSample *sample, int64 number, uint32 row, const SetView &set);

// Feeds a side of the engine with the sets of the sample, in the order of their rows, and frees them.
void feed_sample(RowSample *sample, JoinEngine *engine, File *spill_file, Side side, TokenType type);

}  // namespace simjoin::pg
