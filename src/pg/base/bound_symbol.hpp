// The C functions that SQL functions are bound to.
#pragma once

#include "pg/base/pg.hpp"

namespace simjoin::pg {

// Returns the symbol that the SQL function is bound to, NULL where there is none. It is allocated in the
// current memory context. Only superusers make functions of C.
char *bound_symbol(Oid function);

}  // namespace simjoin::pg
