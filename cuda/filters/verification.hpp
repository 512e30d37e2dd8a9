// Verification of candidate pairs on the device: the exact overlap, or that it is too small.
#pragma once

#include <cstdint>

#include "core/base/host_device.hpp"
#include "core/measure.hpp"
#include "cuda/base/device.hpp"
#include "cuda/filters/candidates.hpp"
#include "cuda/filters/signatures.hpp"
#include "cuda/sets/collection.hpp"

namespace simjoin::gpu {

// The inputs of a verification.
struct VerificationJob {
  Bounds bounds;
  const uint32_t *ranks;
  const SetRecord *probes;
  const SetRecord *partners;
  // Signatures for a last check before tokens are compared. Used only if `check_signatures` is set.
  SignatureView probe_signatures;
  SignatureView partner_signatures;
  bool check_signatures;
  bool exact_signatures;  // each token has a bit, so shared bits are the overlap
  bool everything;        // every pair meets the threshold, even of empty sets
  bool self_join;         // results are ordered pairs of rows

  // Returns whether a block checks the signatures of a pair, because they are too wide for a thread.
  SIMJOIN_HOST_DEVICE bool checks_by_block() const {
    return check_signatures && probe_signatures.steps > warp_steps;
  }
};

// Verifies the candidates [begin, end) that exist, and appends the qualifying pairs to the results. Does
// nothing if there are more candidates than fit.
void launch_verification(Device &device, const VerificationJob &job, const CandidateBuffer &candidates,
                         uint64_t begin = 0, uint64_t end = UINT64_MAX);

// Appends the pairs [begin, end) of the cross product to the candidates, in a self-join only those with probe
// < partner. Pairs are numbered probe by probe.
void launch_enumeration(Device &device, uint64_t begin, uint64_t end, uint32_t partners, bool self_join,
                        const CandidateView &candidates);

}  // namespace simjoin::gpu
