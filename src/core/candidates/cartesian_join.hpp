// Every pair with its overlap, for thresholds that every pair reaches.
#pragma once

#include <cstdint>

#include "core/base/worker_pool.hpp"
#include "core/candidates/join_problem.hpp"
#include "core/handover/candidate_sink.hpp"
#include "core/handover/join_counters.hpp"

namespace simjoin {

// Emits all pairs of the probe sets [begin, end), empty sets included. In a self-join, partners are the sets
// before the probe.
void enumerate_pairs(const SetCollection &probes, const SetCollection &partners, uint32_t begin, uint32_t end,
                     CandidateSink &sink, const StopFlag &stop, JoinCounters &counters);

}  // namespace simjoin
