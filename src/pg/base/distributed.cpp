#include "pg/base/distributed.hpp"

extern "C" {
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
}

#include <string_view>

#include "pg/base/statements.hpp"

namespace simjoin::pg {

bool is_distributed_table(Oid table) {
  // No role can make a table in this schema.
  if (!OidIsValid(get_relname_relid("pg_dist_partition", PG_CATALOG_NAMESPACE))) return false;
  connect_spi();
  Oid type = OIDOID;
  Datum value = ObjectIdGetDatum(table);
  check_spi(SPI_execute_with_args(
      "SELECT FROM pg_catalog.pg_dist_partition WHERE logicalrelid::pg_catalog.oid OPERATOR(pg_catalog.=) $1",
      1, &type, &value, nullptr, true, 1));
  const bool found = SPI_processed > 0;
  SPI_finish();
  return found;
}

bool runs_for_coordinator() {
  return application_name != nullptr &&
         std::string_view(application_name).starts_with("citus_internal gpid=");
}

}  // namespace simjoin::pg
