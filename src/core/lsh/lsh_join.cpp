#include "core/lsh/lsh_join.hpp"

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/candidates/verify.hpp"
#include "core/device/device_work.hpp"
#include "core/handover/engine_thread.hpp"
#include "core/handover/result_queue.hpp"
#include "core/handover/waiting_candidates.hpp"
#include "core/handover/wanted_pairs.hpp"
#include "core/lsh/lsh_buckets.hpp"
#include "core/minhash/minhash.hpp"
#include "core/minhash/minhash_bulk.hpp"
#include "core/minhash/minhash_family.hpp"
#include "core/minhash/minhash_signature.hpp"
#include "core/minhash/signature_device.hpp"
#include "core/sets/vocabulary.hpp"

namespace simjoin {
namespace {

constexpr int max_threads = 1024;
constexpr size_t queued_batches_a_thread = 4;
constexpr size_t rows_a_piece = 256;             // of signatures
constexpr size_t rows_a_look = size_t{1} << 16;  // of what takes nanoseconds a row
// Hash evaluations between two looks at the stop flag: about two milliseconds.
constexpr size_t evaluations_a_look = size_t{1} << 21;
// Fewer keys are sorted on the CPU, about as soon: 20,000 take an H200 0.28 ms, copies included, and 16
// threads of its host 0.43, 50,000 take 0.34 and 1.10, a million 1.5 and 6.6.
constexpr size_t least_keys_on_gpu = 50'000;

// The token hashes of a side's sets, repeated tokens included.
struct Hashes {
  explicit Hashes(MemoryCounter &memory) : values(memory), ends(memory) {}

  std::span<const uint32_t> of(uint32_t row) const {
    const uint64_t begin = row == 0 ? 0 : ends[row - 1];
    return {values.data() + begin, static_cast<size_t>(ends[row] - begin)};
  }

  Buffer<uint32_t> values;
  Buffer<uint64_t> ends;  // by row
};

// The ids of a side's sets, without repeated tokens.
struct Ids {
  explicit Ids(MemoryCounter &memory) : values(memory), starts(memory), sizes(memory) {}

  uint32_t rows() const { return static_cast<uint32_t>(sizes.size()); }
  uint32_t *of(uint32_t row) { return values.data() + starts[row]; }
  const uint32_t *of(uint32_t row) const { return values.data() + starts[row]; }

  Buffer<uint32_t> values;  // only where pairs are verified, as the starts
  Buffer<uint64_t> starts;  // of each row's ids
  Buffer<uint32_t> sizes;   // of each row
};

class LshJoinOfSets final : public LshJoin {
 public:
  explicit LshJoinOfSets(const LshSpec &spec)
      : spec_(spec),
        vocabulary_(std::in_place, spec.self_join, memory_),
        sets_{Ids(memory_), Ids(memory_)},
        hashes_{Hashes(memory_), Hashes(memory_)},
        band_hashes_(memory_),
        values_(memory_) {}

  void add(Side side, std::span<const int32_t> tokens) override { add_set(side, tokens); }
  void add(Side side, std::span<const int64_t> tokens) override { add_set(side, tokens); }
  void add(Side side, std::span<const std::string_view> tokens) override { add_set(side, tokens); }
  StepResult step(std::chrono::microseconds budget, Batch &out) override;
  uint32_t set_size(Side side, uint32_t row) const override {
    return sets_[static_cast<int>(side)].sizes[row];
  }
  JoinStats stats() const override;
  LshStats lsh_stats() const override;
  std::unique_ptr<Notice> take_notice() override { return std::move(notice_); }

 private:
  // What one thread keeps, in cache lines of its own.
  struct alignas(64) Worker {
    Worker(LshJoinOfSets &join, PairDemand *demand, ResultQueue &queue);

    ResultWriter writer;
    std::unique_ptr<HeldPairs> held;  // where not every pair is wanted
    uint64_t candidates = 0;
    JoinCounters counters;  // only of pairs left out
  };

