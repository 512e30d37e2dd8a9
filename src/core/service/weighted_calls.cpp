#include "core/service/weighted_calls.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/weight.hpp"

namespace simjoin {
namespace {

// The numbers: whether the measure is the cosine, threshold, whether it is a self-join, ranks, tokens of the
// largest set, whether weights are wide. The arrays of the index, and of the probes in a join of two sides:
// starts, totals, ranks, weights. The result, again and again: pairs, then the figures of their probes.
struct SentFinds {
  uint64_t end, compatible, candidates, memory_peak;
  double kernel_ms;
  char device[64];
};

void give_sets(ServiceCall &call, const WeightedSets &sets) {
  call.input(sets.starts).input(sets.totals).input(sets.ranks);
  sets.format.wide ? call.input(sets.doubles) : call.input(sets.floats);
}

// What a session has got of the result.
class FoundPairs {
 public:
  FoundPairs(const WeightedProblem &problem, const std::function<void(const WeightedFinds &)> &take)
      : problem_(problem), take_(take), pairs_(problem.memory) {}

  // Both return false if what came makes no sense.
  bool add_pairs(std::span<const char> bytes) {
    const size_t count = bytes.size() / sizeof(WeightedPair);
    if (bytes.size() % sizeof(WeightedPair) != 0 ||
        (pairs_.size() + count) / std::max<size_t>(problem_.index.sets(), 1) > problem_.probes.sets() - done_)
      return false;
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char *>(pairs_.extend(count)));
    return true;
  }
  bool add_finds(std::span<const char> bytes) {
    SentFinds sent;
    if (bytes.size() != sizeof sent) return false;
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char *>(&sent));
    const auto fits = [&](const WeightedPair &pair) {
      return pair.probe >= done_ && pair.probe < sent.end &&
             pair.partner < (problem_.self_join ? pair.probe : problem_.index.sets());
    };
    if (sent.end <= done_ || sent.end > problem_.probes.sets() ||
        !std::all_of(pairs_.begin(), pairs_.end(), fits))
      return false;
    done_ = static_cast<uint32_t>(sent.end);
    WeightedFinds finds;
    finds.end = done_;
    finds.pairs = {pairs_.data(), pairs_.size()};
    finds.compatible = sent.compatible;
    finds.candidates = sent.candidates;
    finds.kernel_ms = sent.kernel_ms;
    sent.device[sizeof sent.device - 1] = '\0';
    finds.device = std::string(sent.device) + " (service)";
    finds.memory_peak = sent.memory_peak;
    take_(finds);
    pairs_.clear();
    return true;
  }
  bool complete() const { return done_ == problem_.probes.sets(); }

 private:
  const WeightedProblem &problem_;
  const std::function<void(const WeightedFinds &)> &take_;
  Buffer<WeightedPair> pairs_;
  uint32_t done_ = 0;
};

// Returns whether ranks and weights of the sets are such as the search takes.
template <class Weight>
bool are_sets(const WeightedSets &sets, const Buffer<Weight> &weights, uint64_t ranks, uint64_t largest) {
  const size_t count = sets.totals.size();
  if (sets.starts.size() != count + 1 || count >= UINT32_MAX || sets.starts[0] != 0 ||
      sets.starts[count] != sets.ranks.size() || weights.size() != sets.ranks.size() ||
      !std::all_of(sets.totals.begin(), sets.totals.end(), is_weight) ||
      !std::is_sorted(sets.totals.begin(), sets.totals.end()) ||
      !std::all_of(weights.begin(), weights.end(), is_weight))
    return false;
  for (size_t set = 0; set < count; ++set) {
    const uint64_t begin = sets.starts[set], end = sets.starts[set + 1];
    if (end < begin || end > sets.ranks.size() || end - begin > largest) return false;
    for (uint64_t i = begin; i < end; ++i)
      if (sets.ranks[i] >= ranks || (i > begin && sets.ranks[i] <= sets.ranks[i - 1])) return false;
  }
  return true;
}

// Returns the sets of four arrays. The search does not ask for their rows and the masses of what is stored.
WeightedSets sets_of(const Call &call, size_t first_array) {
  const bool wide = call.sent.numbers[5] != 0;
  WeightedSets sets({wide, false}, call.memory);
  sets.starts = call.take<uint64_t>(first_array);
  sets.totals = call.take<double>(first_array + 1);
  sets.ranks = call.take<uint32_t>(first_array + 2);
  const uint64_t ranks = call.sent.numbers[3], largest = call.sent.numbers[4];
  if (wide)
    sets.doubles = call.take<double>(first_array + 3);
  else
    sets.floats = call.take<float>(first_array + 3);
  if (!(wide ? are_sets(sets, sets.doubles, ranks, largest) : are_sets(sets, sets.floats, ranks, largest)))
    throw_senseless();
  sets.rows.resize(sets.totals.size(), 0);
  sets.stored.resize(sets.totals.size(), 0);
  return sets;
}

}  // namespace

void ServiceWeighted::find(const WeightedProblem &problem,
                           const std::function<void(const WeightedFinds &)> &take) {
  if (WeightedDevice *own = own_()) return own->find(problem, take);
  ServiceCall call(connect_, Function::weighted, problem.device_memory);
  call.number(problem.bounds.of_cosine()).number(std::bit_cast<uint64_t>(problem.bounds.threshold()));
  call.number(problem.self_join).number(problem.ranks).number(problem.largest_set);
  call.number(problem.index.format.wide);
  give_sets(call, problem.index);
  if (!problem.self_join) give_sets(call, problem.probes);
  FoundPairs found(problem, take);
  call.output([&](std::span<const char> bytes) { return found.add_pairs(bytes); });
  call.output([&](std::span<const char> bytes) { return found.add_finds(bytes); });
  call.run(problem.pool.stop());
  if (!found.complete()) call.throw_ended();
}

CallResult serve_weighted(const Call &call) {
  const uint64_t(&numbers)[most_call_numbers] = call.sent.numbers;
  const auto threshold = std::bit_cast<double>(numbers[1]);
  if (numbers[0] > 1 || !(threshold > 0 && threshold <= 1) || numbers[2] > 1 || numbers[3] > UINT32_MAX ||
      numbers[4] > most_weighted_gpu_tokens || numbers[5] > 1)
    throw_senseless();
  const bool self_join = numbers[2] != 0;
  const auto largest = static_cast<uint32_t>(numbers[4]);
  const WeightedBounds bounds(numbers[0] != 0 ? Measure::cosine : Measure::jaccard, threshold, self_join,
                              largest);
  const WeightedSets index = sets_of(call, 0);
  std::optional<WeightedSets> probes;
  if (!self_join) probes = sets_of(call, 4);
  call.host.drop_kept();
  WeightedDevice *device = call.host.backend().weighted();
  if (device == nullptr) throw Error(ErrorKind::device_unavailable, "the GPU service has no weighted joins");
  const WeightedProblem problem = {
      index,   probes ? *probes : index, bounds,    self_join,  static_cast<uint32_t>(numbers[3]),
      largest, call.sent.device_memory,  call.pool, call.memory};
  device->find(problem, [&](const WeightedFinds &finds) {
    SentFinds sent = {finds.end, finds.compatible, finds.candidates, finds.memory_peak, finds.kernel_ms, {}};
    finds.device.copy(sent.device, sizeof sent.device - 1);
    call.give(0, {reinterpret_cast<const char *>(finds.pairs.data()), finds.pairs.size_bytes()});
    call.give(1, bytes_of(sent));
  });
  return {};
}

}  // namespace simjoin
