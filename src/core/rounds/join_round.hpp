// A round of a join: an index side in memory with its index, and the probes that meet it there. A join within
// its memory limit is one round. Beyond the limit, there is a round for each part of the index side.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/check.hpp"
#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/candidates/bitmap/bitmap_join.hpp"
#include "core/candidates/bitmap/bitmap_signature.hpp"
#include "core/candidates/join_problem.hpp"
#include "core/candidates/pair_verifier.hpp"
#include "core/candidates/prefix/parity_signature.hpp"
#include "core/candidates/prefix/prefix_groups.hpp"
#include "core/candidates/prefix/prefix_index.hpp"
#include "core/candidates/prefix/prefix_join.hpp"
#include "core/choice/choose.hpp"
#include "core/handover/candidate_sink.hpp"
#include "core/handover/join_counters.hpp"
#include "core/handover/result_queue.hpp"
#include "core/join.hpp"
#include "core/sets/set_collection.hpp"

namespace simjoin {

// What a round is made of, beside its index side.
struct RoundInput {
  // The other side of a join of two sides; in a self-join the index side is joined with itself. Where more
  // probes come later, only the classes are looked at, which must be those of all of them.
  std::optional<SetCollection> probe;
  bool index_left = true;     // the index side is the left side of the join
  bool later_probes = false;  // run_probes() will be called, with sets no smaller than any of a self-join's
};

class JoinRound {
 public:
  // `verifier` (may be null) gets what candidates the prefix index finds for the probes in memory.
  JoinRound(const JoinSpec &spec, SetCollection index, RoundInput input, const StopFlag &stop,
            MemoryCounter &memory, PairVerifier *verifier = nullptr);
  JoinRound(const JoinRound &) = delete;
  JoinRound &operator=(const JoinRound &) = delete;

  const SetCollection &index() const { return index_; }
  // Returns the problem. There is none if every pair qualifies.
  const JoinProblem &problem() const {
    SIMJOIN_CHECK(problem_.has_value());
    return *problem_;
  }
  bool every_pair() const { return !problem_; }
  // Both take the sets out; the round must not be used afterwards. A self-join has no probe side.
  SetCollection take_index() { return std::move(index_); }
  std::optional<SetCollection> take_probe() { return std::move(input_.probe); }

  // Builds what the plan needs, and cuts the probes that are in memory into items.
  void build(const GeneratorPlan &plan, WorkerPool &pool);
  // Returns the number of items. Each is run once, by any worker, in any order.
  size_t items() const { return items_.size(); }
  void run_item(size_t item, int worker, ResultWriter &writer, JoinCounters &counters);
  // Joins more probes with the index side, whose ranks they have. Calls `after_range` now and then.
  void run_probes(SetCollection probes, ResultWriter &writer, JoinCounters &counters,
                  const std::function<void()> &after_range) const;

  bool used_prefix() const { return prefix_index_.has_value(); }
  // Returns whether probes are compared with all their partners' bitmaps.
  bool used_tiles() const { return signatures_.has_value(); }
  // Returns whether any bitmaps filter.
  bool used_bitmap() const {
    return signatures_ || parity_table_ || (prefix_index_ && prefix_index_->has_signatures());
  }

 private:
  enum class Generator : uint8_t { prefix, bitmap, cartesian };
  struct Item {
    uint32_t begin;  // probe sets
    uint32_t end;
    Generator generator;
  };
  // The state of one worker between items of the same probes.
  struct Prober {
    std::optional<CandidateSink> sink;
    std::unique_ptr<PrefixProber> prefix;
    std::unique_ptr<BitmapProber> bitmap;
  };

  // Probes and their problem with the index side; no problem if every pair qualifies.
  struct Probes {
    const SetCollection &sets;
    const JoinProblem *problem;
    const PrefixGroups *groups;
  };

  bool self_join() const { return !input_.probe; }
  const SetCollection &probe() const { return input_.probe ? *input_.probe : index_; }
  bool probes_here() const { return self_join() || !input_.later_probes; }
  void build_prefix(const GeneratorPlan &plan, WorkerPool &pool);
  void build_bitmaps(const GeneratorPlan &plan, WorkerPool &pool);
  std::vector<Item> cut(const Probes &probes, const std::vector<bool> &use_bitmap) const;
  std::vector<Item> cut_filtered(const Probes &probes, const std::vector<bool> &use_bitmap) const;
  std::vector<Item> cut_cartesian(const Probes &probes) const;
  CandidateSink::Verify verification(const Probes &probes, ResultWriter &writer) const;
  void run(const Item &item, const Probes &probes, Prober &prober, ResultWriter &writer,
           JoinCounters &counters) const;

  const JoinSpec spec_;
  const StopFlag &stop_;
  MemoryCounter &memory_;
  PairVerifier *const verifier_;
  SetCollection index_;
  RoundInput input_;
  std::optional<JoinProblem> problem_;
  std::optional<PrefixGroups> groups_[2];  // of the probe and the index side; in a self-join only the first
  std::optional<PrefixIndex> prefix_index_;
  std::optional<ParityTable> parity_table_;
  std::optional<SignatureTables> signatures_;
  std::vector<Item> items_;
  std::vector<Prober> probers_;  // by worker
};

}  // namespace simjoin
