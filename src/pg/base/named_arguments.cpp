#include "pg/base/named_arguments.hpp"

extern "C" {
#include "catalog/pg_proc.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/syscache.h"
}

#include <algorithm>

namespace simjoin::pg {

int ParameterNames::find(std::string_view name) const {
  for (int i = 0; i < count; ++i)
    if (name == names[i]) return i;
  return -1;
}

ParameterNames parameter_names(Oid function, int arguments) {
  HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
  if (!HeapTupleIsValid(tuple)) return {nullptr, 0};
  Oid *types;
  char **names = nullptr, *modes;
  const int count = get_func_arg_info(tuple, &types, &names, &modes);
  ReleaseSysCache(tuple);
  return {names, names == nullptr ? 0 : std::min(count, arguments)};
}

bool NamedArguments::is_null(std::string_view name) const {
  const int number = names_.find(name);
  return number < 0 || call_->args[number].isnull;
}

void NamedArguments::refuse_null(const char *function,
                                 std::initializer_list<std::string_view> may_be_null) const {
  for (int i = 0; i < names_.count; ++i)
    if (call_->args[i].isnull &&
        std::find(may_be_null.begin(), may_be_null.end(), names_.names[i]) == may_be_null.end())
      ereport(ERROR,
              (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("%s: %s is NULL", function, names_.names[i]),
               errhint("Give a value. An argument that has a default can be left out.")));
}

int NamedArguments::place(const char *name) const {
  const int number = names_.find(name);
  if (number < 0) elog(ERROR, "function %u has no parameter \"%s\"", call_->flinfo->fn_oid, name);
  return number;
}

Datum NamedArguments::value(const char *name) const {
  return call_->args[place(name)].value;
}

Oid NamedArguments::type(const char *name) const {
  return get_fn_expr_argtype(call_->flinfo, place(name));
}

bool NamedArguments::boolean(const char *name) const {
  return DatumGetBool(value(name));
}

int32 NamedArguments::integer(const char *name) const {
  return DatumGetInt32(value(name));
}

int64 NamedArguments::bigint(const char *name) const {
  return DatumGetInt64(value(name));
}

double NamedArguments::real(const char *name) const {
  return DatumGetFloat8(value(name));
}

const char *NamedArguments::string(const char *name) const {
  return TextDatumGetCString(value(name));
}

ArrayType *NamedArguments::array(const char *name) const {
  return DatumGetArrayTypeP(value(name));
}

Jsonb *NamedArguments::jsonb(const char *name) const {
  return DatumGetJsonbP(value(name));
}

Oid NamedArguments::oid(const char *name) const {
  return DatumGetObjectId(value(name));
}

const char *NamedArguments::optional_string(const char *name) const {
  return is_null(name) ? nullptr : string(name);
}

}  // namespace simjoin::pg
