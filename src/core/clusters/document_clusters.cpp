#include "core/clusters/document_clusters.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/wall_clock.hpp"
#include "core/clusters/cluster_relations.hpp"
#include "core/device/gpu.hpp"
#include "core/device/gpu_attempt.hpp"

namespace simjoin {
namespace {

// The most terms and documents of a round: some 200 MB, and about a quarter of the memory limit.
constexpr size_t terms_per_round = size_t{1} << 23;
constexpr size_t documents_per_round = size_t{1} << 19;
constexpr size_t round_share = 4;
// Documents that make a search on a GPU worth its launches (some 0.1 ms, in which a core searches for two).
constexpr size_t least_gpu_documents = 64;

[[noreturn]] void throw_changed(const char *what) {
  throw Error(ErrorKind::invalid_argument, what, "Rows of a stream's table may be deleted, but not changed.");
}

}  // namespace

DocumentClusters::DocumentClusters(const ClusterOptions &options)
    : options_(options),
      least_(std::max(1u, similarity_at_least(options.threshold))),
      least_merged_(std::max(1u, similarity_at_least(options.merge))),
      terms_(memory_),
      order_(terms_, options.max_terms),
      sizes_(memory_),
      changed_(memory_),
      grown_at_(memory_),
      survivors_(memory_),
      sums_(memory_),
      index_(memory_),
      opens_(memory_),
      members_(memory_),
      grown_(memory_),
      pending_(memory_),
      touched_(memory_),
      touched_clusters_(memory_),
      touched_lists_(memory_, shared_lists(most_window, 1)),
      looking_(memory_),
      looked_(memory_),
      raw_(memory_),
      ends_(memory_),
      vectors_(memory_),
      vector_sizes_(memory_),
      found_(memory_),
      clustered_(memory_),
      groups_(memory_),
      reaches_(memory_),
      grouped_(memory_),
      beginning_(memory_),
      joined_(memory_),
      attempt_(options.device) {
  memory_.set_limit(options.memory_limit,
                    {"the clusters of documents need",
                     "cluster with fewer terms a document, a lower max_terms or a lower threshold"});
  workers_.emplace_back(memory_, order_, shared_lists(options.batch, 1));
}

void DocumentClusters::load(uint64_t documents, std::span<const TermSum> sum, bool open,
                            std::span<const TermSum> pending) {
  const uint32_t cluster = clusters();
  if (open ? !pending.empty() : opens_.size() > 0)
    throw_changed("an open cluster of the stream is not one of the last, or has pending terms");
  add_cluster();
  sizes_[cluster] = documents;
  documents_ += documents;
  Worker &worker = workers_[0];
  worker.sum.set(sum);
  worker.sum.combine(StopFlag());
  worker.sum.finish();
  if (open) {
    worker.open.add(worker.sum, StopFlag());
    add_open({0, worker.open.size() - 1});
    return;
  }
  sums_.add_keys(size_t{cluster} + 1);
  sums_.assign(cluster, worker.sum.sums());
  index_.add_cluster();
  index_.set_centroid(cluster, worker.sum.centroid());
  if (pending.empty()) return;
  grow(cluster);
  pending_.add_keys(++with_pending_);
  pending_.assign(with_pending_ - 1, pending);
}

void DocumentClusters::load_merged(uint32_t survivor) {
  const uint32_t cluster = clusters();
  if (opens_.size() > 0 || survivor > cluster || (survivor < cluster && survivors_[survivor] != survivor))
    throw_changed("a cluster of the stream has become part of one that is not there");
  add_cluster();
  survivors_[cluster] = survivor;
  sums_.add_keys(size_t{cluster} + 1);
  index_.add_cluster();
}

size_t DocumentClusters::shared_lists(size_t documents, size_t workers) const {
  constexpr size_t lists_per_document = 16, bytes_per_list = 128;
  constexpr size_t least = size_t{1} << 10, most = size_t{1} << 18;
  const size_t wanted = std::min(documents * lists_per_document, options_.memory_limit / bytes_per_list);
  return std::clamp(std::bit_floor(wanted / workers), least, most);
}

bool DocumentClusters::full() const {
  constexpr size_t bytes_per_term = sizeof(RawTerm) + sizeof(TermWeight);
  constexpr size_t bytes_per_document = sizeof(size_t) + 4 * sizeof(uint32_t) + sizeof(FoundCluster) +
                                        sizeof(ClusteredDocument) + sizeof(Member) + sizeof(Grouped) +
                                        sizeof(Open);
  return raw_.size() >= terms_per_round || ends_.size() >= documents_per_round ||
         raw_.size() * bytes_per_term + ends_.size() * bytes_per_document >=
             options_.memory_limit / round_share;
}

bool DocumentClusters::step(std::chrono::microseconds budget) {
  if (!task_)
    task_ = std::make_unique<BackgroundTask>(options_.threads, [this](WorkerPool &pool) { run(pool); });
  if (!task_->wait(budget)) return false;
  task_.reset();
  return true;
}

void DocumentClusters::clear() {
  raw_.clear();
  ends_.clear();
}

std::span<const TermSum> DocumentClusters::sum_of(uint32_t cluster) const {
  if (!is_open(cluster)) return sums_[cluster];
  const Open open = opens_[cluster - index_.clusters()];
  return workers_[open.worker].open.sum(open.number);
}

// Returns the sums pending for a cluster that may be this one of grown_.
std::span<const TermSum> DocumentClusters::pending_of(uint32_t grown, uint32_t cluster) const {
  if (grown >= with_pending_ || grown_[grown].cluster != cluster) return {};
  return pending_[grown];
}

void DocumentClusters::copy_sum(uint32_t cluster, TermSum *to) const {
  order_.copy_by_weight(sum_of(cluster), to);
}

void DocumentClusters::copy_pending(uint32_t cluster, TermSum *to) const {
  order_.copy_by_weight(pending_of(grown_at_[cluster], cluster), to);
}

void DocumentClusters::run(WorkerPool &pool) {
  const auto workers = static_cast<size_t>(pool.workers());
  while (workers_.size() < workers)
    workers_.emplace_back(memory_, order_, shared_lists(options_.batch, workers));
  make_vectors(pool);
  found_.resize(size());
  clustered_.resize(size());
  for (size_t begin = 0, end; begin < size(); begin = end) {
    // A batch that an earlier stream has left open ends with the first document.
    const bool in_window = is_serial() && opens_.empty() && grown_.empty();
    const uint64_t most = in_window ? window(workers) : options_.batch - documents_ % options_.batch;
    end = begin + std::min<uint64_t>(size() - begin, most);
    if (in_window) {
      run_window(begin, end, pool);
    } else {
      run_batch(begin, end, pool);
    }
  }
  if (ends_batch_) publish(pool);
  ends_batch_ = false;
  fold_members(pool.stop());
  gather_open(pool.stop());
}

void DocumentClusters::run_batch(size_t begin, size_t end, WorkerPool &pool) {
  search(begin, end, pool);
  assign(begin, end, pool);
  documents_ += end - begin;
  if (documents_ % options_.batch == 0) publish(pool);
}

void DocumentClusters::make_vectors(WorkerPool &pool) {
  const WallClock::time_point start = WallClock::now();
  vectors_.resize(raw_.size());
  vector_sizes_.resize(size());
  pool.parallel_pieces(size(), documents_per_piece, [&](int worker, size_t i) {
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    vector_sizes_[i] =
        static_cast<uint32_t>(make_document_vector({raw_.data() + begin, ends_[i] - begin}, pool.stop(),
                                                   workers_[worker].vector, vectors_.data() + begin));
  });
  figures_.vectors_ms += milliseconds_since(start);
}

std::span<const TermWeight> DocumentClusters::document(size_t number) const {
  const size_t begin = number == 0 ? 0 : ends_[number - 1];
  return {vectors_.data() + begin, vector_sizes_[number]};
}

// The documents of the round from `begin` to `end`, with their reaches if groups are wanted.
DocumentVectors DocumentClusters::documents(size_t begin, size_t end) const {
  const size_t before = begin == 0 ? 0 : ends_[begin - 1];
  return {{vectors_.data() + before, ends_[end - 1] - before},
          {ends_.data() + begin, end - begin},
          before,
          {vector_sizes_.data() + begin, end - begin},
          {reaches_.data(), reaches_.size()}};
}

void DocumentClusters::search(size_t begin, size_t end, WorkerPool &pool) {
  const WallClock::time_point start = WallClock::now();
  groups_.clear();
  if (!device_) choose_device(end - begin);
  attempt_.run([&](GpuBackend &gpu) { search_on_gpu(gpu, begin, end, pool); },
               [&] { search_on_cpu(begin, end, pool); });
  figures_.search_ms += milliseconds_since(start);
}

// Chooses the device of the next searches. They are expected to take the CPU as long as those since the last
// choice.
void DocumentClusters::choose_device(size_t documents) {
  if (attempt_.failed()) return;
  if (options_.device == Device::automatic) {
    std::string reason = no_gpu_reason();
    if (reason.empty() && documents < least_gpu_documents) reason = "the batches have too few documents";
    if (!reason.empty()) return attempt_.refuse(reason);
  }
  attempt_.choose(std::exchange(cpu_search_ms_, 0), 0);
}

void DocumentClusters::search_on_gpu(GpuBackend &gpu, size_t begin, size_t end, WorkerPool &pool) {
  const StopFlag &stop = pool.stop();
  if (!device_) {
    device_ = gpu.make_cluster_device(options_.gpu_memory_limit);
    index_.give_lists_away(is_serial() || merges());
  }
  index_.drop_repeated_reports();
  device_->update(index_, stop);
  index_.mark_copied();
  // Clusters of the batch that are there already any document may join.
  if (end - begin > 1 && opens_.size() == 0 && !is_serial()) groups_.resize(end - begin);
  reaches_.resize(groups_.size());
  pool.parallel_pieces(reaches_.size(), documents_per_piece, [&](int worker, size_t i) {
    reaches_[i] = reach_of(document(begin + i), options_.max_terms, least_, workers_[worker].squares);
  });
  device_->find(documents(begin, end), least_, found_.data() + begin,
                groups_.size() == 0 ? nullptr : groups_.data(), stop);
}

// Replaces a GPU that has failed, too.
void DocumentClusters::search_on_cpu(size_t begin, size_t end, WorkerPool &pool) {
  const WallClock::time_point start = WallClock::now();
  groups_.clear();
  if (device_) index_.take_lists_back(pool.stop());
  device_.reset();
  pool.parallel_pieces(end - begin, documents_per_piece, [&](int worker, size_t i) {
    found_[begin + i] = workers_[worker].search.find(index_, document(begin + i), least_, pool.stop());
  });
  cpu_search_ms_ += milliseconds_since(start);
}

}  // namespace simjoin
