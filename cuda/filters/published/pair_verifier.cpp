#include "cuda/filters/published/pair_verifier.hpp"

#include <algorithm>
#include <atomic>
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
#include "cuda/base/launch_size.hpp"
#include "cuda/base/page_locked.hpp"
#include "cuda/filters/candidates.hpp"
#include "cuda/filters/result_fetch.hpp"
#include "cuda/filters/verification.hpp"

namespace simjoin {
namespace {

using gpu::Candidate;
using gpu::CandidateBuffer;
using gpu::Device;
using gpu::DeviceBuffer;
using gpu::Event;
using gpu::PairCounters;
using gpu::PinnedBuffer;

// Candidates of a chunk: enough for its transfer and verification to outweigh its launches.
constexpr size_t chunk_pairs = size_t{1} << 19;
// One chunk is filled and one verified while another waits.
constexpr size_t chunk_count = 3;
// Candidates of a chunk's first launch. It is small because the sets may be much longer than those of the
// chunk before. The time of each launch determines the size of the next. Pairs of sets of 20,000 tokens, as
// in `orkut`, should take some 4 ms, by what GpuJoin expects of an H200. Not tuned.
constexpr double first_window = 4096;
// Bytes uploaded between two checks of the stop flag.
constexpr size_t upload_piece = size_t{16} << 20;
constexpr auto longest_wait = std::chrono::milliseconds(10);  // between checks of the stop flag

struct Chunk {
  PinnedBuffer<Candidate> pairs{chunk_pairs};
  size_t count = 0;
};

// Objects on the device, from start() on.
struct OnDevice {
  explicit OnDevice(size_t memory_limit) : device(memory_limit) {}

