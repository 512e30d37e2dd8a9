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
#include <utility>
#include <vector>

#include "core/base/background_task.hpp"
#include "core/base/memory.hpp"
#include "core/clusters/cluster_device.hpp"
#include "core/clusters/cluster_index.hpp"
#include "core/clusters/cluster_sums.hpp"
#include "core/clusters/cluster_vector.hpp"
#include "core/clusters/open_clusters.hpp"
#include "core/device/gpu_attempt.hpp"
#include "core/join.hpp"
#include "core/text/terms.hpp"

namespace simjoin {

struct ClusterOptions {
  double threshold = 0.7;  // above 0, at most 1
  uint32_t max_terms = 20;
  uint32_t batch = 1;
  double merge = 0;  // at most 1; 0 = clusters stay apart
  Device device = Device::automatic;
  size_t gpu_memory_limit = 0;  // bytes; 0 = most of what is free
  // Bytes of the clusters, their terms and the documents on their way; beyond, memory_limit_exceeded.
  size_t memory_limit = MemoryCounter::no_limit;
  int threads = 0;  // 0 = one for each core
};

// The cluster that a document has joined or, with a similarity of 0, has begun. Clusters are numbered from 0
// in the order of their first documents.
struct ClusteredDocument {
  uint32_t cluster;
  uint32_t similarity;  // core/clusters/cluster_vector.hpp
};

// Use: load what an earlier stream left behind, cluster by cluster. Then, in rounds: add documents until the
// round is full, step until it is done, read the result, clear. At the end read what is to be kept. Functions
// throw Error and std::bad_alloc; afterwards only the destructor may be called, which stops whatever runs.
class DocumentClusters {
 public:
  explicit DocumentClusters(const ClusterOptions &options);

  TermTable &terms() { return terms_; }
  const TermTable &terms() const { return terms_; }

  // Adds a cluster of an earlier stream: how many documents it has, its sum, whether the batch under way
  // began it, and otherwise the sum of the documents that this batch has brought. Terms are distinct, sums
  // from 1 to 2^55 - 1.
  void load(uint64_t documents, std::span<const TermSum> sum, bool open, std::span<const TermSum> pending);
  // Adds a cluster that has become part of an older one; `survivor` is that cluster or, if it is no longer
  // there, the cluster itself.
  void load_merged(uint32_t survivor);

  // Adds a term, whose weight is not negative, to the document under way, and ends it.
  void add_term(uint32_t term, float weight) { raw_.push_back({term, weight}); }
  void end_document() { ends_.push_back(raw_.size()); }
  bool full() const;

  // Returns whether the round is done, after waiting for it for `budget` at most.
  bool step(std::chrono::microseconds budget);
  // The documents of the round, and what became of each.
  size_t size() const { return ends_.size(); }
  ClusteredDocument operator[](size_t document) const { return clustered_[document]; }
  // Returns what has happened since the last call that the user should know of; null where nothing has.
  std::unique_ptr<Notice> take_notice() { return attempt_.take_notice(); }
  // Returns which device has searched; between rounds.
  const GpuAttempt &attempt() const { return attempt_; }
  size_t memory_peak() const { return memory_.peak(); }
  // Begins the next round.
  void clear();
  // Lets the next step end the batch under way, too, though it is not full.
  void end_batch() { ends_batch_ = true; }
  // Makes survivor_of() and changed() right for merged clusters; after the last round.
  void settle();

  // What is to be kept of a cluster.
  uint32_t clusters() const { return static_cast<uint32_t>(sizes_.size()); }
  bool changed(uint32_t cluster) const { return changed_[cluster] != 0; }
  uint64_t documents_of(uint32_t cluster) const { return sizes_[cluster]; }
  bool is_open(uint32_t cluster) const { return cluster >= index_.clusters(); }
  // Returns the cluster that this one was merged into, or this one.
  uint32_t survivor_of(uint32_t cluster) const { return survivors_[cluster]; }
  // Its sum, and that of the documents that the batch under way has brought it, heaviest terms first; between
  // rounds.
  size_t sum_size(uint32_t cluster) const { return sum_of(cluster).size(); }
  size_t pending_size(uint32_t cluster) const { return pending_of(grown_at_[cluster], cluster).size(); }
  void copy_sum(uint32_t cluster, TermSum *to) const;
  void copy_pending(uint32_t cluster, TermSum *to) const;

  // The milliseconds of the stream so far. Benchmarks ask for them.
  struct Figures {
    double vectors_ms = 0;
    double search_ms = 0;
    double assign_ms = 0;
    double publish_ms = 0;
  };
  const Figures &figures() const { return figures_; }

 private:
  static constexpr uint32_t none = UINT32_MAX;
  // Documents, or clusters, that threads take at a time.
  static constexpr size_t documents_per_piece = 16;
  // The most documents that the serial algorithm searches for at a time.
  static constexpr size_t most_window = 1024;

  // A document of the batch under way that has joined a cluster of the index.
  struct Member {
    uint32_t document;
    uint32_t next;  // of the cluster's, or none
  };
  // A cluster of the index that gets new documents at the end of the batch.
  struct Grown {
    uint32_t cluster;
    uint32_t first;  // of its members, or none
    uint32_t last;
    uint32_t members;
  };
  // A cluster that the batch under way has begun: which of a worker's.
  struct Open {
    uint32_t worker;
    uint32_t number;
  };
  // A document of a group; of its first one, which is the last one, and whether one has found nothing.
  struct Grouped {
    uint32_t next;  // or none
    uint32_t last;
    bool begins;
  };
  // What threads leave to be done in order when they have made the centroids of some clusters.
  struct Published {
    struct Outgrown {
      uint32_t cluster;
      std::vector<TermSum> sum;
    };
    std::vector<Outgrown> sums;  // for which there was no room where the old ones are
    IndexChange change;
  };
  // What a thread works with.
  struct Worker {
    Worker(MemoryCounter &memory, const SumOrder &order, size_t lists)
        : search(memory), sum(order), open(memory, lists), numbers(memory) {}
    ClusterSearch search;
    ClusterSum sum;
    VectorScratch vector;
    std::vector<uint64_t> squares;
    OpenClusters open;
    Buffer<uint32_t> numbers;  // of these clusters in opens_
  };

