// Candidate generation through the prefix index, and verification: AllPairs (Bayardo, Ma and Srikant 2007),
// PPJoin (Xiao et al. 2008) and GroupJoin (Bouros, Ge and Mamoulis 2012).
#pragma once

#include <cstdint>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/candidates/join_problem.hpp"
#include "core/candidates/pair_verifier.hpp"
#include "core/candidates/prefix/parity_signature.hpp"
#include "core/candidates/prefix/prefix_groups.hpp"
#include "core/candidates/prefix/prefix_index.hpp"
#include "core/candidates/prefix/prefix_sweep.hpp"
#include "core/handover/candidate_sink.hpp"
#include "core/handover/join_counters.hpp"

namespace simjoin {

// What the workers share. `probe_groups` is null exactly if the index has no groups.
struct PrefixJoin {
  const JoinProblem &problem;
  const PrefixIndex &index;
  const PrefixGroups *probe_groups;
  bool positional;
  const ParityTable *signatures;  // of the index side, checked before verification; may be null
  PairVerifier *verifier;         // gets the candidates; null if they are verified here or are groups
  int workers;
};

// One worker: probes the index with ranges of sets.
class PrefixProber {
 public:
  PrefixProber(const PrefixJoin &join, CandidateSink &sink, const StopFlag &stop, MemoryCounter &memory);

  // Finds all pairs of the probe sets [begin, end).
  void run(uint32_t begin, uint32_t end, JoinCounters &counters);

 private:
  struct Candidate {
    uint32_t probe;  // unit of the probe side
    uint32_t unit;   // unit of the index side
    uint32_t known;  // tokens shared by the two prefixes
    uint32_t index_class;
  };

  // How probes of a class are looked up: by a hash of the whole set, list by list, or one by one.
  enum class Way : uint8_t { equality, sweep, units };

  Way way_of(uint32_t probe_class);
  void run_ungrouped(uint32_t begin, uint32_t end, JoinCounters &counters);
  template <bool grouped, bool positional>
  void run_units(uint32_t begin, uint32_t end, JoinCounters &counters);
  template <bool grouped, bool positional>
  void probe(uint32_t unit, uint32_t probe_class, uint32_t sets, JoinCounters &counters);
  void set_probe_class(uint32_t probe_class);
  uint32_t last_reachable(uint32_t begin, uint32_t end, uint32_t left);
  bool differs_too_much(uint32_t partner, uint32_t index_class, const uint64_t *signature);
  template <bool positional>
  void scan(std::span<const Posting> postings, uint32_t probe_rest);
  void submit();
  template <bool grouped>
  void verify(uint32_t begin, uint32_t end, JoinCounters &counters);
  void verify_pair(uint32_t probe, uint32_t probe_prefix, uint32_t partner, const Candidate &candidate,
                   JoinCounters &counters);

  const PrefixJoin join_;
  CandidateSink &sink_;
  const StopFlag &stop_;
  PrefixSweeper sweeper_;
  RequiredOverlaps required_;
  uint32_t probe_class_ = UINT32_MAX;  // the class that set_probe_class() has set
  uint32_t most_differences_ = 0;
  bool use_table_ = false;  // whether join_.signatures is used
  // by unit, once one is looked up: tokens shared so far, or pruned; 0 between probes
  Buffer<int32_t> shared_;
  Buffer<Posting> touched_;  // the first posting of each unit whose count is not 0
  Buffer<Candidate> candidates_;
  Buffer<CandidatePair> submitted_;
};

}  // namespace simjoin
