#include "gpu_service/server/server_search.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "core/base/weight.hpp"
#include "core/weighted/weighted_device.hpp"

namespace simjoin {
namespace {

// More tokens than any host holds.
constexpr uint64_t most_tokens = uint64_t{1} << 40;
// Threads that copy to page-locked memory. Two keep up with a GPU, and there are two searches at most.
constexpr int threads_of_search = 4;
constexpr size_t arrays_of_side = 4;

const SentSearch &checked(const SentSearch &sent) {
  if (sent.of_cosine > 1 || sent.self_join > 1 || sent.wide > 1 ||
      sent.largest_set > most_weighted_gpu_tokens || sent.ranks > UINT32_MAX ||
      !(sent.threshold > 0 && sent.threshold <= 1))
    throw_senseless();
  for (size_t side = 0; side < 2; ++side)
    if (sent.sets[side] >= UINT32_MAX || sent.tokens[side] > most_tokens) throw_senseless();
  return sent;
}

// Returns whether ranks and weights of the sets are such as the search takes.
template <class Weight>
bool are_sets(const WeightedSets &sets, const Buffer<Weight> &weights, uint64_t ranks, uint64_t largest) {
  const size_t count = sets.totals.size();
  if (sets.starts[0] != 0 || sets.starts[count] != sets.ranks.size() ||
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

}  // namespace

ServerSearch::ServerSearch(ServerHost &host, std::shared_ptr<MessageSocket> socket, uint32_t number,
                           const SentSearch &search)
    : ServerWork(host, std::move(socket), number), sent_(checked(search)) {
  const size_t weight = sent_.wide != 0 ? sizeof(double) : sizeof(float);
  for (size_t side = 0; side < (sent_.self_join != 0 ? 1 : 2); ++side) {
    const uint64_t sets = sent_.sets[side], tokens = sent_.tokens[side];
    for (const uint64_t bytes :
         {(sets + 1) * sizeof(uint64_t), sets * sizeof(double), tokens * sizeof(uint32_t), tokens * weight})
      arrays_.push_back({Buffer<char>(memory_), bytes});
  }
}

void ServerSearch::skip_filled() {
  while (!complete() && arrays_[filling_].bytes.size() == arrays_[filling_].expected) ++filling_;
}

// Memory is taken as bytes come, not as they are announced. If there is none, the search fails and not the
// connection.
void ServerSearch::add_bytes(std::span<const char> bytes) {
  const std::lock_guard lock(mutex_);
  if (released_ || out_of_memory_) return;
  if (!admitted_) throw_senseless();
  ++messages_;
  while (!bytes.empty()) {
    if (complete()) throw_senseless();
    auto &[array, expected] = arrays_[filling_];
    const size_t taken = std::min<size_t>(bytes.size(), expected - array.size());
    try {
      std::copy_n(bytes.data(), taken, array.extend(taken));
    } catch (const std::bad_alloc &) {
      out_of_memory_ = true;
      break;
    }
    bytes = bytes.subspan(taken);
    skip_filled();
  }
  changed_.notify_all();
}

void ServerSearch::work(Admission::Turn &turn) {
  turn.wait(stop_);
  {
    const std::lock_guard lock(mutex_);
    admitted_ = true;
  }
  send({Answer::admitted, number_}, {}, &turn);
  wait_for_arrays(turn);
  // A session that was silent has lost its place, and the search has nothing on the GPU yet.
  if (!turn.has_place()) turn.wait(stop_);
  search(turn);
  host_.count_join();
  send_for_credit({Answer::done, number_}, {}, turn);
}

void ServerSearch::wait_for_arrays(Admission::Turn &turn) {
  std::unique_lock lock(mutex_);
  while (!complete()) {
    wait_for_session(
        lock, turn, [this, before = messages_] { return messages_ != before; }, false);
    if (out_of_memory_) throw std::bad_alloc();
  }
}

// Returns the sets of a side. The search does not ask for their rows and the masses of what is stored.
WeightedSets ServerSearch::take_sets(size_t side) {
  const bool wide = sent_.wide != 0;
  Incoming *const arrays = arrays_.data() + arrays_of_side * side;
  WeightedSets sets({wide, false}, memory_);
  sets.starts = std::move(arrays[0].bytes).as<uint64_t>();
  sets.totals = std::move(arrays[1].bytes).as<double>();
  sets.ranks = std::move(arrays[2].bytes).as<uint32_t>();
  if (wide)
    sets.doubles = std::move(arrays[3].bytes).as<double>();
  else
    sets.floats = std::move(arrays[3].bytes).as<float>();
  if (!(wide ? are_sets(sets, sets.doubles, sent_.ranks, sent_.largest_set)
             : are_sets(sets, sets.floats, sent_.ranks, sent_.largest_set)))
    throw_senseless();
  sets.rows.resize(sets.totals.size(), 0);
  sets.stored.resize(sets.totals.size(), 0);
  return sets;
}

void ServerSearch::search(Admission::Turn &turn) {
  const bool self_join = sent_.self_join != 0;
  const WeightedBounds bounds(sent_.of_cosine != 0 ? Measure::cosine : Measure::jaccard, sent_.threshold,
                              self_join, sent_.largest_set);
  const WeightedSets index = take_sets(0);
  std::optional<WeightedSets> probes;
  if (!self_join) probes = take_sets(1);
  WeightedDevice *device = host_.backend().weighted();
  if (device == nullptr) throw Error(ErrorKind::device_unavailable, "the GPU service has no weighted joins");
  WorkerPool pool(threads_of_search, stop_);
  const WeightedProblem problem = {index,
                                   probes ? *probes : index,
                                   bounds,
                                   self_join,
                                   static_cast<uint32_t>(sent_.ranks),
                                   sent_.largest_set,
                                   sent_.device_memory,
                                   pool,
                                   memory_};
  device->find(problem, [&](const WeightedFinds &finds) {
    SentFinds sent = {finds.end, finds.compatible, finds.candidates, finds.memory_peak, finds.kernel_ms, {}};
    finds.device.copy(sent.device, sizeof sent.device - 1);
    send_all(Answer::candidates,
             {reinterpret_cast<const char *>(finds.pairs.data()), finds.pairs.size_bytes()}, turn);
    send_all(Answer::finds, bytes_of(sent), turn);
  });
}

void ServerSearch::send_all(Answer answer, std::span<const char> bytes, Admission::Turn &turn) {
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(bytes.size(), most_payload));
    send_for_credit({answer, number_}, part, turn);
    bytes = bytes.subspan(part.size());
  }
}

void ServerSearch::release() noexcept {
  const std::lock_guard lock(mutex_);
  released_ = true;
  arrays_.clear();
  filling_ = 0;
}

}  // namespace simjoin
