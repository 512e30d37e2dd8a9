// The phases of a join on the CPU, from sets as they were added to pairs: build, then items of work for any
// number of workers.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/bitmap_join.hpp"
#include "core/bitmap_signature.hpp"
#include "core/choose.hpp"
#include "core/join.hpp"
#include "core/join_counters.hpp"
#include "core/join_problem.hpp"
#include "core/memory.hpp"
#include "core/prefix_groups.hpp"
#include "core/prefix_index.hpp"
#include "core/prefix_join.hpp"
#include "core/result_queue.hpp"
#include "core/set_collection.hpp"
#include "core/vocabulary.hpp"
#include "core/worker_pool.hpp"

namespace simjoin {

class JoinExecution {
 public:
  // Takes the vocabulary and the raw sets over; of the latter only the sizes remain after build().
  JoinExecution(const JoinSpec &spec, Vocabulary &vocabulary, RawSets &left, RawSets &right,
                ResultQueue &queue, const StopFlag &stop, MemoryCounter &memory);

  // Ranks, orders and indexes the sets and cuts the join into items.
  void build(WorkerPool &pool);
  // Returns how many items there are; each is run once, by any worker, in any order.
  size_t items() const { return items_.size(); }
  void run_item(int worker, size_t item);
  // Hands over the last pairs. Called when every item has run.
  void finish();

  // Adds the figures so far to `stats`. Safe to call while workers run.
  void add_to(JoinStats &stats) const;

 private:
  enum class Generator : uint8_t { prefix, bitmap, cartesian };
  struct Item {
    uint32_t begin;  // probe sets
    uint32_t end;
    Generator generator;
  };
  // What one worker keeps between items.
  struct Worker {
    Worker(ResultQueue &queue, bool swap, bool ordered) : writer(queue, swap, ordered) {}
    ResultWriter writer;
    std::unique_ptr<PrefixProber> prefix;
    std::unique_ptr<BitmapProber> bitmap;
    JoinCounters::Clock::time_point flushed = JoinCounters::Clock::now();
  };

  void order_sets(WorkerPool &pool, bool keep_empty);
  void describe_input();
  void plan_cartesian();
  void plan_filters(WorkerPool &pool);
  void build_prefix(WorkerPool &pool);
  void build_bitmaps(const GeneratorPlan &plan, WorkerPool &pool);
  void cut_items(const std::vector<bool> &use_bitmap);

  const JoinSpec spec_;
  Vocabulary &vocabulary_;
  RawSets &left_;
  RawSets &right_;
  ResultQueue &queue_;
  const StopFlag &stop_;
  MemoryCounter &memory_;

  std::optional<SetCollection> sets_[2];
  const SetCollection *probe_ = nullptr;
  const SetCollection *index_ = nullptr;
  std::optional<JoinProblem> problem_;
  std::optional<PrefixGroups> groups_[2];  // of the probe and the index side; in a self-join only the first
  std::optional<PrefixIndex> prefix_index_;
  std::optional<ParityTable> parity_table_;
  std::optional<PrefixJoin> prefix_join_;
  std::optional<SignatureTable> signatures_;
  std::vector<Item> items_;
  std::vector<std::unique_ptr<Worker>> workers_;

  mutable std::mutex mutex_;  // guards what follows
  JoinCounters counters_;
  JoinStats figures_;  // what build() found out
};

}  // namespace simjoin
