#include "cuda/engine/tiled_join.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <span>
#include <thread>
#include <utility>

#include "core/base/check.hpp"
#include "core/base/error.hpp"
#include "core/base/wall_clock.hpp"
#include "cuda/base/device_memory.hpp"

namespace simjoin::gpu {
namespace {

using Clock = std::chrono::steady_clock;

// If less device memory than this is free and other processes have the rest, they may soon give some back. A
// worker waits for it, for `longest_wait` in all.
constexpr size_t ample_memory = size_t{1} << 30;
constexpr std::chrono::seconds longest_wait{2};
// The most pairs of tiles in a plan. Their joins would take an hour.
constexpr size_t most_planned = 1 << 20;
// Interval at which the caller's stop flag is passed on to the workers.
constexpr std::chrono::milliseconds look_interval{10};

uint32_t load(const uint32_t &size) {
  return std::atomic_ref(const_cast<uint32_t &>(size)).load(std::memory_order_relaxed);
}

}  // namespace

void RecordedSides::add(const SharedBlock &block) {
  const auto side = static_cast<size_t>(block->side());
  SIMJOIN_CHECK(block->first_row() == rows[side]);  // the next rows of the side
  first_rows[side].push_back(block->first_row());
  rows[side] += block->rows();
  tokens[side] += block->token_count();
  if (block->token_count() > 0) wide = block->wide();
  blocks[side].push_back(block);
}

uint32_t RecordedSides::length(size_t side, uint32_t row) const {
  const std::vector<uint32_t> &firsts = first_rows[side];
  const auto behind = std::upper_bound(firsts.begin(), firsts.end(), row);
  SIMJOIN_CHECK(behind != firsts.begin());
  return blocks[side][static_cast<size_t>(behind - firsts.begin()) - 1]->length(row);
}

JoinSize RecordedSides::size() const {
  const uint64_t all_rows = rows[0] + rows[1], all_tokens = tokens[0] + tokens[1];
  return {join_device_bytes(all_tokens, all_rows, wide), all_rows, all_tokens};
}

// Hands over the pairs of two tiles, with rows of the whole join.
class TiledJoin::Sink final : public PairSink {
 public:
  Sink(TiledJoin &join, const TilePair &pair) : join_(join), pair_(pair) {}

  void built(const DeviceCollection &collection) override {
    join_.note_sizes(collection.sizes[0], Side::left, pair_.left);
    if (!pair_.same) {
      join_.note_sizes(collection.sizes[1], join_.spec_.self_join ? Side::left : Side::right, pair_.right);
    }
  }

  void push(Batch &batch) override {
    const uint32_t left = pair_.left.begin, right = pair_.same ? pair_.left.begin : pair_.right.begin;
    for (uint32_t &row : batch.left) row += left;
    for (uint32_t &row : batch.right) row += right;
    pushed_ = true;
    join_.queue_->push(batch);
  }

  bool pushed() const { return pushed_; }

 private:
  TiledJoin &join_;
  const TilePair &pair_;
  bool pushed_ = false;
};

TiledJoin::TiledJoin(const JoinSpec &spec, const GpuOptions &options, const RecordedSides &sides, int workers)
    : spec_(spec), options_(options), kept_memory_(options.kept_memory), sides_(sides), workers_(workers) {
  options_.workers = 1;             // GPUs that share a pair of tiles
  options_.kept_memory = SIZE_MAX;  // kept for the next pair of tiles; run() gives it back
  stats_.reasons.emplace_back("one GPU has too little memory for all sets at once");
}

// Lists the pairs of tiles, the largest last. Two tiles fit in `device_limit` bytes. Throws limit_exceeded if
// there would be too many pairs.
void TiledJoin::plan(double device_limit) {
  const double tiles = sides_.size().tiles(device_limit);
  const double all = static_cast<double>(sides_.tokens[0] + sides_.tokens[1]);
  const auto parts = [&](size_t side) {
    const double share = all > 0 ? static_cast<double>(sides_.tokens[side]) / all : 1;
    const double wanted = std::min(std::ceil(tiles * share), 65536.0);
    return std::max<uint64_t>(static_cast<uint64_t>(wanted), static_cast<uint64_t>(workers_));
  };
  const auto cut = [&](size_t side) {
    const uint64_t most_rows = options_.tile_rows > 0 ? options_.tile_rows : UINT64_MAX;
    std::vector<RowLengths> rows;
    for (const SharedBlock &block : sides_.blocks[side]) {
      const SetSlice all = block->all();
      rows.push_back({{all.lengths, all.rows}, all.token_count});
    }
    return cut_rows(rows, parts(side), most_rows);
  };
  const std::vector<TileRows> left = cut(0);
  const std::vector<TileRows> right = spec_.self_join ? left : cut(1);
  if (left.size() * right.size() > most_planned) {
    // Tiles of the whole join, if they are as small as a plan allows.
    const double all_tiles = std::sqrt(static_cast<double>(most_planned)) * (spec_.self_join ? 1 : 2);
    throw Error(ErrorKind::limit_exceeded,
                "the join may use " + in_kilobytes(device_limit) +
                    " of device memory, and the smallest parts that it can be cut into need " +
                    in_kilobytes(2 * sides_.size().bytes / (most_of_memory * all_tiles)),
                "Raise simjoin.gpu_memory_limit, or set simjoin.device to cpu.");
  }
  pending_ = pair_tiles(left, spec_.self_join ? nullptr : &right);
}

bool TiledJoin::take(TilePair &pair) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stop_.is_set() || !pending_.empty() || busy_ == 0; });
  if (stop_.is_set() || pending_.empty()) return false;
  pair = pending_.back();
  pending_.pop_back();
  ++busy_;
  return true;
}

