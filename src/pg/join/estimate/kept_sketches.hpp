// The sketches of columns that a session keeps.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/join/estimate/set_sketch.hpp"

namespace simjoin::pg {

// Returns whether a sketch of the statistics can be kept: those that a hook made up have no place in
// pg_statistic.
bool can_be_kept(HeapTuple statistics);

// Returns the kept sketch of these statistics, NULL where none is kept.
const SetSketch *find_kept_sketch(HeapTuple statistics, TokenType type);

// Keeps a sketch that lies in a context of its own. It replaces the sketch that has not been asked for for
// the longest time.
void keep_sketch(HeapTuple statistics, TokenType type, MemoryContext context, const SetSketch *sketch);

}  // namespace simjoin::pg