  bool is_serial() const { return options_.batch == 1; }
  bool merges() const { return options_.merge > 0; }
  // Returns how many lists the clusters of one worker share, if `documents` are divided among `workers`:
  // mostly about as many as these have terms, and fewer where they would take much of a small memory limit.
  size_t shared_lists(size_t documents, size_t workers) const;
  void run(WorkerPool &pool);
  void run_batch(size_t begin, size_t end, WorkerPool &pool);
  void make_vectors(WorkerPool &pool);
  void search(size_t begin, size_t end, WorkerPool &pool);
  void choose_device(size_t documents);
  void search_on_gpu(GpuBackend &gpu, size_t begin, size_t end, WorkerPool &pool);
  void search_on_cpu(size_t begin, size_t end, WorkerPool &pool);
  void assign(size_t begin, size_t end, WorkerPool &pool);
  void assign_groups(size_t begin, size_t count, WorkerPool &pool);
  Open assign_document(size_t document, uint32_t worker, const StopFlag &stop);
  void number(size_t begin, size_t end);
  void add_cluster();
  void add_open(Open open);
  void gather_open(const StopFlag &stop);
  void forget_open(const StopFlag &stop);
  void add_member(uint32_t cluster, uint32_t document);
  Grown &grow(uint32_t cluster);
  void publish(WorkerPool &pool);
  void publish_some(size_t begin, size_t end, WorkerPool &pool);
  void make_room_for_open(const StopFlag &stop);
  void publish_grown(size_t grown, ClusterSum &sum, Published &published, const StopFlag &stop);
  void publish_open(uint32_t open, Published &published);
  void fold_members(const StopFlag &stop);
  size_t window(size_t workers) const;
  void run_window(size_t begin, size_t end, WorkerPool &pool);
  FoundCluster find_now(size_t document, const StopFlag &stop);
  void assign_now(size_t document, const StopFlag &stop);
  void store_sum(uint32_t cluster, ClusterSum &sum, const StopFlag &stop);
  void forget_touched(const StopFlag &stop);
  void list_looking();
  void merge_looking(WorkerPool &pool);
  void merge_from(uint32_t cluster, const StopFlag &stop);
  uint32_t unite(uint32_t a, uint32_t b, const StopFlag &stop);

  std::span<const TermWeight> document(size_t number) const;
  std::span<const TermSum> sum_of(uint32_t cluster) const;
  std::span<const TermSum> pending_of(uint32_t grown, uint32_t cluster) const;
  DocumentVectors documents(size_t begin, size_t end) const;

  const ClusterOptions options_;
  const uint32_t least_;
  const uint32_t least_merged_;
  MemoryCounter memory_;
  TermTable terms_;
  const SumOrder order_;

  // The clusters. Those that the batch under way has begun come last, in the order of opens_; their sums and
  // centroids are with the workers, those of all others in sums_ and index_.
  Buffer<uint64_t> sizes_;
  Buffer<uint8_t> changed_;
  Buffer<uint32_t> grown_at_;   // where in grown_ a cluster is, if it is there at all
  Buffer<uint32_t> survivors_;  // the older cluster that one was merged into, or itself
  RegionPool<TermSum> sums_;
  ClusterIndex index_;
  Buffer<Open> opens_;
  bool opens_are_spread_ = false;  // over the workers: each searches its own
  bool ends_batch_ = false;        // see end_batch()
  uint64_t documents_ = 0;         // of the stream
  // What the batch under way brings clusters of the index: documents of this round and, to the first clusters
  // of grown_, sums of the rounds before.
  Buffer<Member> members_;
  Buffer<Grown> grown_;
  RegionPool<TermSum> pending_;
  uint32_t with_pending_ = 0;
  // The clusters that have changed since a search for many documents: whether one is of them, which they are,
  // and their lists.
  Buffer<uint8_t> touched_;
  Buffer<uint32_t> touched_clusters_;
  ClusterIndex touched_lists_;
  IndexChange change_;  // scratch of store_sum()
  // The clusters that look for similar ones, and what they have found.
  Buffer<uint32_t> looking_;
  Buffer<FoundCluster> looked_;

  // The round. A document's vector begins where its terms do in raw_.
  Buffer<RawTerm> raw_;
  Buffer<size_t> ends_;
  Buffer<TermWeight> vectors_;
  Buffer<uint32_t> vector_sizes_;
  Buffer<FoundCluster> found_;
  Buffer<ClusteredDocument> clustered_;

  // Of the documents of a search, the scratch of assign().
  Buffer<uint32_t> groups_;  // empty if unknown
  Buffer<uint32_t> reaches_;
  Buffer<Grouped> grouped_;
  Buffer<uint32_t> beginning_;  // the first documents of groups that may begin clusters
  Buffer<Open> joined_;

  std::vector<Worker> workers_;
  std::vector<Published> published_;  // scratch of publish()
  std::unique_ptr<ClusterDevice> device_;
  GpuAttempt attempt_;
  double cpu_search_ms_ = 0;  // since the last choice of a device
  Figures figures_;
  std::unique_ptr<BackgroundTask> task_;  // last: it ends before what it works on
};

}  // namespace simjoin
