// Joins in a recheck (EvalPlanQual): PostgreSQL has waited for the writer of a row that a statement is to
// lock or change, and runs the statement's plan once more, in which each scan of the row's relation gives the
// row's new version alone, and scans of the other relations the rows that it was joined with.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/join/exec.hpp"

namespace simjoin::pg {

// Lets the scans below the join give the rows of a recheck, if there is one. Called before the inputs are
// read.
//
// PostgreSQL takes it that a plan has one scan of a relation. It notes by relation, not by scan, that the row
// has been given, until that scan begins again. The joins of a disjunction's arms scan the same relations one
// after the other, so each makes its own scans begin again.
void begin_recheck(JoinState *state);

}  // namespace simjoin::pg
