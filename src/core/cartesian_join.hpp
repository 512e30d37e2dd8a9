// Every pair there is, with its overlap: for thresholds that everything meets.
#pragma once

#include <cstdint>

#include "core/held_pairs.hpp"
#include "core/join_counters.hpp"
#include "core/join_problem.hpp"
#include "core/result_queue.hpp"
#include "core/worker_pool.hpp"

namespace simjoin {

// Emits all pairs of the probe sets [begin, end), empty sets included; in a self-join, those with sets
// before. `held` may be null.
void enumerate_pairs(const SetCollection &probes, const SetCollection &partners, uint32_t begin, uint32_t end,
                     ResultWriter &writer, HeldPairs *held, const StopFlag &stop, JoinCounters &counters);

}  // namespace simjoin
