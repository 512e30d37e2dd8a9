// The names of relations in statements and messages.
#pragma once

#include "pg/base/pg.hpp"

namespace simjoin::pg {

// Returns the relation's name with its schema, quoted. Errors where the relation does not exist.
const char *relation_name(Oid relation);

}  // namespace simjoin::pg
