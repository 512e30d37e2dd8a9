#include "core/clusters/cluster_finder.hpp"

#include <string>
#include <utility>

#include "core/base/wall_clock.hpp"
#include "core/clusters/cluster_relations.hpp"
#include "core/device/gpu.hpp"

namespace simjoin {
namespace {

// Documents that make a search on a GPU worth its launches (some 0.1 ms, in which a core searches for two).
constexpr size_t least_gpu_documents = 64;

}  // namespace

ClusterFinder::ClusterFinder(ClusterState &state)
    : state_(state), groups_(state.memory), reaches_(state.memory), attempt_(state.options.device) {}

void ClusterFinder::find(DocumentRound &round, size_t begin, size_t end, bool grouped, WorkerPool &pool) {
  groups_.clear();
  if (!device_) choose_device(end - begin);
  attempt_.run([&](GpuBackend &gpu) { find_on_gpu(gpu, round, begin, end, grouped, pool); },
               [&] { find_on_cpu(round, begin, end, pool); });
}

// Chooses the device of the next searches. They are expected to take the CPU as long as those since the last
// choice.
void ClusterFinder::choose_device(size_t documents) {
  if (attempt_.failed()) return;
  if (state_.options.device == Device::automatic) {
    std::string reason = no_gpu_reason();
    if (reason.empty() && documents < least_gpu_documents) reason = "the batches have too few documents";
    if (!reason.empty()) return attempt_.refuse(reason);
  }
  attempt_.choose(std::exchange(cpu_search_ms_, 0), 0);
}

void ClusterFinder::find_on_gpu(GpuBackend &gpu, DocumentRound &round, size_t begin, size_t end, bool grouped,
                                WorkerPool &pool) {
  const StopFlag &stop = pool.stop();
  if (!device_) {
    device_ = gpu.make_cluster_device(state_.options.gpu_memory_limit);
    // Single documents and merges are searched for on the CPU all the same.
    state_.index.give_lists_away(state_.options.batch == 1 || state_.merges());
  }
  state_.index.drop_repeated_reports();
  device_->update(state_.index, stop);
  state_.index.mark_copied();
  if (grouped && end - begin > 1) groups_.resize(end - begin);
  reaches_.resize(groups_.size());
  pool.parallel_pieces(reaches_.size(), documents_per_piece, [&](int worker, size_t i) {
    reaches_[i] =
        reach_of(round[begin + i], state_.options.max_terms, state_.least, state_.threads[worker].squares);
  });
  DocumentVectors documents = round.vectors(begin, end);
  documents.reaches = {reaches_.data(), reaches_.size()};
  device_->find(documents, state_.least, round.found.data() + begin,
                groups_.empty() ? nullptr : groups_.data(), stop);
}

// Replaces a GPU that has failed, too.
void ClusterFinder::find_on_cpu(DocumentRound &round, size_t begin, size_t end, WorkerPool &pool) {
  const WallClock::time_point start = WallClock::now();
  groups_.clear();
  if (device_) state_.index.take_lists_back(pool.stop());
  device_.reset();
  pool.parallel_pieces(end - begin, documents_per_piece, [&](int worker, size_t i) {
    round.found[begin + i] =
        state_.threads[worker].search.find(state_.index, round[begin + i], state_.least, pool.stop());
  });
  cpu_search_ms_ += milliseconds_since(start);
}

}  // namespace simjoin
