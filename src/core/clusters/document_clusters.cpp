#include "core/clusters/document_clusters.hpp"

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/wall_clock.hpp"

namespace simjoin {
namespace {

[[noreturn]] void throw_changed(const char *what) {
  throw Error(ErrorKind::invalid_argument, what, "Rows of a stream's table may be deleted, but not changed.");
}

}  // namespace

DocumentClusters::DocumentClusters(const ClusterOptions &options)
    : state_(options), round_(state_.memory), finder_(state_), batch_(state_), serial_(state_) {}

void DocumentClusters::load(uint64_t documents, std::span<const TermSum> sum, bool open,
                            std::span<const TermSum> pending) {
  const uint32_t cluster = clusters();
  if (open ? !pending.empty() : batch_.has_begun_clusters())
    throw_changed("an open cluster of the stream is not one of the last, or has pending terms");
  ClusterSum &own = state_.threads[0].sum;
  own.set(sum);
  own.combine(StopFlag());
  own.finish();
  if (open) {
    state_.add();
    batch_.load_open(own);
  } else {
    state_.add_stored();
    state_.sums.assign(cluster, own.sums());
    state_.index.set_centroid(cluster, own.centroid());
    if (!pending.empty()) batch_.load_pending(cluster, pending);
  }
  state_.documents[cluster] = documents;
  documents_ += documents;
}

void DocumentClusters::load_merged(uint32_t survivor) {
  const uint32_t cluster = clusters();
  if (batch_.has_begun_clusters() || survivor > cluster ||
      (survivor < cluster && state_.survivors[survivor] != survivor))
    throw_changed("a cluster of the stream has become part of one that is not there");
  state_.add_stored();
  state_.survivors[cluster] = survivor;
}

bool DocumentClusters::step(std::chrono::microseconds budget) {
  if (!task_)
    task_ = std::make_unique<BackgroundTask>(state_.options.threads, [this](WorkerPool &pool) { run(pool); });
  if (!task_->wait(budget)) return false;
  task_.reset();
  return true;
}

void DocumentClusters::run(WorkerPool &pool) {
  const auto workers = static_cast<size_t>(pool.workers());
  while (state_.threads.size() < workers) state_.threads.emplace_back(state_.memory, state_.order);
  const WallClock::time_point start = WallClock::now();
  round_.make_vectors(pool, state_.threads);
  figures_.vectors_ms += milliseconds_since(start);
  for (size_t begin = 0, end; begin < size(); begin = end) {
    // A batch that an earlier stream has left open ends with the first document.
    const bool in_window = is_serial() && batch_.empty();
    const uint64_t most = in_window ? SerialClusters::window(workers, finder_.on_gpu())
                                    : state_.options.batch - documents_ % state_.options.batch;
    end = begin + std::min<uint64_t>(size() - begin, most);
    if (in_window) {
      run_window(begin, end, pool);
    } else {
      run_batch(begin, end, pool);
    }
  }
  if (ends_batch_) publish(pool);
  ends_batch_ = false;
  batch_.end_round(round_, pool.stop());
}

void DocumentClusters::run_window(size_t begin, size_t end, WorkerPool &pool) {
  find(begin, end, false, pool);
  const WallClock::time_point start = WallClock::now();
  serial_.assign(round_, begin, end, pool.stop());
  documents_ += end - begin;
  figures_.assign_ms += milliseconds_since(start);
}

void DocumentClusters::run_batch(size_t begin, size_t end, WorkerPool &pool) {
  // Any document may join clusters that the batch has begun before.
  find(begin, end, !batch_.has_begun_clusters() && !is_serial(), pool);
  const WallClock::time_point start = WallClock::now();
  batch_.assign(round_, begin, end, finder_.groups(), pool);
  figures_.assign_ms += milliseconds_since(start);
  documents_ += end - begin;
  if (documents_ % state_.options.batch == 0) publish(pool);
}

void DocumentClusters::find(size_t begin, size_t end, bool grouped, WorkerPool &pool) {
  const WallClock::time_point start = WallClock::now();
  finder_.find(round_, begin, end, grouped, pool);
  figures_.search_ms += milliseconds_since(start);
}

// Ends the batch, and merges the clusters that it has begun or that have grown.
void DocumentClusters::publish(WorkerPool &pool) {
  const WallClock::time_point start = WallClock::now();
  const Buffer<uint32_t> &changed = batch_.publish(round_, pool);
  if (state_.merges()) serial_.merge(changed, pool);
  figures_.publish_ms += milliseconds_since(start);
}

}  // namespace simjoin
