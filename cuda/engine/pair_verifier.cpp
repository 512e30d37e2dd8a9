#include "cuda/engine/pair_verifier.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "cuda/base/device.hpp"
#include "cuda/base/page_locked.hpp"
#include "cuda/engine/filter_launches.hpp"
#include "cuda/engine/join_report.hpp"
#include "cuda/filters/candidates.hpp"
#include "cuda/filters/pair_sink.hpp"
#include "cuda/filters/verification.hpp"
#include "cuda/sets/collection.hpp"

namespace simjoin {
namespace {

using gpu::Candidate;
using gpu::Device;
using gpu::DeviceBuffer;
using gpu::DeviceSide;
using gpu::PairCounters;
using gpu::PinnedBuffer;

// Candidates of a chunk: enough for its transfer and verification to outweigh its launches.
constexpr size_t chunk_pairs = size_t{1} << 19;
// One chunk is filled and one verified while another waits.
constexpr size_t chunk_count = 3;
// Bytes uploaded between two checks of the stop flag.
constexpr size_t upload_piece = size_t{16} << 20;
constexpr auto longest_wait = std::chrono::milliseconds(10);  // between checks of the stop flag

struct Chunk {
  PinnedBuffer<Candidate> pairs{chunk_pairs};
  size_t count = 0;
};

// Passes pairs of probes and partners on as pairs of the caller's sides.
class CallersPairs final : public gpu::PairSink {
 public:
  CallersPairs(ResultQueue &queue, bool swap) : queue_(queue), swap_(swap) {}
  void push(Batch &batch) override {
    if (swap_) batch.left.swap(batch.right);
    queue_.push(batch);
  }

 private:
  ResultQueue &queue_;
  const bool swap_;
};

// Objects on the device, from start() on.
struct OnDevice {
  OnDevice(size_t memory_limit, ResultQueue &queue, bool swap) : device(memory_limit), sink(queue, swap) {}

  Device device;
  DeviceBuffer<uint32_t> ranks;
  DeviceSide sides[2];  // the probes and, unless they are the same, the partners
  CallersPairs sink;
  std::optional<gpu::FilterLaunches> launches;
  PinnedBuffer<PairCounters> counters{1};
};

class GpuVerifier final : public PairVerifier {
 public:
  explicit GpuVerifier(size_t memory_limit) : memory_limit_(memory_limit) {}
  // The join is over or was stopped.
  ~GpuVerifier() override {
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
    if (on_device_) on_device_->device.make_current_or_not();
  }

  void start(const JoinProblem &problem, ResultQueue &queue, const StopFlag &stop, bool swap) override;
  void submit(std::span<const CandidatePair> pairs) override;
  void finish() override;
  void add_to(JoinStats &stats) const override;

 private:
  void upload_sets(const JoinProblem &problem, const StopFlag &stop);
  void upload_side(const SetCollection &sets, uint64_t first_token, DeviceSide &side, const StopFlag &stop);
  void open_chunk();
  void serve();
  std::unique_ptr<Chunk> next_chunk();
  void verify(const Chunk &chunk);
  template <typename Ready>
  void wait(std::unique_lock<std::mutex> &lock, Ready &&ready);

  const size_t memory_limit_;
  std::optional<OnDevice> on_device_;
  std::optional<gpu::VerificationJob> job_;
  const StopFlag *stop_ = nullptr;
  gpu::JoinReport report_;
  std::thread thread_;

