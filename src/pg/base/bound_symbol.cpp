#include "pg/base/bound_symbol.hpp"

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "utils/builtins.h"
#include "utils/syscache.h"
}

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

}  // namespace simjoin::pg
