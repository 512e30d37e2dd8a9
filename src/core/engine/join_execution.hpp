// The phases of a join on the CPU, from sets to pairs: build, then round after round of items of work for any
// number of workers.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/spill_file.hpp"
#include "core/base/worker_pool.hpp"
#include "core/candidates/pair_verifier.hpp"
#include "core/handover/join_counters.hpp"
#include "core/handover/result_queue.hpp"
#include "core/handover/wanted_pairs.hpp"
#include "core/join.hpp"
#include "core/rounds/beyond_memory/rounds_from_file.hpp"
#include "core/rounds/join_round.hpp"
#include "core/sets/join_tokens.hpp"
#include "core/sets/raw_sets.hpp"

namespace simjoin {

class JoinExecution {
 public:
  // Takes the tokens and the raw sets over; of the latter only the sizes remain after build(). With a
  // file (not null), the join keeps to the memory limit; without, `verifier` (may be null) gets candidates.
  JoinExecution(const JoinSpec &spec, JoinTokens &tokens, RawSets &left, RawSets &right, SpillFile *file,
                PairVerifier *verifier, ResultQueue &queue, const StopFlag &stop, MemoryCounter &memory);

  // Ranks and orders the sets.
  void build(WorkerPool &pool);
  // Prepares the next round and returns true, or returns false after the last. Called when every item of the
  // round before has run.
  bool next_round(WorkerPool &pool);
  // Returns the number of items of the round. Each is run once, by any worker, in any order.
  size_t items() const;
  void run_item(int worker, size_t item);
  // Hands over the last pairs. Called when every item has run.
  void finish();

  // Returns the figures so far. Safe to call while workers run.
  JoinStats stats() const;
  // Returns the share of the work that is done. Safe to call while workers run.
  double share_done() const { return share_.done(); }

 private:
  // The state of one worker between items.
  struct Worker {
    Worker(ResultQueue &queue, bool swap, bool ordered, WantedPairs *demand)
        : writer(queue, swap, ordered, demand) {}
    ResultWriter writer;
    JoinCounters counters;  // not yet added to the join's counters
    std::chrono::steady_clock::time_point flushed = std::chrono::steady_clock::now();
  };

  Ranking rank(WorkerPool &pool);
  void describe_input(uint64_t distinct_tokens);
  std::unique_ptr<JoinRound> whole_join(Ranking ranking, WorkerPool &pool);
  std::unique_ptr<JoinRound> postponed_round();
  GeneratorPlan plan_for(const JoinRound &round, WorkerPool &pool);
  void sign_for_room(const JoinRound &round, const WorkerPool &pool, GeneratorPlan &plan);
  void describe_round();
  void hand_over(Worker &worker);
  double end_of_round() const;
  double end_of_building() const;
  void begin_items();

  const JoinSpec spec_;
  JoinTokens &tokens_;
  RawSets &left_;
  RawSets &right_;
  SpillFile *const file_;
  PairVerifier *const verifier_;
  ResultQueue &queue_;
  const StopFlag &stop_;
  MemoryCounter &memory_;

  std::optional<RoundsFromFile> partitions_;  // set with a file
  std::unique_ptr<JoinRound> round_;
  bool index_left_ = true;
  bool begun_ = false;  // there has been a round
  bool ended_ = false;
  std::optional<WantedPairs> demand_;  // set if not every pair is wanted
  std::vector<std::unique_ptr<Worker>> workers_;
  WorkShare share_;
  double rounds_share_ = share_before_search;  // what is done once the rounds so far have run

  mutable std::mutex mutex_;  // guards what follows
  JoinCounters counters_;
  JoinStats figures_;
  bool tiles_ = false;  // some probes were compared with all their partners' bitmaps
};

}  // namespace simjoin
