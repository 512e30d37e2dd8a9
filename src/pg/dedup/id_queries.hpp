// SQL that finds rows of a dedup view by their ids. Other parts know an id that is no integer, a key, by a
// number: the table of rows has both, and an index on each.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "access/tupdesc.h"
}

#include "pg/dedup/definition.hpp"

namespace simjoin::pg {

// Returns whether rows can be found by many keys of this type at once.
bool can_look_up(Oid key_type);

// Returns the condition that the table of changes has noted the key `id`, an expression.
const char *is_noted_key(const DedupDefinition &definition, const char *id);

// Returns the condition that the array $1 has the number of `id`. An integer is its own number.
const char *is_of_numbers(const DedupDefinition &definition, const char *id);

// Returns the expression for the number of `id`. It is NULL if there is none.
const char *number_of(const DedupDefinition &definition, const char *id);

// Returns the expression for the number of `id` if the table of rows has it, else for NULL. Keys are compared
// by this collation, that of the table.
const char *stored_number_of(const DedupDefinition &definition, const char *id, Oid collation);

// Returns the query for the rows of the view's query whose keys are noted.
const char *noted_rows_of_source(const DedupDefinition &definition);

// Returns the query for the rows of the view's query for whose ids the numbers in the array $1 stand. In
// place of a key they have its number. `columns` are those of the view's query.
const char *some_rows_of_source(const DedupDefinition &definition, TupleDesc columns);

// Returns the query for how many distinct keys are noted. It counts no more than `most`.
const char *count_of_noted_keys(const DedupDefinition &definition, size_t most);

}  // namespace simjoin::pg
