// Sets found by equality. Among short sets at high thresholds, only equal sets can qualify. A hash of the
// whole set finds them at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/ranked_bits.hpp"
#include "core/base/worker_pool.hpp"
#include "core/candidates/join_problem.hpp"
#include "core/handover/candidate_sink.hpp"
#include "core/handover/join_counters.hpp"

namespace simjoin {

// Returns whether the probes of a class have equal sets as their only partners.
bool only_equal_sets(const JoinProblem &problem, uint32_t probe_class);

class EqualSets {
  // A hash (upper half) and a set, ascending. `directory_` has the first entry of each value of the leading
  // bits.
  using Entry = uint64_t;

 public:
  // Returns about the bytes for `sets` sets.
  static size_t bytes(uint64_t sets) {
    return sets * (sizeof(Entry) + sizeof(uint32_t)) + sets / 4 + (size_t{1} << 16);
  }

  // Indexes the partners of all probe classes for which takes() holds.
  EqualSets(const JoinProblem &problem, WorkerPool &pool, MemoryCounter &memory);

  bool takes(uint32_t probe_class) const { return takes_[probe_class]; }
  // Finds all pairs of the probe sets [begin, end). takes() must hold for their classes.
  // Safe for several threads.
  void run(uint32_t begin, uint32_t end, CandidateSink &sink, const StopFlag &stop,
           JoinCounters &counters) const;

 private:
  struct Range {
    uint32_t begin;
    uint32_t end;
  };

  void fill(const std::vector<Range> &ranges, WorkerPool &pool, MemoryCounter &memory);
  void sort_slots(std::span<uint32_t> starts, uint32_t begin, uint32_t end, Buffer<Entry> &copy);
  void index_part(size_t part, uint32_t begin, uint32_t end, Buffer<Entry> &copy);
  void match(uint32_t probe, uint32_t size, uint32_t hash, CandidateSink &sink, JoinCounters &counters) const;
  void match_wanted(uint32_t probe, uint32_t size, uint32_t hash, CandidateSink &sink,
                    JoinCounters &counters) const;
  void verify(uint32_t probe, uint32_t partner, uint32_t size, CandidateSink &sink,
              JoinCounters &counters) const;
  static uint32_t hash_of(Entry entry) { return static_cast<uint32_t>(entry >> 32); }
  size_t slot(uint32_t hash) const { return static_cast<size_t>(uint64_t{hash} >> (32 - directory_bits_)); }

  const JoinProblem &problem_;
  std::vector<bool> takes_;  // by probe class
  int directory_bits_ = 0;
  Buffer<Entry> entries_;
  Buffer<uint32_t> directory_;
  // In a self-join, a bit for each set: whether another set has the same hash. Other sets need no look.
  SharedBits repeated_;
  // If not every pair is wanted, a bit for the first entry of each hash: whether its pairs are left out from
  // here on.
  mutable SharedBits left_;
};

}  // namespace simjoin
