// The prefix index on the device. It finds pairs that share a token of their prefixes, and filters them by
// signature and position.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/worker_pool.hpp"
#include "core/measure.hpp"
#include "cuda/base/device.hpp"
#include "cuda/filters/candidates.hpp"
#include "cuda/filters/inverted_index.hpp"
#include "cuda/filters/signatures.hpp"
#include "cuda/sets/collection.hpp"

namespace simjoin::gpu {

// Steps of the prefix strategy's signatures. With one step, a check of a list entry reads one sector of
// memory.
inline constexpr uint32_t prefix_signature_steps = 1;
// List entries of an item, which one thread block visits.
inline constexpr uint32_t prefix_item_entries = 4096;

// One look-up of a probe's token. Its entries begin at `begin` of the postings.
struct Lookup {
  uint32_t probe;
  uint32_t token;
  uint32_t begin;
};

// The look-ups of the prefixes of the probes before a border, and the inverted lists of the prefixes of the
// partners that these probes can have.
class DevicePrefixIndex {
 public:
  // Looks up the probes before `border`, the first set of a size or the end. Throws Cancelled.
  DevicePrefixIndex(Device &device, const Bounds &bounds, const DeviceCollection &collection, bool self_join,
                    uint32_t border, const StopFlag &stop);

  // Returns the end of the partners that are listed.
  uint32_t end_partner() const { return end_partner_; }
  // Returns how many list entries all look-ups visit, or those of the probes before `probe`.
  uint64_t entries() const { return entries_; }
  uint64_t entries_before(Device &device, uint32_t probe) const;
  // Returns how many entries the probes of each size visit, by class of the probes' side.
  const std::vector<uint64_t> &class_entries() const { return class_entries_; }

  // Returns the partners' sizes for the filter; none if there are so many that it reads their records.
  const DeviceBuffer<DeviceSizeClass> &partner_classes() const { return partner_classes_; }
  const uint32_t *postings() const { return lists_.postings(); }
  const Lookup *lookups() const { return lookups_.data(); }
  const uint64_t *offsets() const { return offsets_.data(); }
  uint64_t lookup_count() const { return lookups_.size(); }

 private:
  DevicePrefixIndex(Device &device, const Bounds &bounds, const DeviceCollection &collection, bool self_join,
                    const std::vector<PrefixClass> &probe_classes, uint32_t border, const StopFlag &stop);
  void look_up(Device &device, const Bounds &bounds, const DeviceCollection &collection, uint32_t probes,
               const std::vector<PrefixClass> &probe_classes, bool self_join, const StopFlag &stop);

  uint32_t end_partner_;
  InvertedIndex lists_;
  DeviceBuffer<DeviceSizeClass> partner_classes_;
  DeviceBuffer<Lookup> lookups_;
  DeviceBuffer<uint64_t> offsets_;        // entries before each look-up, then all entries
  DeviceBuffer<uint64_t> probe_offsets_;  // by probe: its first look-up
  uint64_t entries_ = 0;
  std::vector<uint64_t> class_entries_;
};

// Visits the items [begin, end) of the first `entries` list entries. Appends the pairs that may qualify to
// the candidates, each pair once.
void launch_prefix_filter(Device &device, const Bounds &bounds, const DeviceCollection &collection,
                          bool self_join, const DevicePrefixIndex &index, uint64_t entries,
                          const SignatureView &probes, const SignatureView &partners, uint64_t begin,
                          uint64_t end, const CandidateView &candidates);

}  // namespace simjoin::gpu
