// Which sets go through a prefix index and which through the bitmap filter, by their estimated costs on the
// device.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/measure.hpp"
#include "cuda/engine/prefix_estimate.hpp"
#include "cuda/filters/bitmap/bitmap_filter.hpp"
#include "cuda/sets/collection.hpp"

namespace simjoin::gpu {

// Returns the bitmap filter's milliseconds for the pairs that the probes of each size belong to as probes of
// a prefix index, parallel to the probes' classes.
std::vector<double> bitmap_costs(const Bounds &bounds, const DeviceSide &probes, const DeviceSide &partners,
                                 bool self_join, const SignatureWidths &widths, BitmapKernel kernel);

// Returns how many pairs of sets the kernel compares in a millisecond by signatures of one step.
double pairs_per_ms(BitmapKernel kernel);

// Returns what the prefix filter takes for so many list entries of probes of a size, in milliseconds.
double entries_ms(double entries, uint32_t size);

// Returns what building an index of so many tokens takes, in milliseconds.
double index_cost(double tokens);

// The probes of the classes before `border` go through the prefix index, all others through the bitmap
// filter.
struct BorderChoice {
  size_t border = 0;
  std::string reason;
};

// Returns the border with the least cost. `entries` are the list entries that the probes of each class visit,
// `index_ms` is what an index still costs, where any class goes through it.
BorderChoice choose_border(const DeviceSide &probes, const std::vector<double> &entries,
                           const std::vector<double> &bitmap_ms, double index_ms);

}  // namespace simjoin::gpu
