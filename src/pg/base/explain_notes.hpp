// Lines below a plan that EXPLAIN prints in text: what the planner could not use, and why.
#pragma once

#include "pg/base/pg.hpp"

namespace simjoin::pg {

// Returns whether a query is being explained in text, with VERBOSE or without.
bool explaining();
bool explaining_verbosely();

// Adds a line, unless it is there. Does nothing while no query is being explained.
void add_explain_note(const char *line);

// Makes EXPLAIN print the lines. Called once, when the module is loaded.
void install_explain_hook();

}  // namespace simjoin::pg
