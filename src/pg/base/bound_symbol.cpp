#include "pg/base/bound_symbol.hpp"

extern "C" {
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
}

#include "pg/base/compat.hpp"

namespace simjoin::pg {
namespace {

// Returns whether the text column of a function's row in pg_proc is the value.
bool column_is(HeapTuple tuple, AttrNumber column, const char *value) {
  bool isnull;
  const Datum datum = SysCacheGetAttr(PROCOID, tuple, column, &isnull);
  if (isnull) return false;
  char *string = TextDatumGetCString(datum);
  const bool same = strcmp(string, value) == 0;
  pfree(string);
  return same;
}

}  // namespace

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

bool is_plain_function(Oid function) {
  HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
  if (!HeapTupleIsValid(tuple)) return false;
  const bool plain = !reinterpret_cast<Form_pg_proc>(GETSTRUCT(tuple))->prosecdef &&
                     heap_attisnull(tuple, Anum_pg_proc_proconfig, nullptr);
  ReleaseSysCache(tuple);
  return plain && !FmgrHookIsNeeded(function);
}

char *symbol_of_library(Oid function, const char *library) {
  HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
  if (!HeapTupleIsValid(tuple)) return nullptr;
  char *path = psprintf("$libdir/%s", library);
  const bool bound = column_is(tuple, Anum_pg_proc_probin, path);
  pfree(path);
  ReleaseSysCache(tuple);
  return bound && is_plain_function(function) ? bound_symbol(function) : nullptr;
}

Oid extension_schema(const char *extension) {
  Relation extensions = table_open(ExtensionRelationId, AccessShareLock);
  ScanKeyData key;
  ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber, F_NAMEEQ, CStringGetDatum(extension));
  SysScanDesc scan = systable_beginscan(extensions, ExtensionNameIndexId, true, nullptr, 1, &key);
  HeapTuple tuple = systable_getnext(scan);
  const Oid schema = HeapTupleIsValid(tuple)
                         ? reinterpret_cast<Form_pg_extension>(GETSTRUCT(tuple))->extnamespace
                         : InvalidOid;
  systable_endscan(scan);
  table_close(extensions, AccessShareLock);
  return schema;
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
