#include "cuda/engine/several_gpus.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/thread_budget.hpp"
#include "core/device/device_costs.hpp"
#include "cuda/base/device_memory.hpp"
#include "cuda/base/gpus.hpp"
#include "cuda/engine/group_choice.hpp"
#include "cuda/filters/bitmap/bitmap_filter.hpp"
#include "cuda/sets/collection.hpp"

namespace simjoin::gpu {
namespace {

// A GPU takes this part of its share of what is left, so that all end at about the same time. Shorter parts
// than these, as a part of its share of everything, are not worth their tables. If a GPU fails, the others
// end after their part.
constexpr double part_of_share = 0.5;
constexpr double shortest_part = 0.125;
constexpr double longest_part_ms = 150;
// Bytes of sets that one GPU gets from another in a millisecond: by NVLink, and by PCIe or the host. Two H100
// with NVLink copied 2.3 GB in 8 ms.
constexpr double linked_bytes_per_ms = 2e8;
constexpr double other_bytes_per_ms = 2e7;

// Probes of one size, and the estimated milliseconds of comparing one of them.
struct Stretch {
  uint32_t begin, end;
  double probe_ms;
};

std::vector<Stretch> stretches_of(const RangeWork &work, const BitmapRange &range) {
  const BitmapKernel kernel = kernel_for(work.device, work.options.bitmap_kernel);
  const double pairs_per_ms = comparisons_per_ms(kernel, range.width()) * range.group;
  std::vector<Stretch> stretches;
  for (const RangePart &part : cut_range(work.sets, range.plan, 0, 0)) {
    if (part.begin == part.end) continue;
    stretches.push_back({part.begin, part.end, part.pairs / pairs_per_ms / (part.end - part.begin)});
  }
  return stretches;
}

double milliseconds_of(const std::vector<Stretch> &stretches) {
  return std::accumulate(stretches.begin(), stretches.end(), 0.0, [](double sum, const Stretch &stretch) {
    return sum + stretch.probe_ms * (stretch.end - stretch.begin);
  });
}

// Returns the ranges cut into parts that `gpus` GPUs take in turn. `left` milliseconds of all ranges are
// left; the parts become smaller towards the end.
std::vector<BitmapRange> cut_for(const RangeWork &work, const std::vector<BitmapRange> &ranges, int gpus,
                                 double left) {
  const double shortest = std::min(shortest_part * left / gpus, longest_part_ms);
  std::vector<BitmapRange> parts;
  for (const BitmapRange &range : ranges) {
    uint32_t begin = range.plan.begin;
    double filled = 0;
    const auto cut = [&](uint32_t end) {
      if (begin == end) return;
      parts.push_back({range_of(work.sets, begin, end, range.plan.partner_from), range.steps, range.group});
      begin = end;
      left -= filled;
      filled = 0;
    };
    for (const Stretch &stretch : stretches_of(work, range)) {
      for (uint32_t at = stretch.begin; at < stretch.end;) {
        const double wanted = std::clamp(part_of_share * left / gpus, shortest, longest_part_ms);
        const double tile_ms = std::max(1e-9, stretch.probe_ms * tile_probes);
        const double tiles = std::max(1.0, std::ceil((wanted - filled) / tile_ms));
        const bool full = tiles * tile_probes < stretch.end - at;
        const uint32_t end = full ? at + static_cast<uint32_t>(tiles) * tile_probes : stretch.end;
        filled += stretch.probe_ms * (end - at);
        at = end;
        if (filled >= wanted) cut(end);
      }
    }
    cut(range.plan.end);
  }
  return parts;
}

// Returns the estimated milliseconds that it takes a GPU to get the sets of the first of `usable` GPUs.
double copy_ms(const RangeWork &work, const std::vector<int> &usable) {
  int linked = 0;  // the GPUs of a server are linked alike
  if (usable.size() > 1) {
    cudaDeviceGetP2PAttribute(&linked, cudaDevP2PAttrNativeAtomicSupported, usable[1], work.device.number());
    cudaGetLastError();
  }
  size_t bytes = work.collection.ranks.size() * sizeof(uint32_t);
  for (const DeviceSide &side : work.collection.sides) bytes += side.records.size() * sizeof(SetRecord);
  return static_cast<double>(bytes) / (linked != 0 ? linked_bytes_per_ms : other_bytes_per_ms);
}

// Returns the device memory of the largest tables of a range, about.
size_t most_table_bytes(const ComparedSets &sets, const std::vector<BitmapRange> &ranges) {
  double most = 0;
  for (const BitmapRange &range : ranges) most = std::max(most, table_bytes(sets, range));
  return static_cast<size_t>(1.1 * most);
}

class SharedRanges {
 public:
  SharedRanges(const RangeWork &first, std::vector<BitmapRange> ranges, PairSink &sink, const StopFlag &stop)
      : first_(first), ranges_(std::move(ranges)), sink_(sink), stop_(stop) {}
  ~SharedRanges() { join(); }

