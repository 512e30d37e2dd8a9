#include "pg/base/relation_names.hpp"

extern "C" {
#include "utils/builtins.h"
#include "utils/lsyscache.h"
}

namespace simjoin::pg {

const char *relation_name(Oid relation) {
  const char *name = get_rel_name(relation);
  if (name == nullptr)
    ereport(ERROR,
            (errcode(ERRCODE_UNDEFINED_TABLE), errmsg("relation with OID %u does not exist", relation)));
  return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relation)), name);
}

}  // namespace simjoin::pg
