// Candidate generation for short sets, list by list: the prefix tokens of a block of probes, in the order of
// their ranks, meet each list of the index once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/candidates/join_problem.hpp"
#include "core/candidates/prefix/prefix_index.hpp"
#include "core/handover/join_counters.hpp"
#include "core/handover/result_queue.hpp"
#include "core/handover/waiting_candidates.hpp"

namespace simjoin {

// One worker. Where the signatures in the index reject nearly all postings there is little to count: a pair
// is verified at the first token that its prefixes share, and passed over at the others. What is left is
// reading lists, and reading each of them once for many probes costs a fraction of finding it again for each.
class PrefixSweeper {
 public:
  // Returns how many probes are swept together over an index of so many sets.
  static uint32_t block_probes(uint64_t index_sets);

  // `held` may be null.
  PrefixSweeper(const JoinProblem &problem, const PrefixIndex &index, ResultWriter &writer, HeldPairs *held,
                const StopFlag &stop, MemoryCounter &memory);

  // Returns whether run() can take the probes of a class: the index must have signatures, and a pair few
  // differences.
  bool takes(uint32_t probe_class);
  // Finds all pairs of the probe sets [begin, end), all of classes that it takes.
  void run(uint32_t begin, uint32_t end, JoinCounters &counters);

 private:
  // What is known of a probe class once it was needed.
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
    uint32_t rest;      // tokens of the partner after it
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
  ResultWriter &writer_;
  HeldPairs *const held_;
  const StopFlag &stop_;
  const uint32_t block_probes_;
  std::vector<ClassBounds> bounds_;  // by probe class
  Buffer<Probe> probes_;             // of the block
  Buffer<uint64_t> entries_;         // of the block: rank (32 bits), number in the block (16), position (16)
  Buffer<Posting> near_;             // postings of a list that the signatures left
  Buffer<Candidate> candidates_;
  JoinCounters::Clock::time_point since_;  // when the last candidates had been verified
};

}  // namespace simjoin
