#include "cuda/weighted/weighted_search.hpp"

#include <algorithm>
#include <optional>

#include "cuda/base/device.hpp"
#include "cuda/filters/inverted_index.hpp"
#include "cuda/weighted/weighted_filter.hpp"
#include "cuda/weighted/weighted_lists.hpp"

namespace simjoin::gpu {
namespace {

// The tokens of the probes that are looked up together. Not tuned.
constexpr uint64_t most_lookups = uint64_t{1} << 22;
// Room for pairs that may qualify. A single probe's pairs always have room.
constexpr uint64_t least_room = uint64_t{1} << 20;
// The most tokens that a launch compares with others, so that a join can be cancelled: an H100 takes some
// 20 ms for that many. Most comparisons end early.
constexpr uint64_t launch_tokens = uint64_t{1} << 31;
// Postings that a block takes at a time. Blocks take fewer if sets are large, since a block compares a pair
// after the other.
constexpr uint32_t item_postings = 1024, item_postings_of_large = 256;
constexpr uint32_t large_set = 1024;

class Search {
 public:
  explicit Search(const WeightedProblem &problem)
      : problem_(problem),
        device_(problem.device_memory),
        index_(device_, problem.index, problem.bounds, problem.pool),
        lists_(device_, index_.view(), problem.bounds, problem.ranks, problem.pool.stop()),
        counters_(device_, 1),
        found_(problem.memory) {
    if (!problem.self_join) probes_.emplace(device_, problem.probes, problem.bounds, problem.pool);
    pairs_ = DeviceBuffer<WeightedPair>(device_, std::max<uint64_t>(least_room, problem.index.sets()));
  }

  void run(const std::function<void(const WeightedFinds &)> &take) {
    uint64_t lookups = most_lookups;
    WeightedFinds finds;
    finds.device = device_.name();
    for (uint32_t first = 0; first < problem_.probes.sets(); first = finds.end) {
      finds.end = end_of_tile(first, lookups);
      while (!search(first, finds)) {
        lookups = std::max<uint64_t>(1, tokens(first, finds.end) / 2);
        finds.end = end_of_tile(first, lookups);
      }
      finds.memory_peak = device_.memory_peak();
      take(finds);
      lookups = std::min(most_lookups, lookups * 2);
    }
  }

 private:
  uint64_t tokens(uint32_t first, uint32_t end) const {
    return problem_.probes.starts[end] - problem_.probes.starts[first];
  }

  // Returns the end of the probes from `first` on with at most `lookups` tokens together: one probe at least.
  uint32_t end_of_tile(uint32_t first, uint64_t lookups) const {
    const Buffer<uint64_t> &starts = problem_.probes.starts;
    const uint64_t *end = std::upper_bound(starts.begin() + first + 1, starts.end(), starts[first] + lookups);
    return std::max(first + 1, static_cast<uint32_t>(end - starts.begin()) - 1);
  }

  // Finds the pairs of the probes [first, finds.end). Returns false if there is no room for them.
  bool search(uint32_t first, WeightedFinds &finds) {
    problem_.pool.stop().check();
    const uint64_t count = tokens(first, finds.end);
    begun_.record(device_.stream());
    counters_.fill(0);
    DeviceBuffer<WeightedLookup> lookups(device_, count);
    DeviceBuffer<uint32_t> lengths(device_, count + 1);
    lengths.fill(0);
    DeviceBuffer<uint64_t> offsets(device_, count + 1);
    const WeightedView index = index_.view();
    const WeightedJob job = {probes_ ? probes_->view() : index,
                             index,
                             lists_.postings(),
                             lists_.starts(),
                             problem_.bounds,
                             problem_.self_join};
    launch_look_up(device_, job, first, finds.end, lookups.data(), lengths.data(), counters_.data());
    scan_counts(device_, lengths.data(), offsets.data(), count + 1);
    const uint64_t postings = read_value(device_, offsets.data() + count);
    const uint32_t item = problem_.largest_set > large_set ? item_postings_of_large : item_postings;
    const uint64_t step =
        std::max<uint64_t>(item, launch_tokens / std::max<uint32_t>(1, problem_.largest_set));
    const WeightedPairs room = {pairs_.data(), pairs_.size(), counters_.data()};
    for (uint64_t begin = 0; begin < postings; begin += std::min(step, postings - begin)) {
      problem_.pool.stop().check();
      launch_filter(device_, job, {lookups.data(), offsets.data(), count}, begin,
                    std::min(postings, begin + step), item, room);
      if (read_value(device_, counters_.data()).found > pairs_.size()) return false;
    }
    ended_.record(device_.stream());
    fetch(finds);
    return true;
  }

  void fetch(WeightedFinds &finds) {
    const WeightedCounters counters = read_value(device_, counters_.data());
    found_.resize(counters.found);
    copy_to_host(device_, found_.data(), pairs_.data(), found_.size());
    device_.synchronize();
    finds.pairs = {found_.data(), found_.size()};
    finds.compatible = counters.compatible;
    finds.candidates = counters.candidates;
    finds.kernel_ms = ended_.since(begun_);
  }

  const WeightedProblem &problem_;
  Device device_;
  DeviceWeightedSets index_;
  WeightedLists lists_;
  std::optional<DeviceWeightedSets> probes_;  // in a join of two sides
  DeviceBuffer<WeightedCounters> counters_;
  DeviceBuffer<WeightedPair> pairs_;
  Buffer<WeightedPair> found_;
  Event begun_, ended_;
};

}  // namespace

void CudaWeightedDevice::find(const WeightedProblem &problem,
                              const std::function<void(const WeightedFinds &)> &take) {
  Search(problem).run(take);
}

}  // namespace simjoin::gpu
