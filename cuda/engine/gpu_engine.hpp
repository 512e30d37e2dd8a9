// The engine for one GPU, behind the interface of core/join.hpp. No CUDA header is needed to use it.
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

// What a join on the device did, beyond JoinStats. Milliseconds are wall clock on the host unless they say
// otherwise.
struct GpuFigures {
  std::string device;              // its name
  double start_ms = 0;             // context, memory pool, pinned staging
  double marshal_ms = 0;           // in add(): copying tokens to the staging buffers, uploads overlapped
  double upload_ms = 0;            // what of the upload was left when the input ended
  double build_ms = 0;             // ranks, order, signatures
  double index_ms = 0;             // the prefix index, where one was built
  double filter_ms = 0;            // the filter kernels, by device events
  double verify_ms = 0;            // the verification kernels, by device events
  double longest_launch_ms = 0;    // of both kinds; an abandoned join waits for it
  double download_ms = 0;          // results to the host and to the caller
  double total_ms = 0;             // from the end of the input to the last pair
  double filter_pairs = 0;         // pairs that the bitmap filter compared
  double filter_bit_pairs = 0;     // the same, weighted by the width of the signatures in bits
  double list_entries = 0;         // list entries that the prefix index visited
  uint64_t candidates = 0;         // pairs that were verified
  uint64_t launches_repeated = 0;  // filter launches whose candidates did not fit and that ran again, smaller
  size_t device_memory_peak = 0;   // bytes; of a join in tiles, of the largest
  uint64_t tile_pairs = 0;         // joins of tiles; 0 where all was joined at once
  uint64_t tile_pairs_failed = 0;  // those that found too little memory and were cut
};

class GpuJoinEngine : public JoinEngine {
 public:
  virtual GpuFigures figures() const = 0;
};

struct GpuOptions {
  size_t memory_limit = 0;                  // bytes of device memory; 0 = most of what is free
  size_t kept_memory = kept_device_memory;  // bytes that this process may keep for its next join
  int gpus = 1;                             // that share a join that is large enough; 0 = all
  // Test hooks: joins in tiles of at most so many rows, 0 = only where there is a reason, in tiles as large
  // as possible; and by so many workers, on GPUs in turn, 0 = one for each GPU that pays.
  uint32_t tile_rows = 0;
  int workers = 0;
  size_t candidate_capacity = 0;  // pairs that one filter launch can leave; 0 = chosen by the engine
  // `mixed` puts the border between the prefix index and the bitmap filter at the middle one of the sizes.
  enum class Strategy : uint8_t { automatic, bitmap, prefix, mixed, gssjoin, fgssjoin, sf_gssjoin };
  Strategy strategy = Strategy::automatic;
  BitmapKernel bitmap_kernel = BitmapKernel::fastest;
};

// Returns an engine that runs on the current GPU. It uses the device from the first set on; failures of the
// device are Errors of kind device_failure, too little device memory is limit_exceeded.
std::unique_ptr<GpuJoinEngine> make_gpu_engine(const JoinSpec &spec, const GpuOptions &options = {});

}  // namespace simjoin
