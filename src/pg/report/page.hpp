// The page of a report: one HTML document that loads nothing, and no script of which runs but its own.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "lib/stringinfo.h"
}

namespace simjoin::pg {

// Appends the page for the data, a text in JSON. The page is plain ASCII, whatever the data hold.
void append_page(const char *json, StringInfo page);

}  // namespace simjoin::pg