  std::mutex mutex_;  // guards the members below
  std::condition_variable wake_;
  std::unique_ptr<Chunk> filling_;
  std::deque<std::unique_ptr<Chunk>> full_;
  std::vector<std::unique_ptr<Chunk>> empty_;
  size_t chunks_ = 0;  // chunks made so far
  bool last_ = false;  // no more candidates come
  bool done_ = false;  // the thread has ended
  std::exception_ptr failure_;
};

// Waits until ready(). Throws the thread's failure, and Cancelled if the join is abandoned.
template <typename Ready>
void GpuVerifier::wait(std::unique_lock<std::mutex> &lock, Ready &&ready) {
  for (;;) {
    if (failure_) std::rethrow_exception(failure_);
    stop_->check();
    if (ready()) return;
    wake_.wait_for(lock, longest_wait);
  }
}

void GpuVerifier::start(const JoinProblem &problem, ResultQueue &queue, const StopFlag &stop, bool swap) {
  stop_ = &stop;
  OnDevice &on = on_device_.emplace(memory_limit_, queue, swap && !problem.self_join());
  upload_sets(problem, stop);
  on.launches.emplace(on.device, chunk_pairs, on.sink, stop, report_);
  report_.update([&](JoinStats &stats, GpuFigures &figures) {
    stats.device = on.device.name();
    figures.device_memory_peak = on.device.memory_peak();
  });
  thread_ = start_thread([this] { serve(); });
}

// Puts the tokens of both sides one after another, as verification needs them.
void GpuVerifier::upload_sets(const JoinProblem &problem, const StopFlag &stop) {
  OnDevice &on = *on_device_;
  const uint64_t probe_tokens = problem.probe.tokens.size();
  const uint64_t index_tokens = problem.self_join() ? 0 : problem.index.tokens.size();
  on.ranks = DeviceBuffer<uint32_t>(on.device, probe_tokens + index_tokens);
  upload_side(problem.probe, 0, on.sides[0], stop);
  if (!problem.self_join()) upload_side(problem.index, probe_tokens, on.sides[1], stop);
  job_.emplace(gpu::VerificationJob{problem.bounds,
                                    on.ranks.data(),
                                    on.sides[0].records.data(),
                                    on.sides[problem.self_join() ? 0 : 1].records.data(),
                                    {},
                                    {},
                                    false,
                                    false,
                                    false,
                                    problem.self_join()});
}

void GpuVerifier::upload_side(const SetCollection &sets, uint64_t first_token, DeviceSide &side,
                              const StopFlag &stop) {
  Device &device = on_device_->device;
  const auto upload = [&]<typename T>(T *to, const T *from, size_t count) {
    constexpr size_t piece = upload_piece / sizeof(T);
    for (size_t i = 0; i < count; i += piece) {
      stop.check();
      copy_to_device(device, to + i, from + i, std::min(piece, count - i));
    }
  };
  upload(on_device_->ranks.data() + first_token, sets.tokens.data(), sets.tokens.size());
  std::vector<gpu::SetRecord> host(sets.sets());
  for (const SizeClass &c : sets.classes) {
    stop.check();
    side.classes.push_back({c.size, c.begin});
    for (uint32_t set = c.begin; set < c.end; ++set) {
      host[set] = {first_token + sets.starts[set], sets.stored(set), c.size, sets.rows[set], {}};
    }
  }
  side.sets = sets.sets();
  side.classes.push_back({UINT32_MAX, side.sets});
  side.records = DeviceBuffer<gpu::SetRecord>(device, host.size());
  upload(side.records.data(), host.data(), host.size());
  device.synchronize();
}

void GpuVerifier::submit(std::span<const CandidatePair> pairs) {
  static_assert(sizeof(CandidatePair) == sizeof(Candidate));
  std::unique_lock lock(mutex_);
  while (!pairs.empty()) {
    wait(lock, [this] { return filling_ || !empty_.empty() || chunks_ < chunk_count; });
    if (!filling_) open_chunk();
    const size_t count = std::min(pairs.size(), chunk_pairs - filling_->count);
    std::memcpy(filling_->pairs.data() + filling_->count, pairs.data(), count * sizeof(Candidate));
    filling_->count += count;
    pairs = pairs.subspan(count);
    if (filling_->count == chunk_pairs) {
      full_.push_back(std::move(filling_));
      wake_.notify_all();
    }
  }
}

// Takes an empty chunk to fill. Page-locked memory is only allocated when needed.
void GpuVerifier::open_chunk() {
  if (empty_.empty()) {
    on_device_->device.make_current();
    filling_ = std::make_unique<Chunk>();
    ++chunks_;
    return;
  }
  filling_ = std::move(empty_.back());
  empty_.pop_back();
  filling_->count = 0;
}

void GpuVerifier::finish() {
  std::unique_lock lock(mutex_);
  if (filling_) full_.push_back(std::move(filling_));
  last_ = true;
  wake_.notify_all();
  wait(lock, [this] { return done_; });
}

// Returns the next chunk to verify, or null at the end.
std::unique_ptr<Chunk> GpuVerifier::next_chunk() {
  std::unique_lock lock(mutex_);
  while (full_.empty() && !last_ && !stop_->is_set()) wake_.wait_for(lock, longest_wait);
  if (full_.empty() || stop_->is_set()) return nullptr;
  std::unique_ptr<Chunk> chunk = std::move(full_.front());
  full_.pop_front();
  return chunk;
}

void GpuVerifier::serve() {
  std::exception_ptr failure;
  try {
    OnDevice &on = *on_device_;
    on.device.make_current();
    while (std::unique_ptr<Chunk> chunk = next_chunk()) {
      verify(*chunk);
      const std::lock_guard lock(mutex_);
      empty_.push_back(std::move(chunk));
      wake_.notify_all();
    }
    on.launches->hand_over();
  } catch (const Cancelled &) {
  } catch (...) {
    failure = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  failure_ = failure;
  done_ = true;
  wake_.notify_all();
}

// Verifies the chunk's candidates, whose copies stand for a filter. They may be more than fit at a time.
void GpuVerifier::verify(const Chunk &chunk) {
  OnDevice &on = *on_device_;
  gpu::FilterLaunches &launches = *on.launches;
  // The sets may be much longer than those of the chunk before. They are numbered by ascending size.
  const auto [least, largest] =
      std::minmax_element(chunk.pairs.data(), chunk.pairs.data() + chunk.count,
                          [](const Candidate &a, const Candidate &b) { return a.probe < b.probe; });
  launches.open_window(on.sides[0], least->probe, largest->probe + 1);
  launches.run(&*job_, chunk.count, static_cast<double>(launches.room()), [&](uint64_t begin, uint64_t end) {
    on.counters[0] = {};
    on.counters[0].candidates = end - begin;
    copy_to_device(on.device, launches.candidates().pairs.data(), chunk.pairs.data() + begin, end - begin);
    copy_to_device(on.device, launches.candidates().counters.data(), on.counters.data(), 1);
  });
}

void GpuVerifier::add_to(JoinStats &stats) const {
  const JoinStats done = report_.stats();
  if (done.device.empty()) return;  // not started
  const GpuFigures figures = report_.figures();
  stats.PairCounts::operator+=(done);
  stats.verify_ms += figures.verify_ms;
  stats.device = done.device;
  stats.device_memory_peak = figures.device_memory_peak;
  stats.reasons.push_back("cpu_gpu asked for: candidates by the CPU's prefix index, verified on the GPU");
}

}  // namespace

std::unique_ptr<PairVerifier> make_gpu_verifier(size_t memory_limit) {
  return std::make_unique<GpuVerifier>(memory_limit);
}

}  // namespace simjoin