void TiledJoin::finish_pair() {
  const std::lock_guard lock(mutex_);
  --busy_;
  changed_.notify_all();
}

// Uploads rows of side `of` of the input as side `side` of a join.
void TiledJoin::add_rows(GpuJoin &join, Side side, Side of, TileRows rows) const {
  std::vector<std::pair<const SharedBlock *, SetSlice>> slices;
  uint64_t tokens = 0;
  for (const SharedBlock &block : sides_.blocks[static_cast<size_t>(of)]) {
    const uint32_t begin = std::max(rows.begin, block->first_row());
    const uint32_t end = std::min(rows.end, block->first_row() + block->rows());
    if (begin >= end) continue;
    slices.emplace_back(&block, block->slice(begin, end - begin));
    tokens += slices.back().second.token_count;
  }
  join.reserve(side, tokens * (sides_.wide ? sizeof(int64_t) : sizeof(int32_t)), rows.count());
  for (const auto &[block, slice] : slices) {
    stop_.check();
    join.add(side, *block, slice);
  }
}

// Returns the device memory that the calling thread's GPU has for the join. It waits until there are `wanted`
// bytes, but not beyond `longest_wait`. `wanted` is lowered to the user's limit.
size_t TiledJoin::wait_for_memory(double wanted, const StopFlag &stop, Clock::duration &waited) const {
  if (options_.memory_limit > 0) wanted = std::min(wanted, static_cast<double>(options_.memory_limit));
  for (;;) {
    const size_t there = device_memory_limit(options_.memory_limit);
    if (static_cast<double>(there) >= wanted || waited >= longest_wait) return there;
    stop.check();
    std::this_thread::sleep_for(look_interval);
    waited += look_interval;
  }
}

void TiledJoin::join(const TilePair &pair) {
  Sink sink(*this, pair);
  try {
    JoinSpec spec = spec_;
    spec.self_join = pair.same;
    GpuJoin join(spec, options_);
    add_rows(join, Side::left, Side::left, pair.left);
    if (!pair.same) {
      add_rows(join, Side::right, spec_.self_join ? Side::left : Side::right, pair.right);
    }
    join.run(sink, stop_);
    merge(join);
  } catch (const Error &error) {
    // A new join would repeat the pairs that were handed over.
    if (error.kind() != ErrorKind::limit_exceeded || sink.pushed()) throw;
    const std::lock_guard lock(mutex_);
    if (!cut_again(pair, pending_)) throw;
    ++figures_.tile_pairs_failed;
  }
}

void TiledJoin::work(int worker) {
  try {
    use_device(worker);
    Clock::duration waited{0};
    for (TilePair pair; take(pair); finish_pair()) {
      wait_for_memory(planned_bytes_, stop_, waited);
      join(pair);
    }
  } catch (const Cancelled &) {
    stop_.set();
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
    stop_.set();
  }
  const std::lock_guard lock(mutex_);
  --running_;
  changed_.notify_all();
}

void TiledJoin::run(ResultQueue &queue, const StopFlag &stop) {
  const auto begin = Clock::now();
  queue_ = &queue;
  Clock::duration waited{0};
  const double wanted = std::min(sides_.size().bytes / most_of_memory, static_cast<double>(ample_memory));
  const auto there = static_cast<double>(wait_for_memory(wanted, stop, waited));
  planned_bytes_ = std::min(wanted, there);
  plan(there);
  std::vector<std::thread> threads;
  threads.reserve(static_cast<size_t>(workers_));
  running_ = workers_;
  for (int worker = 0; worker < workers_; ++worker) {
    try {
      threads.push_back(start_thread([this, worker] { work(worker); }));
    } catch (const std::exception &) {
      const std::lock_guard lock(mutex_);  // fewer workers suffice
      if (threads.empty()) throw;
      --running_;
    }
  }
  {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, look_interval, [this] { return running_ == 0; })) {
      if (!stop.is_set() || stop_.is_set()) continue;
      stop_.set();
      changed_.notify_all();
    }
  }
  for (std::thread &thread : threads) thread.join();
  for (int worker = 0; worker < workers_; ++worker) trim_device_memory(worker, kept_memory_);
  if (failure_) std::rethrow_exception(failure_);
  stop.check();
  count_input();
  const std::lock_guard lock(mutex_);
  figures_.total_ms = milliseconds_since(begin);
  stats_.join_ms = std::max(0.0, figures_.total_ms - stats_.build_ms);
}

