// A join beyond its memory limit. The sets go to the temporary file by ascending size. Then each round takes
// a part of the index side into memory, and streams the probes of compatible sizes past it.
//
// By example: a self-join at Jaccard 0.8 of 8 MB of sets with room for 3 MB. The file has the slices S0 to S7
// of 1 MB, with sets of 4 to 5, 5, 6, 7, 8 to 9, 10, 11 to 14 and 20 tokens.
//   round 1: S0 S1 S2 are indexed. Partners of 6 tokens have at most 6 / 0.8 = 7.5, so S3 streams past.
//   round 2: S3 S4 S5 are indexed (7 to 10 tokens). S6 streams past. S7 does not: 10 / 0.8 = 12.5.
//   round 3: S6 S7 are indexed. No slice is left that could stream.
// Each round joins its own sets with each other, too. S3 and S6 are read twice: a round costs what streams
// past. Within round 1 the tokens of S0 to S2 have ranks 0, 1, 2, … of their own, say the tokens of global
// rank 2, 5, 9, 20 …. A probe {1, 4, 5, 7, 9, 11, 12} of S3 becomes {1, 2}. Its other five tokens count as
// rarer and dropped. A partner of 6 tokens would have to share 6, so the probe is left out before it is
// looked up.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/spill_file.hpp"
#include "core/base/worker_pool.hpp"
#include "core/handover/join_counters.hpp"
#include "core/handover/result_queue.hpp"
#include "core/join.hpp"
#include "core/rounds/beyond_memory/round_memory.hpp"
#include "core/rounds/beyond_memory/round_ranks.hpp"
#include "core/rounds/beyond_memory/sliced_sets.hpp"
#include "core/rounds/join_round.hpp"
#include "core/sets/ranking.hpp"
#include "core/sets/raw_sets.hpp"

namespace simjoin {

class RoundsFromFile {
 public:
  // Ranks the sets and moves them into slices in the file. Only the sizes of the raw sets remain. The side
  // with fewer tokens becomes the index side.
  RoundsFromFile(const JoinSpec &spec, Ranking ranking, RawSets &left, RawSets &right, SpillFile &file,
                 WorkerPool &pool, MemoryCounter &memory);

  bool index_left() const { return index_side_ == 0; }
  // Returns the number of pairs of compatible sizes.
  uint64_t compatible_pairs() const;

  // Returns the next round, built, or null after the last. The round before must be destroyed. Calls
  // `grown` when share_taken() has grown, before what that adds is built.
  std::unique_ptr<JoinRound> next_round(WorkerPool &pool, const std::function<void()> &grown);
  // Returns the number of slices of probes for the round. Each is run once, by any worker, in any order.
  size_t slices() const { return probe_slices_.size(); }
  void run_slice(size_t slice, const JoinRound &round, ResultWriter &writer, JoinCounters &counters,
                 const std::function<void()> &after_range) const;

  // Returns the share of the index side that has been in a round, this one included.
  double share_taken() const;

  // Returns the decisions since the last call, one line each.
  std::vector<std::string> take_reasons() { return std::exchange(reasons_, {}); }

 private:
  // The generator of a round, the same for all its probes.
  struct Decision {
    bool bitmap = false;
    bool sign_postings = false;
    bool sign_sets = false;
    SignatureLayout layout;
  };

  const SlicedSets &index_sets() const { return *sides_[index_side_]; }
  const SlicedSets &probe_sets() const { return *sides_[probe_side_]; }
  bool every_pair() const { return !(spec_.threshold > 0); }
  bool uses_choice() const {
    return spec_.algorithm == Algorithm::automatic || spec_.algorithm == Algorithm::bitmap;
  }
  // Returns the bounds of a probe and a set of the index side.
  Bounds bounds() const {
    const Bounds bounds(spec_.measure, spec_.threshold);
    return index_left() ? bounds.reversed() : bounds;
  }
  bool only_equal_partners(uint32_t size) const;
  SetCollection outline(const SlicedSets &sets) const;
  size_t postings_of(const Slice &slice) const;
  bool can_sweep(uint32_t size) const;
  size_t round_bytes(RoundShape shape, uint32_t largest, size_t probes, int workers) const;
  size_t budget(size_t taken) const;
  size_t end_of_equal_round(int workers) const;
  SetCollection read_equal_round(size_t end, WorkerPool &pool, const std::function<void()> &grown);
  SetCollection read_index(WorkerPool &pool, const std::function<void()> &grown);
  void find_probe_slices(size_t first, size_t end);
  bool compatible(const Slice &probe, uint32_t smallest, uint32_t largest) const;
  SetCollection read_probes(std::span<const size_t> numbers, const SetCollection &index,
                            WorkerPool *pool) const;
  Decision decide(const JoinRound &round, WorkerPool &pool);
  GeneratorPlan choose(const JoinRound &round, WorkerPool &pool);

  const JoinSpec spec_;
  const StopFlag &stop_;
  MemoryCounter &memory_;
  uint32_t ranks_ = 0;
  size_t slice_bytes_ = 0;
  std::optional<SlicedSets> sides_[2];
  int index_side_ = 0;
  int probe_side_ = 0;
  size_t next_slice_ = 0;                  // of the index side
  std::optional<RoundRanks> local_ranks_;  // of the round, if it has its own ranks
  std::vector<size_t> probe_slices_;       // of the slices that meet the round, the largest sets first
  std::map<int, Decision> decisions_;      // by size_quarter_octave() the size of the sets
  std::vector<std::string> reasons_;
};

}  // namespace simjoin