  // Lets GPUs [1, gpus) take part.
  void start(int gpus) {
    threads_.reserve(static_cast<size_t>(gpus - 1));
    for (int number = 1; number < gpus; ++number) {
      try {
        threads_.push_back(start_thread([this, number] { help(number); }));
      } catch (const Error &) {
        return;  // fewer GPUs suffice
      }
    }
  }
  // Compares on the calling thread's GPU, and waits for the others. Returns how many took part.
  int run() {
    compare(first_);
    join();
    stop_.check();
    if (failure_) std::rethrow_exception(failure_);
    return gpus_;
  }

 private:
  std::optional<BitmapRange> take() {
    const std::lock_guard lock(mutex_);
    if (next_ == ranges_.size() || failure_) return std::nullopt;
    return ranges_[next_++];
  }
  void compare(const RangeWork &work) {
    std::optional<BitmapRange> range = take();
    if (range) ++gpus_;
    for (; range; range = take()) work.compare(*range);
    work.launches.hand_over();
  }
  // Throws Cancelled if there is nothing to do for another GPU.
  void check() {
    stop_.check();
    const std::lock_guard lock(mutex_);
    if (next_ == ranges_.size() || failure_) throw Cancelled{};
  }
  void join() {
    {
      const std::lock_guard lock(mutex_);
      next_ = ranges_.size();
    }
    for (std::thread &thread : threads_) thread.join();
    threads_.clear();
  }

  void help(int number) {
    try {
      help_on(number);
    } catch (const Cancelled &) {
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }

  // Copies the sets to a GPU and compares ranges there. A GPU that cannot be used takes no part.
  void help_on(int number) {
    std::optional<Device> device;
    DeviceCollection collection;
    std::optional<FilterLaunches> launches;
    try {
      use_device(number);
      device.emplace(first_.options.memory_limit, first_.options.kept_memory);
      collection = copy_collection(*device, first_.collection, first_.device, [this] { check(); });
      launches.emplace(*device, first_.launches.room(), sink_, stop_, first_.report);
      if (launches->room() < first_.launches.room()) return tell_of("it has too little memory");
      device->secure(device->memory_used() + most_table_bytes(first_.sets, ranges_));
    } catch (const Error &error) {
      return tell_of(error.what());
    }
    const ComparedSets sets{first_.sets.bounds, collection.sides[0],
                            collection.sides[spec().self_join ? 0 : 1], spec().self_join};
    compare({spec(), first_.options, *device, collection, sets, *launches, first_.report});
  }
  void tell_of(const std::string &why) {
    first_.report.explain("a GPU takes no part in the comparisons: " + why);
  }

  const JoinSpec &spec() const { return first_.spec; }

  const RangeWork &first_;
  const std::vector<BitmapRange> ranges_;
  PairSink &sink_;
  const StopFlag &stop_;
  std::mutex mutex_;          // guards the following
  size_t next_ = 0;           // range
  std::atomic<int> gpus_{0};  // that have taken a range
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

}  // namespace

void compare_ranges(const RangeWork &first, const std::vector<BitmapRange> &ranges, PairSink &sink,
                    const StopFlag &stop) {
  const std::vector<int> usable = usable_gpus();
  const auto there = static_cast<int>(usable.size());
  int gpus = first.options.workers > 0 ? first.options.workers
             : first.options.gpus == 0 ? there
                                       : std::min(there, first.options.gpus);
  double ms = 0;
  if (gpus > 1) {
    for (const BitmapRange &range : ranges) ms += milliseconds_of(stretches_of(first, range));
    if (first.options.workers == 0) {
      gpus = gpus_that_pay(ms, copy_ms(first, usable), gpus_started(), gpus);
    }
  }
  // The calling thread counts already.
  const CountedThreads threads(gpus - 1);
  gpus = threads.taken() + 1;
  if (gpus == 1) {
    for (const BitmapRange &range : ranges) first.compare(range);
    return;
  }
  SharedRanges shared(first, cut_for(first, ranges, gpus, ms), sink, stop);
  shared.start(gpus);
  const int took_part = shared.run();
  if (took_part < 2) return;
  first.report.explain(std::to_string(took_part) + " GPUs compared the sets, for an estimated " +
                       std::to_string(ms) + " ms of one");
  first.report.update([&](JoinStats &, GpuFigures &figures) {
    figures.device = std::to_string(took_part) + " x " + figures.device;
  });
}

}  // namespace simjoin::gpu
