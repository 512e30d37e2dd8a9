// A search that gives the pairs of a left row nearest first.
#pragma once

#include <chrono>

#include "core/base/memory.hpp"
#include "core/nearest/best_pairs.hpp"
#include "core/nearest/row_search.hpp"

namespace simjoin {

// Pairs that are as near come by right row.
class NearestSearch : public RowSearch {
 public:
  void limit(uint32_t pairs, double least_score) final { best_.limit(pairs, least_score); }
  // Returns pairs of the last left row, the next ones, or `done`.
  StepResult step(std::chrono::microseconds budget, Batch &out) final;
  JoinStats stats() const override;

 protected:
  explicit NearestSearch(const char *algorithm) {
    stats_.algorithm = algorithm;
    stats_.threads = 1;
  }

  // Finds the pairs that `best_` asks for.
  virtual void search() = 0;
  virtual void push(const ScoredPair &pair, Batch &out) const { out.push(0, pair.row, pair.overlap); }

  MemoryCounter memory_;
  JoinStats stats_;
  BestPairs best_;
};

}  // namespace simjoin