void TiledJoin::merge(const GpuJoin &join) {
  JoinStats stats = join.stats();
  const GpuFigures figures = join.figures();
  const std::lock_guard lock(mutex_);
  ++joined_;
  if (joined_ == 1) {
    stats_.reasons.insert(stats_.reasons.end(), stats.reasons.begin(), stats.reasons.end());
  }
  if (stats.algorithm.size() > stats_.algorithm.size()) stats_.algorithm = stats.algorithm;
  stats.reasons.clear();
  stats.algorithm.clear();
  stats.distinct_tokens = 0;   // unknown for all tiles together; count_input() counts the input
  stats.build_ms /= workers_;  // the workers run side by side
  stats_ += stats;
  figures_.device = figures.device;
  for (double GpuFigures::*sum :
       {&GpuFigures::upload_ms, &GpuFigures::build_ms, &GpuFigures::index_ms, &GpuFigures::filter_ms,
        &GpuFigures::verify_ms, &GpuFigures::download_ms, &GpuFigures::filter_pairs,
        &GpuFigures::filter_bit_pairs, &GpuFigures::list_entries}) {
    figures_.*sum += figures.*sum;
  }
  figures_.candidates += figures.candidates;
  figures_.launches_repeated += figures.launches_repeated;
  figures_.longest_launch_ms = std::max(figures_.longest_launch_ms, figures.longest_launch_ms);
  figures_.device_memory_peak = std::max(figures_.device_memory_peak, figures.device_memory_peak);
  figures_.tile_pairs = joined_;
}

// Other workers may write the same sizes at the same time.
void TiledJoin::note_sizes(const std::vector<uint32_t> &sizes, Side side, TileRows rows) {
  if (sizes.empty()) return;
  const auto s = static_cast<size_t>(side);
  std::vector<uint32_t> &all = sizes_[s];
  {
    const std::lock_guard lock(mutex_);
    if (!resized_[s]) {
      all.reserve(sides_.rows[s]);
      for (const SharedBlock &block : sides_.blocks[s]) {
        const SetSlice some = block->all();
        all.insert(all.end(), some.lengths, some.lengths + some.rows);
      }
      resized_[s] = true;
    }
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    std::atomic_ref(all[rows.begin + i]).store(sizes[i], std::memory_order_relaxed);
  }
}

// Counts the sets and tokens of the whole input. All sizes must be known.
void TiledJoin::count_input() {
  uint64_t sets[2] = {0, 0}, tokens[2] = {0, 0};
  const auto count = [&](size_t side, std::span<const uint32_t> sizes) {
    for (const uint32_t size : sizes) {
      sets[side] += size > 0;
      tokens[side] += size;
    }
  };
  for (size_t side = 0; side < 2; ++side) {
    if (resized_[side]) {
      count(side, sizes_[side]);
      continue;
    }
    for (const SharedBlock &block : sides_.blocks[side]) {
      count(side, {block->all().lengths, block->rows()});
    }
  }
  const std::lock_guard lock(mutex_);
  const uint64_t left = sides_.rows[0];
  stats_.pairs = spec_.self_join ? left * (left - (left > 0)) / 2 : left * sides_.rows[1];
  std::copy_n(sets, 2, stats_.sets);
  std::copy_n(tokens, 2, stats_.tokens);
}

uint32_t TiledJoin::set_size(Side side, uint32_t row) const {
  const auto s = static_cast<size_t>(side);
  return resized_[s] ? load(sizes_[s][row]) : sides_.length(s, row);
}

JoinStats TiledJoin::stats() const {
  const std::lock_guard lock(mutex_);
  JoinStats stats = stats_;
  stats.filter_ms = figures_.filter_ms;
  stats.verify_ms = figures_.verify_ms;
  if (joined_ > 0) {
    stats.reasons.front() += ": " + std::to_string(joined_) + " joins of tiles on " +
                             std::to_string(workers_) + (workers_ == 1 ? " GPU" : " GPUs");
  }
  return stats;
}

double TiledJoin::share_done() const {
  const std::lock_guard lock(mutex_);
  const auto joined = static_cast<double>(joined_);
  const double left = static_cast<double>(pending_.size()) + busy_;
  return joined > 0 ? joined / (joined + left) : 0;
}

GpuFigures TiledJoin::figures() const {
  const std::lock_guard lock(mutex_);
  GpuFigures figures = figures_;
  if (workers_ > 1) figures.device = std::to_string(workers_) + " x " + figures.device;
  return figures;
}

}  // namespace simjoin::gpu
