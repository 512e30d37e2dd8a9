// The engine for GPUs, behind the interface of core/join.hpp. Callers need no CUDA header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/join.hpp"
#include "cuda/base/gpus.hpp"
#include "cuda/filters/bitmap/bitmap_kernel.hpp"

namespace simjoin {

// Figures of a join on the device beyond JoinStats. Milliseconds are wall clock on the host unless stated
// otherwise. Those of filters, verification and download are sums over the GPUs that share a join.
struct GpuFigures {
  std::string device;              // name of the device
  double start_ms = 0;             // context, memory pool, pinned staging
  double marshal_ms = 0;           // in add(): copies to the staging buffers, with uploads beside them
  double upload_ms = 0;            // the part of the upload left when the input ended
  double build_ms = 0;             // ranks, order, signatures
  double index_ms = 0;             // the prefix index, if one was built
  double filter_ms = 0;            // the filter kernels, by device events
  double verify_ms = 0;            // the verification kernels, by device events
  double longest_launch_ms = 0;    // of both kinds; an abandoned join waits for this long
  double download_ms = 0;          // results to the host and to the caller, most of it beside launches
  double total_ms = 0;             // from the end of the input to the last pair
  double filter_pairs = 0;         // pairs that the bitmap filter compared, one by one or in groups
  double filter_bit_pairs = 0;     // its comparisons, weighted by the width of the signatures in bits
  double list_entries = 0;         // list entries that the prefix index visited
  uint64_t candidates = 0;         // pairs that were verified
  uint64_t launches_repeated = 0;  // filter launches whose candidates did not fit, repeated with fewer items
  size_t device_memory_peak = 0;   // bytes; with tiles, of the largest one
  uint64_t tile_pairs = 0;         // joins of tiles; 0 if all was joined at once
  uint64_t tile_pairs_failed = 0;  // tile pairs that found too little memory and were cut
};

class GpuJoinEngine : public JoinEngine {
 public:
  virtual GpuFigures figures() const = 0;
};

struct GpuOptions {
  size_t memory_limit = 0;                  // bytes of device memory; 0 = most of the free memory
  size_t kept_memory = kept_device_memory;  // bytes that this process may keep for its next join
  int gpus = 1;                             // GPUs that share a large join; 0 = all
  // Test hooks. `tile_rows` is the most rows of a tile; 0 = only necessary tiles, as large as possible.
  // `workers` share the GPUs in turn, for tiles or ranges of probes; 0 = one for each GPU that pays.
  uint32_t tile_rows = 0;
  int workers = 0;
  size_t candidate_capacity = 0;  // candidates of one filter launch; 0 = chosen by the engine
  // `mixed` puts the border between prefix index and bitmap filter at the middle size.
  enum class Strategy : uint8_t { automatic, bitmap, prefix, mixed, gssjoin, fgssjoin, sf_gssjoin };
  Strategy strategy = Strategy::automatic;
  BitmapKernel bitmap_kernel = BitmapKernel::fastest;
  // Partners that the bitmap filter compares with a probe at once; 0 = chosen by a sample.
  uint32_t bitmap_group = 0;
};

// Returns an engine that runs on the current GPU and uses it from the first set on. A failure of the device
// is an Error of kind device_failure, too little device memory is limit_exceeded.
std::unique_ptr<GpuJoinEngine> make_gpu_engine(const JoinSpec &spec, const GpuOptions &options = {});

}  // namespace simjoin
