// Texts whose spelling is made alike before they become sets.
#pragma once

#include "pg/base/pg.hpp"

#include <string_view>

#include "core/text/prepared_text.hpp"

namespace simjoin::pg {

// Errors unless texts of the database can be prepared. `tokenizer` is the name that asks for it.
void check_preparation(const Preparation &preparation, const char *tokenizer);

// Returns the prepared text in the current memory context. Processes interrupts.
std::string_view prepare_text(std::string_view text, const Preparation &preparation);

}  // namespace simjoin::pg
