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

struct CountingJob;  // what the kernels see

// The lists of all partners, and the work of counting, cut into items: a probe and a range of its partners,
// whose counters fit in a thread block's shared memory.
class CountingJoin {
 public:
  // Throws Cancelled where it is stopped.
  CountingJoin(Device &device, const Bounds &bounds, const DeviceCollection &collection, bool self_join,
               IndexedPart part, const StopFlag &stop);

  // Returns whether the counts are overlaps, so that what an item leaves are results; otherwise they are
  // candidates.
  bool exact() const { return part_ != IndexedPart::prefixes; }
  uint64_t items() const { return items_; }
  // Returns how many list entries all items visit.
  uint64_t entries() const { return entries_; }

  // Runs the items [begin, end), whose pairs of results or candidates are counted as candidates.
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
  DeviceBuffer<uint64_t> first_item_;  // of each probe; one more than there are probes
  DeviceBuffer<uint32_t> slots_;  // of each probe's hash table; 0 where counters are numbered as partners
  uint64_t items_ = 0;
  uint64_t entries_ = 0;
};

}  // namespace simjoin::gpu
