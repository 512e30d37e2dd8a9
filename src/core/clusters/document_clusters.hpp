// Single-pass clustering of documents in the order in which they come.
//
// Each document is compared with the centroids of all clusters: older ones as they were when its batch began,
// and those that its batch has begun with all their documents so far. It joins the most similar one
// (the oldest of several) at or above the threshold, or begins a cluster. At the end of a batch the documents
// that joined older clusters are added to them. With batches of one document this is the serial algorithm,
// which searches for many documents at a time all the same.
//
// With `merge`, new and grown clusters look at the end of a batch, in their order, for the most similar other
// cluster (the oldest of several). If the similarity is at least `merge`, the younger of the two becomes part
// of the older one, which then looks again.
//
// What is kept of a cluster is the sum of its documents' unit vectors, cut to the heaviest terms each time
// that documents are added. The centroid is the unit vector in its direction. All is in integers
// (core/clusters/cluster_vector.hpp): no result depends on threads or devices.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/background_task.hpp"
#include "core/base/memory.hpp"
#include "core/clusters/cluster_batch.hpp"
#include "core/clusters/cluster_finder.hpp"
#include "core/clusters/cluster_state.hpp"
#include "core/clusters/cluster_sums.hpp"
#include "core/clusters/document_round.hpp"
#include "core/clusters/serial_clusters.hpp"
#include "core/device/gpu_attempt.hpp"
#include "core/text/terms.hpp"

namespace simjoin {

// Use: load what an earlier stream left behind, cluster by cluster. Then, in rounds: add documents until the
// round is full, step until it is done, read the result, clear. At the end read what is to be kept. Functions
// throw Error and std::bad_alloc; afterwards only the destructor may be called, which stops whatever runs.
class DocumentClusters {
 public:
  explicit DocumentClusters(const ClusterOptions &options);

  TermTable &terms() { return state_.terms; }
  const TermTable &terms() const { return state_.terms; }

  // Adds a cluster of an earlier stream: how many documents it has, its sum, whether the batch under way
  // began it, and otherwise the sum of the documents that this batch has brought. Terms are distinct, sums
  // from 1 to 2^55 - 1.
  void load(uint64_t documents, std::span<const TermSum> sum, bool open, std::span<const TermSum> pending);
  // Adds a cluster that has become part of an older one; `survivor` is that cluster or, if it is no longer
  // there, the cluster itself.
  void load_merged(uint32_t survivor);

  // Adds a term, whose weight is not negative, to the document under way, and ends it.
  void add_term(uint32_t term, float weight) { round_.add_term(term, weight); }
  void end_document() { round_.end_document(); }
  bool full() const { return round_.full(state_.options.memory_limit, ClusterBatch::bytes_per_document); }

  // Returns whether the round is done, after waiting for it for `budget` at most.
  bool step(std::chrono::microseconds budget);
  // The documents of the round, and what became of each.
  size_t size() const { return round_.size(); }
  ClusteredDocument operator[](size_t document) const { return round_.clustered[document]; }
  // Returns what has happened since the last call that the user should know of; null where nothing has.
  std::unique_ptr<Notice> take_notice() { return finder_.attempt().take_notice(); }
  // Returns which device has searched; between rounds.
  const GpuAttempt &attempt() const { return finder_.attempt(); }
  size_t memory_peak() const { return state_.memory.peak(); }
  // Begins the next round.
  void clear() { round_.clear(); }
  // Lets the next step end the batch under way, too, though it is not full.
  void end_batch() { ends_batch_ = true; }
  // Makes survivor_of() and changed() right for merged clusters; after the last round.
  void settle() { state_.settle(); }

  // What is to be kept of a cluster.
  uint32_t clusters() const { return state_.size(); }
  bool changed(uint32_t cluster) const { return state_.changed[cluster] != 0; }
  uint64_t documents_of(uint32_t cluster) const { return state_.documents[cluster]; }
  bool is_open(uint32_t cluster) const { return batch_.is_open(cluster); }
  // Returns the cluster that this one was merged into, or this one.
  uint32_t survivor_of(uint32_t cluster) const { return state_.survivors[cluster]; }
  // Its sum, and that of the documents that the batch under way has brought it, heaviest terms first; between
  // rounds.
  size_t sum_size(uint32_t cluster) const { return batch_.sum_of(cluster).size(); }
  size_t pending_size(uint32_t cluster) const { return batch_.pending_of(cluster).size(); }
  void copy_sum(uint32_t cluster, TermSum *to) const {
    state_.order.copy_by_weight(batch_.sum_of(cluster), to);
  }
  void copy_pending(uint32_t cluster, TermSum *to) const {
    state_.order.copy_by_weight(batch_.pending_of(cluster), to);
  }

  // The milliseconds of the stream so far. Benchmarks ask for them.
  struct Figures {
    double vectors_ms = 0;
    double search_ms = 0;
    double assign_ms = 0;
    double publish_ms = 0;
  };
  const Figures &figures() const { return figures_; }

 private:
  bool is_serial() const { return state_.options.batch == 1; }
  void run(WorkerPool &pool);
  void run_window(size_t begin, size_t end, WorkerPool &pool);
  void run_batch(size_t begin, size_t end, WorkerPool &pool);
  void find(size_t begin, size_t end, bool grouped, WorkerPool &pool);
  void publish(WorkerPool &pool);

  ClusterState state_;
  DocumentRound round_;
  ClusterFinder finder_;
  ClusterBatch batch_;
  SerialClusters serial_;
  bool ends_batch_ = false;  // see end_batch()
  uint64_t documents_ = 0;   // of the stream
  Figures figures_;
  std::unique_ptr<BackgroundTask> task_;  // last: it ends before what it works on
};

}  // namespace simjoin
