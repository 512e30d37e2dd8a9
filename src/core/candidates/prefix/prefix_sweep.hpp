// Candidate generation for short sets, list by list. The prefix tokens of a block of probes are sorted by
// rank and meet each list of the index once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/candidates/join_problem.hpp"
#include "core/candidates/prefix/prefix_index.hpp"
#include "core/handover/candidate_sink.hpp"
#include "core/handover/join_counters.hpp"

namespace simjoin {

// One worker. If signatures in the index reject nearly all postings, there is little to count: a pair is
// verified at the first token that its prefixes share, and skipped at the others. The rest of the work is
// reading lists. Reading each list once for many probes costs a fraction of finding it again for each.
class PrefixSweeper {
 public:
  // Returns the number of probes that a worker of `workers` sweeps together over an index of `index_sets`
  // sets.
  static uint32_t block_probes(uint64_t index_sets, int workers);

  PrefixSweeper(const JoinProblem &problem, const PrefixIndex &index, int workers, CandidateSink &sink,
                const StopFlag &stop, MemoryCounter &memory);

  // Returns whether run() can take the probes of a class. The index must have signatures, and a pair few
  // differences.
  bool takes(uint32_t probe_class);
  // Finds all pairs of the probe sets [begin, end). takes() must hold for their classes.
  void run(uint32_t begin, uint32_t end, JoinCounters &counters);

 private:
  // The bounds of a probe class, computed on first use.
  struct ClassBounds {
    uint32_t most_differences = 0;
    bool known = false;
    std::vector<uint32_t> required;  // by index class, from the first partner's on
  };
  struct Probe {
    uint64_t signature;
    uint32_t stored;
    uint32_t probe_class;
  };
  struct Candidate {
    uint32_t probe;
    uint32_t partner;
    uint32_t required;
    uint32_t position;  // of the shared token in the probe
    uint32_t rest;      // tokens of the partner after the shared token
  };

  const ClassBounds &bounds_of(uint32_t probe_class);
  void load(uint32_t begin, uint32_t end);
  void sweep(uint32_t begin, std::span<const uint64_t> entries, JoinCounters &counters);
  void match(uint32_t begin, uint64_t entry, std::span<const Posting> postings, const ClassBounds &bounds);
  void verify_round(JoinCounters &counters);
  void verify(JoinCounters &counters);
  void verify_pair(const Candidate &candidate, JoinCounters &counters);

  const JoinProblem &problem_;
  const PrefixIndex &index_;
  CandidateSink &sink_;
  const StopFlag &stop_;
  const uint32_t block_probes_;
  std::vector<ClassBounds> bounds_;  // by probe class
  Buffer<Probe> probes_;             // of the block
  Buffer<uint64_t> entries_;         // of the block: rank (32 bits), number in the block (16), position (16)
  Buffer<Posting> near_;             // the postings of a list that the signatures do not rule out
  Buffer<Candidate> candidates_;
  JoinCounters::Clock::time_point since_;  // the time after the last verification
};

}  // namespace simjoin
