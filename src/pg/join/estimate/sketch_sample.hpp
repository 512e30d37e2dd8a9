// The sample of a column's sets that its statistics have.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/join/estimate/set_sketch.hpp"

namespace simjoin::pg {

// Gives the sketch its sample and the figures of the most common values. The sketch has the sizes and the
// draws of the tokens already.
void take_sample(HeapTuple statistics, TokenType type, SetSketch *sketch);

}  // namespace simjoin::pg
