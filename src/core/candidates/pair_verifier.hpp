// Verification of candidate pairs away from the threads that find them: on a GPU, while those go on.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/base/worker_pool.hpp"
#include "core/candidates/join_problem.hpp"
#include "core/handover/result_queue.hpp"
#include "core/join.hpp"

namespace simjoin {

// Numbers of sets in their collections.
struct CandidatePair {
  uint32_t probe;
  uint32_t partner;
};

// Errors of what it runs on are thrown by the next call of submit() or finish().
class PairVerifier {
 public:
  virtual ~PairVerifier() = default;

  // Takes note of the sets, once they are in order; they, the queue and the flag outlive its work. Pairs go
  // to the queue as (index row, probe row) where `swap` is set, in a self-join as ordered pairs.
  virtual void start(const JoinProblem &problem, ResultQueue &queue, const StopFlag &stop, bool swap) = 0;
  // Takes candidates over, each once; any thread may call it. Waits while too many are there. Throws
  // Cancelled where the join is abandoned meanwhile.
  virtual void submit(std::span<const CandidatePair> pairs) = 0;
  // Returns once all pairs are handed over. Called when no more candidates come.
  virtual void finish() = 0;
  // Adds what it did; callable at any time.
  virtual void add_to(JoinStats &stats) const = 0;
};

// Returns an engine that finds candidates on the CPU, as PPJoin does, and has them verified. A join beyond
// its memory limit verifies on the CPU, too.
std::unique_ptr<JoinEngine> make_cpu_engine(const JoinSpec &spec, std::unique_ptr<PairVerifier> verifier);

}  // namespace simjoin
