// What comparing a range of probes needs on the device: signatures, groups of them, and tiles.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cuda/base/device.hpp"
#include "cuda/engine/compared_sets.hpp"
#include "cuda/filters/bitmap/bitmap_filter.hpp"
#include "cuda/filters/group_signatures.hpp"
#include "cuda/filters/signatures.hpp"
#include "cuda/filters/verification.hpp"
#include "cuda/sets/collection.hpp"

namespace simjoin::gpu {

class BitmapTables {
 public:
  // The range's partners may not be none.
  BitmapTables(Device &device, const DeviceCollection &collection, const ComparedSets &sets,
               const BitmapRange &range, TilePlan plan);

  const TilePlan &plan() const { return plan_; }
  // Lets a verification check the signatures.
  void check_signatures(VerificationJob &job) const;
  // Returns the job of all items, none of them set.
  BitmapJob job(const CandidateView &candidates) const;
  // Describes for EXPLAIN how the signatures are compared.
  std::string describe(BitmapKernel kernel, const Device &device) const;
  // Returns the rest of the range from an item on, to be compared pair by pair.
  BitmapRange rest_from(uint32_t item) const;

 private:
  SignatureView probes() const;
  SignatureView partners() const { return partners_ ? partners_->view() : probes_.view(); }

  const ComparedSets sets_;
  const BitmapRange range_;
  const TilePlan plan_;
  const DeviceSignatureLayout layout_;
  DeviceSignatureTable probes_;  // and partners, in a self-join
  std::optional<DeviceSignatureTable> partners_;
  std::optional<GroupTables> groups_;
  DeviceBuffer<ProbeTile> tiles_;
};

}  // namespace simjoin::gpu
