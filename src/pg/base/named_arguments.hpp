// The arguments of a call, found by the names of the function's parameters.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "utils/array.h"
#include "utils/jsonb.h"
}

#include <initializer_list>
#include <string_view>

namespace simjoin::pg {

// The names of a function's first parameters.
struct ParameterNames {
  char **names;
  int count;

  // Returns the place of a parameter, from 0; -1 where none has the name.
  int find(std::string_view name) const;
};

// Returns the names of the first `arguments` parameters of a function.
ParameterNames parameter_names(Oid function, int arguments);

// The arguments of a call. The SQL functions of one name are one C function, and each has its arguments in
// other places and leaves others out. Functions that are called for each row should know the places.
class NamedArguments {
 public:
  explicit NamedArguments(FunctionCallInfo fcinfo)
      : call_(fcinfo), names_(parameter_names(fcinfo->flinfo->fn_oid, PG_NARGS())) {}

  // Returns whether the function has a parameter of this name.
  bool has(std::string_view name) const { return names_.find(name) >= 0; }

  // Returns whether the argument is NULL, or missing.
  bool is_null(std::string_view name) const;

  // Errors, naming `function`, if an argument is NULL, other than those of these names. A function of queries
  // that returned no rows then would say that there are no duplicates.
  void refuse_null(const char *function, std::initializer_list<std::string_view> may_be_null) const;

  // Returns the type of the argument in the call.
  Oid type(const char *name) const;

  // Return the argument, which must not be NULL. Errors where the function has none of this name.
  bool boolean(const char *name) const;
  int32 integer(const char *name) const;
  int64 bigint(const char *name) const;
  double real(const char *name) const;
  const char *string(const char *name) const;
  ArrayType *array(const char *name) const;
  Jsonb *jsonb(const char *name) const;
  Oid oid(const char *name) const;

  // Returns a text, or nullptr where it is NULL or missing.
  const char *optional_string(const char *name) const;

 private:
  int place(const char *name) const;
  Datum value(const char *name) const;

  FunctionCallInfo call_;
  ParameterNames names_;
};

}  // namespace simjoin::pg
