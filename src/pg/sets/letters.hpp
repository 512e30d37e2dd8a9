// Lower case by the rules of a collation, found out once for each letter.
#pragma once

#include "pg/base/pg.hpp"

#include <string_view>

#include "core/text/letters.hpp"

namespace simjoin::pg {

// Returns letters that know all characters of the text and make of each what PostgreSQL's lower() makes of
// it, or NULL where lower() itself has to be asked. They are in UTF-8. Processes interrupts.
const Letters *letters_of(std::string_view text, Oid collation);

}  // namespace simjoin::pg
