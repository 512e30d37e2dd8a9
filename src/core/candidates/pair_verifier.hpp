// Verification of candidate pairs on a GPU, while the threads that find candidates go on.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/base/worker_pool.hpp"
#include "core/candidates/join_problem.hpp"
#include "core/handover/result_queue.hpp"
#include "core/join.hpp"

namespace simjoin {

// The numbers of two sets in their collections.
struct CandidatePair {
  uint32_t probe;
  uint32_t partner;
};

// An error of the device is thrown by the next call of submit() or finish().
class PairVerifier {
 public:
  virtual ~PairVerifier() = default;

  // Takes note of the sets, once they are in order. `problem`, `queue` and `stop` must outlive the work.
  // Pairs go to the queue as (index row, probe row) if `swap` is set, and as ordered pairs in a self-join.
  virtual void start(const JoinProblem &problem, ResultQueue &queue, const StopFlag &stop, bool swap) = 0;
  // Takes candidate pairs over, each once. Any thread may call it. Waits while too many pairs are queued.
  // Throws Cancelled if the join is abandoned meanwhile.
  virtual void submit(std::span<const CandidatePair> pairs) = 0;
  // Returns once all pairs are handed over. Called after the last submit().
  virtual void finish() = 0;
  // Adds the verifier's counts to `stats`. Callable at any time.
  virtual void add_to(JoinStats &stats) const = 0;
};

// Returns an engine that finds candidates on the CPU, as PPJoin does, and has `verifier` verify them. A join
// beyond its memory limit verifies on the CPU, too.
std::unique_ptr<JoinEngine> make_cpu_engine(const JoinSpec &spec, std::unique_ptr<PairVerifier> verifier);

}  // namespace simjoin
