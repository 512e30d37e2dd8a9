// Arguments of SQL functions, and their checks.
#pragma once

#include "pg/base/pg.hpp"

#include <span>
#include <string_view>

#include "core/measure.hpp"

namespace simjoin::pg {

// Returns a text argument of the call, which must not be NULL.
const char *string_argument(FunctionCallInfo fcinfo, int number);

// Errors, naming `function`: the value of the argument is not valid. `hint` says what it may be.
[[noreturn]] void raise_argument(const char *function, const char *argument, const char *value,
                                 const char *hint);
[[noreturn]] void raise_argument(const char *function, const char *argument, double value, const char *hint);

// Errors, naming `function`, unless the value of the argument is from 1 to `most`. The hint may have a %u for
// `most`.
void check_count(int32 value, uint32 most, const char *function, const char *argument, const char *hint);

// Errors, naming `function`, unless the value of the argument is above 0 and at most 1.
void check_share(double value, const char *function, const char *argument);

// Returns the largest similarity that two sets can have.
double largest_similarity(Measure measure);

// Returns whether pairs of this similarity can exist and share an element.
bool is_similarity(double value, Measure measure);

// Errors, naming `function`, unless pairs of this similarity can exist and share an element. `zero_allowed`
// says that a similarity of 0 is valid as well.
void check_similarity(double value, Measure measure, const char *function, const char *argument = "threshold",
                      bool zero_allowed = false);

// Returns the position of the name among the names. Where the name is missing, errors, naming `function`:
// "unknown", and `what` the name should be of.
size_t number_of_name(const char *name, std::span<const std::string_view> names, const char *function,
                      const char *what, const char *hint);

// Return the name of the SQL function of a measure, and of that of a measure of sets with weights, which is
// jaccard or cosine.
const char *measure_function(Measure measure);
const char *weighted_function(Measure measure);

// Returns the measure of this name, for which the order of two sets does not matter. Errors, naming
// `function`, where no measure has the name or the order matters.
Measure symmetric_measure_by_name(const char *name, const char *function);

// The same of the measures of an index: containment as well, of the query in the sets of the index.
Measure index_measure_by_name(const char *name, const char *function);

// A measure for the rows of queries.
struct RowMeasure {
  Measure measure;         // `jaccard` or `cosine` where weighted
  bool weighted;           // tokens have weights
  bool by_rarity = false;  // which come from all sets of the call (core/base/weight.hpp), not from its rows

  // Returns whether rows have weights beside their sets.
  bool has_weights_in_rows() const { return weighted && !by_rarity; }
};

// Returns the name of the measure as users know it.
const char *row_measure_name(RowMeasure measure);

// Returns the measure of this name, with weights or without. Errors, naming `function`, where no measure has
// it.
RowMeasure row_measure_by_name(const char *name, const char *function);

// As row_measure_by_name(), of the measures for which the order of two sets does not matter.
RowMeasure symmetric_row_measure_by_name(const char *name, const char *function);

// As that, of the measures by which two rows stay as similar when others come: not those by rarity.
RowMeasure lasting_row_measure_by_name(const char *name, const char *function);

// As check_similarity() above.
void check_similarity(double value, const RowMeasure &measure, const char *function,
                      const char *argument = "threshold", bool zero_allowed = false);

}  // namespace simjoin::pg
