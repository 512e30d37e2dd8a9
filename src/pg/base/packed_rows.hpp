// Rows of values that are passed by value, packed without gaps: a few bytes each.
#pragma once

#include "pg/base/pg.hpp"

namespace simjoin::pg {

// Returns the bytes of a packed row with these columns. Returns 0 where a column is not passed by value, and
// without columns.
uint32_t packed_row_bytes(TupleDesc descriptor);

void pack_row(TupleDesc descriptor, const Datum *values, const bool *nulls, char *row);
void unpack_row(TupleDesc descriptor, const char *row, Datum *values, bool *nulls);

}  // namespace simjoin::pg
