// The choice between prefix index and bitmap filter for each set size, by estimated costs on the device.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/measure.hpp"
#include "cuda/engine/prefix_estimate.hpp"
#include "cuda/filters/bitmap/bitmap_filter.hpp"
#include "cuda/sets/collection.hpp"

namespace simjoin::gpu {

// Returns the bitmap filter's milliseconds by class of the probes. A pair counts for the probe that would
// find it in a prefix index.
std::vector<double> bitmap_costs(const Bounds &bounds, const DeviceSide &probes, const DeviceSide &partners,
                                 bool self_join, const SignatureWidths &widths, BitmapKernel kernel);

// Returns how many pairs of sets the kernel compares in a millisecond, with signatures of one step.
double pairs_per_ms(BitmapKernel kernel);

// Returns the prefix filter's milliseconds for `entries` list entries of probes of `size` tokens.
double entries_ms(double entries, uint32_t size);

// Returns the milliseconds of building an index of `tokens` tokens.
double index_cost(double tokens);

// Returns the milliseconds of probes in a prefix index, by class of the probes. They visit `entries` list
// entries. An index that is still to be built has `tokens` for them.
std::vector<double> prefix_costs(const DeviceSide &probes, const std::vector<double> &entries,
                                 const std::vector<double> &tokens);

// Probes of the classes before `border` go through the prefix index, all others through the bitmap filter.
struct BorderChoice {
  size_t border = 0;
  std::string reason;
};

// Returns the border with the least cost, from the milliseconds of each class of the probes in either way.
// The classes that `prefix_ms` lacks are not indexed.
BorderChoice choose_border(const DeviceSide &probes, const std::vector<double> &prefix_ms,
                           const std::vector<double> &bitmap_ms);

}  // namespace simjoin::gpu
