// The choice among generators of candidate pairs, from the collection's own statistics and measured costs.
#pragma once

#include <string>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/candidates/bitmap/bitmap_signature.hpp"
#include "core/candidates/join_problem.hpp"

namespace simjoin {

// Which probes go through bitmaps and which through the prefix index, and why.
struct GeneratorPlan {
  std::vector<bool> use_bitmap;          // by probe class
  std::vector<SignatureLayout> layouts;  // by probe class that uses bitmaps
  SignatureLayout layout;                // the layout for all, if there can be only one
  bool sign_postings = false;            // whether signatures in the prefix index pay
  bool sign_sets = false;                // whether a ParityTable pays for the probes of the prefix index
  std::vector<std::string> reasons;
};

// Returns the plan with the least estimated time, size band by size band.
GeneratorPlan choose_generators(const JoinProblem &problem, WorkerPool &pool, MemoryCounter &memory);

// Returns the plan with the least estimated time in which all probes go through one generator, bitmaps with
// one layout. `sampled_share` is the fraction of all probes that `problem.probe` holds.
GeneratorPlan choose_one_generator(const JoinProblem &problem, double sampled_share, WorkerPool &pool,
                                   MemoryCounter &memory);

// Returns the plan that uses bitmaps alone.
GeneratorPlan choose_bitmaps(const JoinProblem &problem, const StopFlag &stop);

}  // namespace simjoin
