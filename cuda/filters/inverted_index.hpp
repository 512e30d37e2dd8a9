// Inverted lists of the partners' tokens, of their prefixes or of all.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/worker_pool.hpp"
#include "core/measure.hpp"
#include "cuda/base/device.hpp"
#include "cuda/sets/collection.hpp"

namespace simjoin::gpu {

// Which tokens are listed and looked up, and which sets are partners.
enum class IndexedPart : uint8_t {
  prefixes,  // of sets of compatible sizes
  sized,     // all tokens of sets of compatible sizes
  all,       // all tokens of all sets
};

// What holds for all sets of one size.
struct PrefixClass {
  uint32_t begin;          // the first set
  uint32_t probe_prefix;   // tokens to look up; 0 where there is no partner
  uint32_t index_prefix;   // tokens to list
  uint32_t first_partner;  // sets of the partner side
  uint32_t end_partner;    // in a self-join, of those the ones before the probe
};

// Returns what holds for the sets of each size of one side, with the other one as partners.
std::vector<PrefixClass> plan_classes(const Bounds &bounds, const DeviceSide &own, const DeviceSide &others,
                                      bool self_join, IndexedPart part);
DeviceBuffer<PrefixClass> upload_classes(Device &device, const std::vector<PrefixClass> &classes);

// Returns the offsets of the sets' parts that are listed (`index`) or looked up, with the sum at the end.
DeviceBuffer<uint64_t> prefix_offsets(Device &device, const DeviceSide &side,
                                      const DeviceBuffer<PrefixClass> &classes, bool index, uint64_t &sum);

// sums[i] = the sum of the counts before i, for i < size.
void scan_counts(Device &device, const uint32_t *counts, uint64_t *sums, uint64_t size);

class InvertedIndex {
 public:
  // Lists all partners: the right side, in a self-join the only one. Throws Cancelled where it is stopped.
  InvertedIndex(Device &device, const DeviceCollection &collection, const Bounds &bounds, bool self_join,
                IndexedPart part, const StopFlag &stop);

  // Sets by token, then ascending; those of one token are [starts[token], starts[token + 1]).
  const uint32_t *postings() const { return postings_.data(); }
  const uint32_t *starts() const { return starts_.data(); }

 private:
  DeviceBuffer<uint32_t> postings_;
  DeviceBuffer<uint32_t> starts_;
};

}  // namespace simjoin::gpu
