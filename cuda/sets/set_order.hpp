// The order of the sets of a side: by size, then by the excess of their signatures.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/base/device.hpp"
#include "cuda/sets/collection.hpp"
#include "cuda/sets/row_sort.hpp"
#include "cuda/sets/signature_layout.hpp"

namespace simjoin::gpu {

// The layout of the signatures of each width, or of the widest that a warp makes: the order needs no wider
// ones.
struct OrderLayouts {
  DeviceSignatureLayout layouts[SignatureWidths::count];
};

// Makes `side` of the rows [first, first + sets) of both sides' rows. The largest of them has `longest`
// tokens. If `fetch_sizes`, `host_sizes` gets their sizes by row.
void order_side(Device &device, const RowSets &rows, uint32_t first, uint32_t sets, uint32_t longest,
                const OrderLayouts &layouts, const SignatureWidths &widths, DeviceSide &side,
                std::vector<uint32_t> &host_sizes, bool fetch_sizes);

}  // namespace simjoin::gpu
