#include "core/candidates/cartesian_join.hpp"

#include "core/candidates/verify.hpp"

namespace simjoin {

void enumerate_pairs(const SetCollection &probes, const SetCollection &partners, uint32_t begin, uint32_t end,
                     CandidateSink &sink, const StopFlag &stop, JoinCounters &counters) {
  constexpr uint32_t check_interval = 1024;  // pairs between looks at the stop flag
  const auto since = JoinCounters::Clock::now();
  for (uint32_t probe = begin; probe < end; ++probe) {
    stop.check();
    const uint32_t partner_end = &probes == &partners ? probe : partners.sets();
    for (uint32_t partner = 0; partner < partner_end; ++partner) {
      if (partner % check_interval == 0) stop.check();
      if (!sink.wants(probe, partner, counters)) continue;
      const uint32_t overlap = bounded_overlap(probes.begin(probe), probes.stored(probe),
                                               partners.begin(partner), partners.stored(partner), 0, 0);
      sink.emit(probe, partner, overlap);
      ++counters.verified;
      ++counters.output;
    }
  }
  counters.verify += JoinCounters::Clock::now() - since;
}

}  // namespace simjoin
