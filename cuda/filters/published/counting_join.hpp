// Joins that count shared tokens in inverted lists, after the published gSSJoin, sf-gSSJoin and fgSSJoin.
#pragma once

#include <cstdint>

#include "core/base/worker_pool.hpp"
#include "core/measure.hpp"
#include "cuda/base/device.hpp"
#include "cuda/filters/candidates.hpp"
#include "cuda/filters/inverted_index.hpp"
#include "cuda/sets/collection.hpp"

namespace simjoin::gpu {

struct CountingJob;

// The lists of all partners, and the items of the count. An item is a probe and a range of partners whose
// counters fit in a thread block's shared memory.
class CountingJoin {
 public:
  // Throws Cancelled.
  CountingJoin(Device &device, const Bounds &bounds, const DeviceCollection &collection, bool self_join,
               IndexedPart part, const StopFlag &stop);

  // Returns whether the counts are overlaps. Then items produce results, otherwise candidates.
  bool exact() const { return part_ != IndexedPart::prefixes; }
  uint64_t items() const { return items_; }
  // Returns how many list entries all items visit.
  uint64_t entries() const { return entries_; }

  // Runs the items [begin, end). Their pairs are counted as candidates, even if they are results.
  void launch_items(Device &device, uint64_t begin, uint64_t end, const CandidateBuffer &out) const;

 private:
  CountingJob make_job(const CandidateBuffer *out) const;

  const Bounds bounds_;
  const DeviceCollection &collection_;
  const bool self_join_;
  const IndexedPart part_;
  InvertedIndex lists_;
  uint32_t class_count_;
  DeviceBuffer<PrefixClass> classes_;  // of the probes
  DeviceBuffer<uint64_t> first_item_;  // by probe, then the number of items
  // By probe: slots of its hash table, or 0 if its counters are indexed by partner.
  DeviceBuffer<uint32_t> slots_;
  uint64_t items_ = 0;
  uint64_t entries_ = 0;
};

}  // namespace simjoin::gpu