  template <typename T>
  uint32_t distinct_tokens(std::span<const T> tokens);
  template <typename T>
  void add_set(Side side, std::span<const T> tokens);
  void start();
  void join(WorkerPool &pool);
  template <class Work, class Instead>
  void on_gpu(Work &&work, Instead &&instead);
  void sign(WorkerPool &pool);
  void sign_on_gpu(WorkerPool &pool);
  void sign_on_cpu(WorkerPool &pool);
  void hash_bands(uint32_t row, const uint32_t *values);
  void sort_ids(uint32_t row, const StopFlag &stop);
  void sort(Buffer<SortKey> &keys, WorkerPool &pool);
  Buffer<uint32_t> rows_with_tokens();
  Buffer<SortKey> keys_of_band(uint32_t band, const Buffer<uint32_t> &rows, WorkerPool &pool);
  void join_band(uint32_t band, const Buffer<uint32_t> &rows, LshBuckets &buckets,
                 std::vector<std::unique_ptr<Worker>> &workers, WorkerPool &pool);
  void compare(uint32_t l, uint32_t right, ResultWriter &writer) const;

  // The side and row of a row that is numbered over both sides.
  int side_of(uint32_t row) const { return row < left_rows_ ? 0 : 1; }
  uint32_t row_in_side(uint32_t row) const { return row < left_rows_ ? row : row - left_rows_; }
  std::span<const uint32_t> hashes_of(uint32_t row) const {
    return hashes_[side_of(row)].of(row_in_side(row));
  }
  const uint32_t *values_of(uint32_t row) const { return values_.data() + size_t{row} * spec_.permutations; }

