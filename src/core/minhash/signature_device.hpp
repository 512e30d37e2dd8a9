// Signatures on a GPU: signatures of many sets, the hashes of their bands, and the order of those hashes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/base/worker_pool.hpp"
#include "core/minhash/minhash_plan.hpp"
#include "core/minhash/minhash_signature.hpp"
#include "core/minhash/weighted_minhash.hpp"
#include "core/sort/parallel_sort.hpp"

namespace simjoin {

// Sets one after the other: the tokens of a set end before ends[set].
template <class Token>
struct SetArrays {
  std::span<const Token> tokens;
  std::span<const size_t> ends;

  size_t begin(size_t set) const { return set == 0 ? 0 : ends[set - 1]; }
};

// Makes signatures of one family, number of values and seed. Functions throw Error if the device fails or has
// too little memory, and Cancelled if the pool's stop flag is set. After an exception only the destructor may
// be called. The pool's workers move data between host and device buffers.
class DeviceSigner {
 public:
  virtual ~DeviceSigner() = default;

  // Writes the values of each set of token hashes, as MinHasher makes them.
  virtual void sign(const SetArrays<uint32_t> &sets, WorkerPool &pool, uint32_t *values) = 0;
  // Writes the values of each weighted set, its tokens in any order, as WeightedSamples makes them.
  virtual void sign(const SetArrays<WeightedToken> &sets, WorkerPool &pool, uint32_t *values) = 0;
  // Writes the hashes of the bands of each set of token hashes.
  virtual void hash_bands(const SetArrays<uint32_t> &sets, const BandPlan &plan, WorkerPool &pool,
                          uint64_t *hashes) = 0;

  // The device's name, and the peak of the bytes of its memory that were held.
  virtual std::string device() const = 0;
  virtual size_t memory_peak() const = 0;
};

class SignatureDevice {
 public:
  virtual ~SignatureDevice() = default;

  // Returns a signer for signatures with this header. It takes at most `memory_limit` bytes of the device (0
  // = most of the free memory).
  virtual std::unique_ptr<DeviceSigner> make_signer(const SignatureHeader &header, size_t memory_limit) = 0;

  // Writes the keys to `sorted`, which is other memory, by their upper halves. Keys of equal upper halves
  // stay in their order. Returns the peak of the device memory held, in bytes. Throws as a DeviceSigner does;
  // then `sorted` has no defined values.
  virtual size_t sort(std::span<const SortKey> keys, std::span<SortKey> sorted, WorkerPool &pool,
                      size_t memory_limit) = 0;
};

}  // namespace simjoin
