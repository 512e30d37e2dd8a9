// Verification of candidate pairs on the device: the exact overlap, or that it is too small.
#pragma once

#include <cstdint>

#include "core/measure.hpp"
#include "cuda/base/device.hpp"
#include "cuda/filters/candidates.hpp"
#include "cuda/filters/signatures.hpp"
#include "cuda/sets/collection.hpp"

namespace simjoin::gpu {

// What verification needs to know of the join.
struct VerificationJob {
  Bounds bounds;
  const uint32_t *ranks;
  const SetRecord *probes;
  const SetRecord *partners;
  // Signatures for a last look before tokens are compared; with `check_signatures` only.
  SignatureView probe_signatures;
  SignatureView partner_signatures;
  bool check_signatures;
  bool exact_signatures;  // they have a bit for each token, so that shared bits are the overlap
  bool everything;        // the threshold is met by every pair, empty sets included
  bool self_join;         // results are ordered pairs of rows
};

// Verifies the candidates [begin, end), of those that there are, and appends those that qualify to the
// results; does nothing where there are more candidates than fit.
void launch_verification(Device &device, const VerificationJob &job, const CandidateBuffer &candidates,
                         uint64_t begin = 0, uint64_t end = UINT64_MAX);

// Appends the pairs [begin, end) of the cross product, in a self-join those with probe < partner, to the
// candidates. Pairs are numbered probe by probe.
void launch_enumeration(Device &device, uint64_t begin, uint64_t end, uint32_t partners, bool self_join,
                        const CandidateView &candidates);

}  // namespace simjoin::gpu
