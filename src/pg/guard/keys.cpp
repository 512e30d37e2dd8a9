#include "pg/guard/keys.hpp"

extern "C" {
#include "access/genam.h"
#include "catalog/pg_index.h"
#include "utils/acl.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/typcache.h"
}

namespace simjoin::pg {
namespace {

// Returns the index of the primary key, InvalidOid where there is none.
Oid key_index(Relation table) {
  list_free(RelationGetIndexList(table));  // sets rd_pkindex
  return table->rd_pkindex;
}

}  // namespace

AttrNumber key_column(Relation table) {
  const Oid oid = key_index(table);
  if (!OidIsValid(oid)) return InvalidAttrNumber;
  Relation index = index_open(oid, AccessShareLock);
  const AttrNumber number =
      index->rd_index->indnkeyatts == 1 ? index->rd_index->indkey.values[0] : InvalidAttrNumber;
  index_close(index, AccessShareLock);
  return number;
}

bool key_is_smaller(Relation table, AttrNumber key, Datum a, Datum b) {
  const Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(table), key - 1);
  TypeCacheEntry *type = lookup_type_cache(attribute->atttypid, TYPECACHE_CMP_PROC_FINFO);
  return OidIsValid(type->cmp_proc) &&
         DatumGetInt32(FunctionCall2Coll(&type->cmp_proc_finfo, attribute->attcollation, a, b)) < 0;
}

const char *readable_key(Relation table, TupleTableSlot *row) {
  const Oid oid = key_index(table);
  if (!OidIsValid(oid)) {
    const Oid relation = RelationGetRelid(table);
    const bool may_read = pg_class_aclcheck(relation, GetUserId(), ACL_SELECT) == ACLCHECK_OK &&
                          check_enable_rls(relation, InvalidOid, true) != RLS_ENABLED;
    return may_read ? "" : nullptr;
  }
  Relation index = index_open(oid, AccessShareLock);
  Datum values[INDEX_MAX_KEYS];
  bool nulls[INDEX_MAX_KEYS];
  for (int i = 0; i < index->rd_index->indnatts; ++i)
    values[i] = slot_getattr(row, index->rd_index->indkey.values[i], &nulls[i]);
  const char *description = BuildIndexValueDescription(index, values, nulls);
  index_close(index, AccessShareLock);
  return description;
}

}  // namespace simjoin::pg
