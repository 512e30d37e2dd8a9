// Differences between the supported versions of PostgreSQL, 14 to 18, in the descriptions of tables.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "utils/rel.h"
}

namespace simjoin::pg::compat {

// Returns whether this transaction made the table, or gave it new pages as TRUNCATE does. PostgreSQL 16
// (b0a55e43299) named the field anew.
inline bool made_in_transaction(Relation table) {
#if PG_VERSION_NUM >= 160000
  const SubTransactionId filled = table->rd_firstRelfilelocatorSubid;
#else
  const SubTransactionId filled = table->rd_firstRelfilenodeSubid;
#endif
  return table->rd_createSubid != InvalidSubTransactionId || filled != InvalidSubTransactionId;
}

}  // namespace simjoin::pg::compat