  Device device;
  DeviceBuffer<uint32_t> ranks;
  DeviceBuffer<gpu::SetRecord> records[2];  // of the probes and, unless they are the same, of the partners
  std::unique_ptr<CandidateBuffer> buffer;
  PinnedBuffer<PairCounters> counters{1};
  Event begin, end;
  gpu::ResultFetcher fetcher;
};

class GpuVerifier final : public PairVerifier {
 public:
  explicit GpuVerifier(size_t memory_limit) : memory_limit_(memory_limit) {}
  ~GpuVerifier() override {
    quit_ = true;
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
  void upload_side(const SetCollection &sets, uint64_t first_token, DeviceBuffer<gpu::SetRecord> &records,
                   const StopFlag &stop);
  void open_chunk();
  void serve();
  std::unique_ptr<Chunk> next_chunk();
  void verify(const Chunk &chunk);
  double verify_window(uint64_t begin, uint64_t end);
  template <typename Ready>
  void wait(std::unique_lock<std::mutex> &lock, Ready &&ready);

  const size_t memory_limit_;
  std::optional<OnDevice> on_device_;
  std::optional<gpu::VerificationJob> job_;
  ResultQueue *queue_ = nullptr;
  const StopFlag *stop_ = nullptr;
  bool swap_ = false;
  std::thread thread_;
  std::atomic<bool> quit_{false};

  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable wake_;
  std::unique_ptr<Chunk> filling_;
  std::deque<std::unique_ptr<Chunk>> full_;
  std::vector<std::unique_ptr<Chunk>> empty_;
  size_t chunks_ = 0;  // chunks made so far
  bool last_ = false;  // no more candidates come
  bool done_ = false;  // the thread has ended
  std::exception_ptr failure_;
  JoinStats stats_;
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
  queue_ = &queue;
  stop_ = &stop;
  swap_ = swap && !problem.self_join();
  on_device_.emplace(memory_limit_);
  upload_sets(problem, stop);
  on_device_->buffer = std::make_unique<CandidateBuffer>(on_device_->device, chunk_pairs);
  {
    const std::lock_guard lock(mutex_);
    stats_.device = on_device_->device.name();
    stats_.device_memory_peak = on_device_->device.memory_peak();
  }
  thread_ = start_thread([this] { serve(); });
}

// Puts the tokens of both sides one after another, as verification needs them.
void GpuVerifier::upload_sets(const JoinProblem &problem, const StopFlag &stop) {
  OnDevice &on = *on_device_;
  const uint64_t probe_tokens = problem.probe.tokens.size();
  const uint64_t index_tokens = problem.self_join() ? 0 : problem.index.tokens.size();
  on.ranks = DeviceBuffer<uint32_t>(on.device, probe_tokens + index_tokens);
  upload_side(problem.probe, 0, on.records[0], stop);
  if (!problem.self_join()) upload_side(problem.index, probe_tokens, on.records[1], stop);
  job_.emplace(gpu::VerificationJob{problem.bounds,
                                    on.ranks.data(),
                                    on.records[0].data(),
                                    on.records[problem.self_join() ? 0 : 1].data(),
                                    {},
                                    {},
                                    false,
                                    false,
                                    false,
                                    problem.self_join()});
}

void GpuVerifier::upload_side(const SetCollection &sets, uint64_t first_token,
                              DeviceBuffer<gpu::SetRecord> &records, const StopFlag &stop) {
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
    for (uint32_t set = c.begin; set < c.end; ++set) {
      host[set] = {first_token + sets.starts[set], sets.stored(set), c.size, sets.rows[set], {}};
    }
  }
  records = DeviceBuffer<gpu::SetRecord>(device, host.size());
  upload(records.data(), host.data(), host.size());
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
  while (full_.empty() && !last_ && !quit_ && !stop_->is_set()) wake_.wait_for(lock, longest_wait);
  if (full_.empty() || quit_ || stop_->is_set()) return nullptr;
  std::unique_ptr<Chunk> chunk = std::move(full_.front());
  full_.pop_front();
  return chunk;
}

void GpuVerifier::serve() {
  std::exception_ptr failure;
  try {
    on_device_->device.make_current();
    while (std::unique_ptr<Chunk> chunk = next_chunk()) {
      verify(*chunk);
      const std::lock_guard lock(mutex_);
      empty_.push_back(std::move(chunk));
      wake_.notify_all();
    }
  } catch (const Cancelled &) {
  } catch (...) {
    failure = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  failure_ = failure;
  done_ = true;
  wake_.notify_all();
}

void GpuVerifier::verify(const Chunk &chunk) {
  OnDevice &on = *on_device_;
  on.counters[0] = {};
  on.counters[0].candidates = chunk.count;
  copy_to_device(on.device, on.buffer->pairs.data(), chunk.pairs.data(), chunk.count);
  copy_to_device(on.device, on.buffer->counters.data(), on.counters.data(), 1);
  double sum = 0, window = first_window;
  for (uint64_t done = 0; done < chunk.count;) {
    if (quit_) throw Cancelled{};
    stop_->check();
    const uint64_t end = std::min<uint64_t>(chunk.count, done + static_cast<uint64_t>(window));
    const double ms = verify_window(done, end);
    window = std::min(gpu::next_window({static_cast<double>(end - done), ms}, window),
                      static_cast<double>(chunk_pairs));
    sum += ms;
    done = end;
  }
  const uint64_t results = on.counters[0].results;
  {
    const std::lock_guard lock(mutex_);
    stats_.verified += chunk.count;
    stats_.output += results;
    stats_.verify_ms += sum;
  }
  on.fetcher.fetch(on.buffer->results, results, swap_, [this](Batch &batch) { queue_->push(batch); });
}

// Verifies the candidates [begin, end) of the chunk on the device, and fetches the counters. Returns the
// milliseconds of the verification.
double GpuVerifier::verify_window(uint64_t begin, uint64_t end) {
  OnDevice &on = *on_device_;
  on.begin.record(on.device.stream());
  launch_verification(on.device, *job_, *on.buffer, begin, end);
  on.end.record(on.device.stream());
  copy_to_host(on.device, on.counters.data(), on.buffer->counters.data(), 1);
  on.device.synchronize();
  return on.end.since(on.begin);
}

void GpuVerifier::add_to(JoinStats &stats) const {
  const std::lock_guard lock(mutex_);
  if (stats_.device_memory_peak == 0) return;  // not started
  stats.PairCounts::operator+=(stats_);
  stats.verify_ms += stats_.verify_ms;
  stats.device = stats_.device;
  stats.device_memory_peak = stats_.device_memory_peak;
  stats.reasons.push_back("cpu_gpu asked for: candidates by the CPU's prefix index, verified on the GPU");
}

}  // namespace

std::unique_ptr<PairVerifier> make_gpu_verifier(size_t memory_limit) {
  return std::make_unique<GpuVerifier>(memory_limit);
}

}  // namespace simjoin
