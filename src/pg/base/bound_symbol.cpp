#include "pg/base/bound_symbol.hpp"

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
}

#include "pg/base/compat.hpp"

namespace simjoin::pg {

char *bound_symbol(Oid function) {
  HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
  if (!HeapTupleIsValid(tuple)) return nullptr;
  bool isnull = true;
  Datum source = 0;
  if (reinterpret_cast<Form_pg_proc>(GETSTRUCT(tuple))->prolang == ClanguageId)
    source = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &isnull);
  char *symbol = isnull ? nullptr : TextDatumGetCString(source);
  ReleaseSysCache(tuple);
  return symbol;
}

Oid find_function(Oid schema, const char *name, std::initializer_list<Oid> arguments, Oid result) {
  oidvector *types = buildoidvector(arguments.begin(), static_cast<int>(arguments.size()));
  const Oid function = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum(name),
                                       PointerGetDatum(types), ObjectIdGetDatum(schema));
  return OidIsValid(function) && get_func_rettype(function) == result && bound_symbol(function) != nullptr &&
                 compat::may_execute(function)
             ? function
             : InvalidOid;
}

}  // namespace simjoin::pg
