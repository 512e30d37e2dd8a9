// An index on sets, read directly: the places of rows in any state, which no query would show.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/tidbitmap.h"
#include "utils/relcache.h"
}

#include "core/measure.hpp"

namespace simjoin::pg {

// What similar sets are looked for: at least this similar to `set`, an array.
struct SoughtSets {
  Datum set;
  Measure measure;
  double threshold;
};

// Returns the places of all rows whose sets can be similar, nullptr where no index of the table has all its
// sets of this column. The result is in the current memory context.
TIDBitmap *find_places(Relation table, AttrNumber column, const SoughtSets &sought);

// Returns whether an index of the table serves to look for such sets in the column, where they have some tens
// of tokens.
bool has_index(Relation table, AttrNumber column, Measure measure, double threshold);

}  // namespace simjoin::pg
