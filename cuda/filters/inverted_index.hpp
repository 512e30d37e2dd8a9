// Inverted lists of the partners' tokens: of their prefixes, or of all tokens.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/worker_pool.hpp"
#include "core/measure.hpp"
#include "cuda/base/device.hpp"
#include "cuda/sets/collection.hpp"

namespace simjoin::gpu {

// The tokens that are listed and looked up, and the sets that can be partners.
enum class IndexedPart : uint8_t {
  prefixes,  // prefixes of sets of compatible sizes
  sized,     // all tokens of sets of compatible sizes
  all,       // all tokens of all sets
};

// The bounds of all sets of one size.
struct PrefixClass {
  uint32_t begin;          // the first set
  uint32_t probe_prefix;   // tokens to look up; 0 if there is no partner
  uint32_t index_prefix;   // tokens to list
  uint32_t first_partner;  // first set of the partner side
  uint32_t end_partner;    // end of the partners; a self-join ends them at the probe
};

// Returns the classes of one side, whose partners are on the other side. The first set of the bounds is that
// of the one side.
std::vector<PrefixClass> plan_classes(const Bounds &bounds, const DeviceSide &own, const DeviceSide &others,
                                      bool self_join, IndexedPart part);
// Leaves the sets from `end` on out: none of their tokens is listed or looked up.
void leave_out(std::vector<PrefixClass> &classes, uint32_t end);
// Returns a copy on the device. The table may go at once.
template <typename T>
DeviceBuffer<T> upload_table(Device &device, const std::vector<T> &table) {
  DeviceBuffer<T> copy(device, table.size());
  copy_to_device(device, copy.data(), table.data(), table.size());
  return copy;
}

// Returns the offsets of the listed (`index`) or looked-up parts of the sets. The last offset is also written
// to `sum`.
DeviceBuffer<uint64_t> prefix_offsets(Device &device, const DeviceSide &side,
                                      const DeviceBuffer<PrefixClass> &classes, bool index, uint64_t &sum);

// Sets sums[i] to the sum of the counts before i, for i < size.
void scan_counts(Device &device, const uint32_t *counts, uint64_t *sums, uint64_t size);

class InvertedIndex {
 public:
  // Lists the partners before `end_partner`: sets of the right side, or of the only side in a self-join. The
  // first set of the bounds is that of the left side. Throws Cancelled.
  InvertedIndex(Device &device, const DeviceCollection &collection, const Bounds &bounds, bool self_join,
                IndexedPart part, uint32_t end_partner, const StopFlag &stop);

  // Returns the sets by token, ascending. Those of one token are [starts[token], starts[token + 1]).
  const uint32_t *postings() const { return postings_.data(); }
  const uint32_t *starts() const { return starts_.data(); }

 private:
  DeviceBuffer<uint32_t> postings_;
  DeviceBuffer<uint32_t> starts_;
};

}  // namespace simjoin::gpu
