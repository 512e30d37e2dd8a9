// Arguments of SQL functions, and their checks.
#pragma once

#include "pg/base/pg.hpp"

#include <initializer_list>
#include <span>
#include <string_view>

#include "core/measure.hpp"
#include "pg/base/set_codec.hpp"

namespace simjoin::pg {

// Returns a text argument of the call, which must not be NULL.
const char *string_argument(FunctionCallInfo fcinfo, int number);

// Returns whether an argument is NULL, other than those that may be.
bool any_null(FunctionCallInfo fcinfo, std::initializer_list<int> may_be_null);

// Errors, naming `function`: the value of the argument is not valid. `hint` says what it may be.
[[noreturn]] void raise_argument(const char *function, const char *argument, const char *value,
                                 const char *hint);
[[noreturn]] void raise_argument(const char *function, const char *argument, double value, const char *hint);

// Errors, naming `function`, unless the value of the argument is from 1 to `most`. The hint may have a %u for
// `most`.
void check_count(int32 value, uint32 most, const char *function, const char *argument, const char *hint);

// Errors, naming `function`, unless the value of the argument is above 0 and at most 1.
void check_share(double value, const char *function, const char *argument);

// Errors, naming `function`, unless pairs of this similarity can exist and share an element; `zero_allowed`:
// a similarity of 0 is valid, too.
void check_similarity(double value, Measure measure, const char *function, const char *argument = "threshold",
                      bool zero_allowed = false);

// Returns the position of the name among the names. Errors, naming `function`, where it is not there: `what`
// is unknown.
size_t number_of_name(const char *name, std::span<const std::string_view> names, const char *function,
                      const char *what, const char *hint);

// Returns the measure of this name. Errors, naming `function`, where there is none.
Measure measure_by_name(const char *name, const char *function);

// Returns the token type of an argument of the call that only stands for its type, as in NULL::int[]. Errors,
// naming `function`, where sets cannot be of that type.
TokenType kind_argument(FunctionCallInfo fcinfo, int number, const char *function);

}  // namespace simjoin::pg
