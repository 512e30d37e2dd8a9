// The C functions that SQL functions are bound to.
#pragma once

#include "pg/base/pg.hpp"

#include <cstddef>
#include <initializer_list>

namespace simjoin::pg {

// Returns the symbol that the SQL function is bound to, NULL where there is none. It is allocated in the
// current memory context. Only superusers make functions of C.
char *bound_symbol(Oid function);

// Returns whether a call of the function does nothing but what its language runs: it changes neither the user
// nor settings, and no hook watches it.
bool is_plain_function(Oid function);

// Returns the symbol that the SQL function is bound to in the library `$libdir/NAME`. Returns NULL where it
// is bound to another library or none, or is not plain. The symbol is allocated in the current memory
// context.
char *symbol_of_library(Oid function, const char *library);

// Returns the entry of a table of C functions that has the symbol, NULL where none has it or it is NULL.
// Frees the symbol.
template <class Entry, size_t count>
const Entry *entry_of_symbol(const Entry (&table)[count], char *symbol) {
  if (symbol == nullptr) return nullptr;
  const Entry *found = nullptr;
  for (const Entry &entry : table)
    if (entry.symbol == symbol) found = &entry;
  pfree(symbol);
  return found;
}

// Returns the schema of the extension, InvalidOid where the database lacks it.
Oid extension_schema(const char *extension);

// Returns the function of this name and these arguments in the schema, InvalidOid where there is none that is
// bound to a symbol, that returns the type, and that the current user may execute.
Oid find_function(Oid schema, const char *name, std::initializer_list<Oid> arguments, Oid result);

}  // namespace simjoin::pg
