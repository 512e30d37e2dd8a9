// Plans that compute a similarity for each pair of rows say so.
//
// EXPLAIN prints `Similarity Join Not Used: <why>` below such a plan, and planning raises a NOTICE if it is
// estimated to compute simjoin.notice_pairs similarities or more.
#pragma once

namespace simjoin::pg {

// Called once, when the module is loaded.
void install_nested_loop_notices();

}  // namespace simjoin::pg
