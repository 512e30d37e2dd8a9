// Signatures of many sets at a time, on all threads or on a GPU.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/background_task.hpp"
#include "core/base/error.hpp"
#include "core/device/gpu_attempt.hpp"
#include "core/join.hpp"
#include "core/minhash/minhash.hpp"
#include "core/minhash/minhash_signature.hpp"
#include "core/minhash/signature_device.hpp"
#include "core/minhash/weighted_minhash.hpp"

namespace simjoin {

struct BulkSpec {
  SignatureFamily family = SignatureFamily::minhash;
  uint32_t permutations = 128;
  uint64_t seed = 1;
  int threads = 0;  // 0 = one for each core
  Device device = Device::automatic;
  size_t gpu_memory_limit = 0;  // bytes; 0 = most of the free memory
};

// Returns the milliseconds that signatures of sets with `tokens` tokens in all take on the threads of the
// CPU, and on a GPU with its transfers.
struct SigningCosts {
  double cpu_ms;
  double gpu_ms;
};
SigningCosts signing_costs(SignatureFamily family, size_t tokens, size_t values, uint32_t permutations,
                           int threads);

// Makes signatures of one family, number of values and seed, in rounds. One round is signed while the next is
// added: add sets until the round is full, begin it, and once the round before is done, take its signatures.
// All calls come from one thread. Functions throw std::bad_alloc and, for the GPU, Error. After an exception
// only the destructor may be called.
class BulkSigner {
 public:
  explicit BulkSigner(const BulkSpec &spec);

  // Adds a set of the family minhash by the hashes of its tokens.
  void add(std::span<const uint32_t> hashes);
  // Adds a weighted set of the family weighted.
  void add(std::span<const WeightedToken> tokens);
  // Returns the number of sets added since the last round began.
  size_t added() const { return adding_.headers.size(); }
  // Returns whether they suffice for a round.
  bool full() const;

  // Begins to sign the sets added. The round before must be done; its signatures are gone.
  void begin();
  // Waits for at most `budget`, and returns whether the round is done.
  bool step(std::chrono::microseconds budget);
  // Return the number of sets of the round and, once it is done, the signature of each.
  size_t sets() const { return signing_.headers.size(); }
  size_t signature_bytes(size_t set) const { return signing_.headers[set].bytes(); }
  void write(size_t set, uint8_t *signature) const;

  // Returns the notice of a failure since the last call; null if there was none.
  std::unique_ptr<Notice> take_notice() { return attempt_.take_notice(); }
  // Knows the device of the rounds so far.
  const GpuAttempt &attempt() const { return attempt_; }

 private:
  struct Round {
    std::vector<uint32_t> hashes;
    std::vector<WeightedToken> weighted;
    std::vector<size_t> ends;  // the end of each set's hashes or weighted tokens
    std::vector<SignatureHeader> headers;

    void clear();
  };

  void choose_device();
  void run(WorkerPool &pool);
  void sign_on_gpu(GpuBackend &gpu, WorkerPool &pool);
  void sign_on_cpu(WorkerPool &pool);
  void sign(size_t set, const StopFlag &stop, WeightedMinHasher &weighted);

  const BulkSpec spec_;
  const SignatureHeader header_;
  const MinHasher hasher_;
  GpuAttempt attempt_;
  Round adding_;
  Round signing_;
  std::vector<uint32_t> values_;  // of signing_
  std::unique_ptr<DeviceSigner> signer_;
  std::unique_ptr<BackgroundTask> task_;  // last, so that it ends before what it works on
};

}  // namespace simjoin