  const LshSpec spec_;
  bool gpu_ = false;  // whether signatures are made and bands sorted on the GPU
  MemoryCounter memory_;
  std::optional<Vocabulary> vocabulary_;  // until the first step
  std::vector<uint64_t> identities_;      // scratch of distinct_tokens()
  Ids sets_[2];
  Hashes hashes_[2];
  Buffer<uint64_t> band_hashes_;  // by row and band
  Buffer<uint32_t> values_;       // of all signatures, only where pairs are not verified
  uint32_t left_rows_ = 0;
  uint32_t rows_ = 0;  // of both sides
  int threads_ = 0;
  mutable std::mutex mutex_;  // of what follows, which the caller may ask for while the join runs
  LshStats stats_;            // set before the queue is finished
  std::optional<Error> gpu_error_;
  std::string gpu_refused_;  // why the CPU makes the signatures
  std::string gpu_name_;     // of the GPU that has made the signatures
  size_t device_memory_peak_ = 0;
  std::unique_ptr<Notice> notice_;
  EngineThread thread_;
};

uint64_t identity_of(std::string_view token) {
  return token_identity(token);
}
uint64_t identity_of(int64_t token) {
  return token_identity(token);
}

// Returns how many different tokens a set has.
template <typename T>
uint32_t LshJoinOfSets::distinct_tokens(std::span<const T> tokens) {
  identities_.clear();
  for (const T &token : tokens) identities_.push_back(identity_of(token));
  std::sort(identities_.begin(), identities_.end());
  const auto end = std::unique(identities_.begin(), identities_.end());
  return static_cast<uint32_t>(end - identities_.begin());
}

template <typename T>
void LshJoinOfSets::add_set(Side side, std::span<const T> tokens) {
  if (thread_.is_open()) throw Error(ErrorKind::internal, "a set was added after the first step of a join");
  Ids &sets = sets_[static_cast<int>(side)];
  Hashes &hashes = hashes_[static_cast<int>(side)];
  if (sets_[0].sizes.size() + sets_[1].sizes.size() >= size_t{UINT32_MAX} - 1 || tokens.size() >= UINT32_MAX)
    throw Error(ErrorKind::limit_exceeded, "a join by bands cannot have more than 4294967294 sets");
  if (spec_.verify) {
    const size_t start = sets.values.size();
    sets.values.reserve(start + tokens.size());
    const uint32_t size = vocabulary_->intern(side, tokens, sets.values.data() + start);
    sets.values.resize(start + size);
    sets.starts.push_back(start);
    sets.sizes.push_back(size);
  } else {
    sets.sizes.push_back(distinct_tokens(tokens));
  }
  uint32_t *hash = hashes.values.extend(tokens.size());
  for (const T &token : tokens) *hash++ = token_hash(identity_of(token));
  hashes.ends.push_back(hashes.values.size());
}

void LshJoinOfSets::start() {
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  threads_ = std::clamp(spec_.threads > 0 ? spec_.threads : cores, 1, max_threads);
  left_rows_ = sets_[0].rows();
  rows_ = left_rows_ + sets_[1].rows();
  size_t tokens = 0;
  for (const Hashes &hashes : hashes_) tokens += hashes.values.size();
  const size_t values = size_t{rows_} * (spec_.verify ? 2 * spec_.plan.bands : spec_.permutations);
  const SigningCosts costs =
      signing_costs(SignatureFamily::minhash, tokens, values, spec_.permutations, threads_);
  gpu_ = use_gpu(spec_.device, costs.cpu_ms, costs.gpu_ms, &gpu_refused_);
  thread_.open_queue(queued_batches_a_thread * static_cast<size_t>(threads_));
  thread_.start([this] {
    WorkerPool pool(threads_, thread_.stop());
    join(pool);
  });
}

void LshJoinOfSets::join(WorkerPool &pool) {
  vocabulary_.reset();
  sign(pool);
  hashes_[0] = Hashes(memory_);
  hashes_[1] = Hashes(memory_);

  std::optional<PairDemand> demand;
  if (spec_.done_rows != nullptr)
    demand.emplace(*spec_.done_rows, spec_.self_join, false, left_rows_, memory_);
  std::vector<std::unique_ptr<Worker>> workers;
  for (int worker = 0; worker < threads_; ++worker)
    workers.push_back(std::make_unique<Worker>(*this, demand ? &*demand : nullptr, thread_.queue()));
  const Buffer<uint32_t> rows = rows_with_tokens();
  LshBuckets buckets(rows_, left_rows_, spec_, memory_);
  for (uint32_t band = 0; band < spec_.plan.bands; ++band) join_band(band, rows, buckets, workers, pool);
  LshStats stats = buckets.stats();
  for (const std::unique_ptr<Worker> &worker : workers) {
    stats.candidates += worker->candidates;
    stats.left_out += worker->counters.left_out;
    stats.output += worker->writer.emitted();
  }
  const std::lock_guard lock(mutex_);
  stats_ = stats;
}

LshJoinOfSets::Worker::Worker(LshJoinOfSets &join, PairDemand *demand, ResultQueue &queue)
    : writer(queue, false, join.spec_.self_join, demand) {
  if (demand == nullptr) return;
  const auto verify = [&join, this](uint32_t l, uint32_t right, JoinCounters &) {
    join.compare(l, right, writer);
  };
  held = std::make_unique<HeldPairs>(writer, nullptr, nullptr, verify, join.thread_.stop(), join.memory_);
}

// Hands over the pairs that share a bucket of a band, and of no earlier one.
void LshJoinOfSets::join_band(uint32_t band, const Buffer<uint32_t> &rows, LshBuckets &buckets,
                              std::vector<std::unique_ptr<Worker>> &workers, WorkerPool &pool) {
  Buffer<SortKey> keys = keys_of_band(band, rows, pool);
  sort(keys, pool);
  buckets.next_band({keys.data(), keys.size()}, pool, [&](int number, uint32_t l, uint32_t r) {
    Worker &worker = *workers[static_cast<size_t>(number)];
    const uint32_t right = spec_.self_join ? r : r - left_rows_;
    ++worker.candidates;
    if (worker.held && !worker.held->take(l, right, worker.counters)) return;
    compare(l, right, worker.writer);
  });
  for (const std::unique_ptr<Worker> &worker : workers) {
    if (worker->held) worker->held->settle(worker->counters);
    worker->writer.flush();
  }
}

// Does work() on the GPU, where the join is there; `instead` where it is not, or the GPU fails and need not
// have done it. The caller's thread tells of the failure.
template <class Work, class Instead>
void LshJoinOfSets::on_gpu(Work &&work, Instead &&instead) {
  if (gpu_) {
    try {
      work();
      return;
    } catch (const Error &error) {
      const std::lock_guard lock(mutex_);
      gpu_error_ = error;
      gpu_refused_ = error.what();
      gpu_ = false;
      const bool replaceable =
          error.kind() == ErrorKind::device_failure || error.kind() == ErrorKind::limit_exceeded;
      if (!replaceable || spec_.device == Device::gpu) throw;
    }
  }
  instead();
}

// Makes the signatures of all rows, and of them the hashes of all bands; puts the ids of the sets in order.
void LshJoinOfSets::sign(WorkerPool &pool) {
  band_hashes_.resize(size_t{rows_} * spec_.plan.bands);
  if (!spec_.verify) values_.resize(size_t{rows_} * spec_.permutations);
  on_gpu([&] { sign_on_gpu(pool); }, [&] { sign_on_cpu(pool); });
  if (!spec_.verify) return;
  pool.parallel((rows_ + rows_a_piece - 1) / rows_a_piece, [&](int, size_t piece) {
    const size_t end = std::min<size_t>(rows_, (piece + 1) * rows_a_piece);
    for (auto row = static_cast<uint32_t>(piece * rows_a_piece); row < end; ++row) sort_ids(row, pool.stop());
  });
}

void LshJoinOfSets::sign_on_gpu(WorkerPool &pool) {
  const SignatureHeader header{SignatureFamily::minhash, false, full_bits,
                               static_cast<uint16_t>(spec_.permutations), spec_.seed};
  const auto signer = gpu_backend()->signatures()->make_signer(header, spec_.gpu_memory_limit);
  for (int side = 0; side < 2; ++side) {
    const SetArrays<uint32_t> sets{{hashes_[side].values.data(), hashes_[side].values.size()},
                                   {hashes_[side].ends.data(), hashes_[side].ends.size()}};
    const size_t first = side == 0 ? 0 : left_rows_;
    if (spec_.verify)
      signer->hash_bands(sets, spec_.plan, pool, band_hashes_.data() + first * spec_.plan.bands);
    else
      signer->sign(sets, pool, values_.data() + first * spec_.permutations);
  }
  {
    const std::lock_guard lock(mutex_);
    gpu_name_ = signer->device();
    device_memory_peak_ = signer->memory_peak();
  }
  if (spec_.verify) return;
  pool.parallel((rows_ + rows_a_piece - 1) / rows_a_piece, [&](int, size_t piece) {
    const size_t end = std::min<size_t>(rows_, (piece + 1) * rows_a_piece);
    for (auto row = static_cast<uint32_t>(piece * rows_a_piece); row < end; ++row)
      hash_bands(row, values_of(row));
  });
}

void LshJoinOfSets::sign_on_cpu(WorkerPool &pool) {
  const MinHasher hasher(spec_.permutations, spec_.seed);
  const size_t at_once = std::max<size_t>(1, evaluations_a_look / spec_.permutations);
  pool.parallel((rows_ + rows_a_piece - 1) / rows_a_piece, [&](int, size_t piece) {
    std::vector<uint32_t> scratch(spec_.permutations);
    const size_t end = std::min<size_t>(rows_, (piece + 1) * rows_a_piece);
    for (auto row = static_cast<uint32_t>(piece * rows_a_piece); row < end; ++row) {
      uint32_t *values = scratch.data();
      if (!spec_.verify) values = values_.data() + size_t{row} * spec_.permutations;
      hasher.start(values);
      const std::span<const uint32_t> hashes = hashes_of(row);
      for (size_t begin = 0; begin < hashes.size(); begin += at_once) {
        pool.stop().check();
        hasher.add(hashes.data() + begin, std::min(at_once, hashes.size() - begin), values);
      }
      hash_bands(row, values);
    }
  });
}

// Writes the hashes of the bands of a row with these values.
void LshJoinOfSets::hash_bands(uint32_t row, const uint32_t *values) {
  SignatureHeader header;
  header.seed = spec_.seed;
  const uint32_t bands = spec_.plan.bands, band_rows = spec_.plan.rows;
  for (uint32_t band = 0; band < bands; ++band)
    band_hashes_[size_t{row} * bands + band] =
        band_hash(header, band, values + size_t{band} * band_rows, band_rows);
}

void LshJoinOfSets::sort_ids(uint32_t row, const StopFlag &stop) {
  Ids &sets = sets_[side_of(row)];
  uint32_t *ids = sets.of(row_in_side(row));
  std::sort(ids, ids + sets.sizes[row_in_side(row)], [&](uint32_t a, uint32_t b) {
    stop.check();
    return a < b;
  });
}

// Sorts a band's keys, whose rows ascend.
void LshJoinOfSets::sort(Buffer<SortKey> &keys, WorkerPool &pool) {
  const auto on_cpu = [&] { sort_keys(keys, pool, memory_); };
  if (keys.size() < least_keys_on_gpu) return on_cpu();
  on_gpu(
      [&] {
        Buffer<SortKey> sorted(memory_, keys.size());
        const size_t held = gpu_backend()->signatures()->sort(
            {keys.data(), keys.size()}, {sorted.data(), sorted.size()}, pool, spec_.gpu_memory_limit);
        keys = std::move(sorted);
        const std::lock_guard lock(mutex_);
        device_memory_peak_ = std::max(device_memory_peak_, held);
      },
      on_cpu);
}

// Returns the rows whose sets are not empty, ascending.
Buffer<uint32_t> LshJoinOfSets::rows_with_tokens() {
  Buffer<uint32_t> rows(memory_, rows_);
  size_t count = 0;
  for (uint32_t row = 0; row < rows_; ++row) {
    if (row % rows_a_look == 0) thread_.stop().check();
    if (sets_[side_of(row)].sizes[row_in_side(row)] > 0) rows[count++] = row;
  }
  rows.resize(count);
  return rows;
}

// Returns the hashes of a band, each with its row.
Buffer<SortKey> LshJoinOfSets::keys_of_band(uint32_t band, const Buffer<uint32_t> &rows, WorkerPool &pool) {
  Buffer<SortKey> keys(memory_, rows.size());
  pool.parallel((rows.size() + rows_a_look - 1) / rows_a_look, [&](int, size_t piece) {
    const size_t end = std::min(rows.size(), (piece + 1) * rows_a_look);
    for (size_t i = piece * rows_a_look; i < end; ++i) {
      keys[i].hi = band_hashes_[size_t{rows[i]} * spec_.plan.bands + band];
      keys[i].lo = rows[i];
    }
  });
  return keys;
}

// Hands the pair of a left row and a right one (by their numbers on their sides) over if it is similar
// enough, or is not to be verified.
void LshJoinOfSets::compare(uint32_t l, uint32_t right, ResultWriter &writer) const {
  const uint32_t r = spec_.self_join ? right : right + left_rows_;
  if (!spec_.verify) {
    const uint32_t *a = values_of(l), *b = values_of(r);
    uint32_t common = 0;
    for (uint32_t i = 0; i < spec_.permutations; ++i) common += a[i] == b[i];
    return writer.emit(l, right, common);
  }
  const Ids &l_sets = sets_[0], &r_sets = sets_[side_of(r)];
  const uint32_t l_size = l_sets.sizes[l], r_size = r_sets.sizes[right];
  const auto required =
      static_cast<uint64_t>(Bounds(spec_.measure, spec_.threshold).min_overlap(l_size, r_size));
  if (required > std::min(l_size, r_size)) return;
  const uint32_t overlap =
      bounded_overlap(l_sets.of(l), l_size, r_sets.of(right), r_size, 0, static_cast<uint32_t>(required));
  if (overlap >= required) writer.emit(l, right, overlap);
}

StepResult LshJoinOfSets::step(std::chrono::microseconds budget, Batch &out) {
  if (!thread_.is_open()) start();
  const auto look_at_gpu = [this] {
    const std::lock_guard lock(mutex_);
    if (gpu_error_) notice_ = notice_of_gpu(*std::exchange(gpu_error_, std::nullopt));
  };
  try {
    const StepResult result = thread_.pop(budget, out);
    look_at_gpu();
    return result;
  } catch (...) {
    look_at_gpu();
    throw;
  }
}

JoinStats LshJoinOfSets::stats() const {
  JoinStats stats;
  for (int side = 0; side < 2; ++side)
    for (const uint32_t size : sets_[side].sizes) {
      stats.sets[side] += size > 0;
      stats.tokens[side] += size;
    }
  const std::lock_guard lock(mutex_);
  stats.verified = spec_.verify ? stats_.candidates - stats_.left_out : 0;
  stats.left_out = stats_.left_out;
  stats.output = stats_.output;
  stats.memory_peak = memory_.peak();
  stats.threads = threads_;
  stats.algorithm = "minhash";
  stats.device_memory_peak = device_memory_peak_;
  if (gpu_name_.empty())
    stats.gpu_refused = told_reason(gpu_refused_);
  else
    stats.device = gpu_name_;
  return stats;
}

LshStats LshJoinOfSets::lsh_stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

}  // namespace

std::unique_ptr<LshJoin> make_lsh_join(const LshSpec &spec) {
  return std::make_unique<LshJoinOfSets>(spec);
}

}  // namespace simjoin
