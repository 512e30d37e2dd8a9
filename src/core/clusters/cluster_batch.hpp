// The batch under way: which clusters its documents join or begin, and its end, when they count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/clusters/cluster_state.hpp"
#include "core/clusters/document_round.hpp"
#include "core/clusters/open_clusters.hpp"

namespace simjoin {

class ClusterBatch {
  // A document that has joined a stored cluster.
  struct Member {
    uint32_t document;
    uint32_t next;  // of the cluster's, or none
  };
  // A stored cluster that gets new documents at the end of the batch.
  struct Grown {
    uint32_t cluster;
    uint32_t first;  // of its members, or none
    uint32_t last;
    uint32_t members;
  };
  // A cluster that the batch has begun: which of a worker's.
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
  // The clusters that a worker has begun, and their numbers in opens_.
  struct Begun {
    Begun(MemoryCounter &memory, size_t lists) : clusters(memory, lists), numbers(memory) {}
    OpenClusters clusters;
    Buffer<uint32_t> numbers;
  };

 public:
  static constexpr size_t bytes_per_document = sizeof(Member) + sizeof(Grouped) + sizeof(Open);

  explicit ClusterBatch(ClusterState &state);

  // Continues a batch of an earlier stream: adds a cluster that it has begun, or what it has brought a stored
  // one.
  void load_open(const ClusterSum &sum);
  void load_pending(uint32_t cluster, std::span<const TermSum> pending);

  bool empty() const { return opens_.empty() && grown_.empty(); }
  bool has_begun_clusters() const { return !opens_.empty(); }
  bool is_open(uint32_t cluster) const { return cluster >= state_.index.clusters(); }
  // The sums of a cluster, and those that the batch has brought it; between rounds.
  std::span<const TermSum> sum_of(uint32_t cluster) const;
  std::span<const TermSum> pending_of(uint32_t cluster) const;

  // Lets documents that have found stored clusters join them or those of the batch, or begin some. `groups`
  // has the first document of each one's group; it may be empty.
  void assign(DocumentRound &round, size_t begin, size_t end, std::span<const uint32_t> groups,
              WorkerPool &pool);
  // Ends the batch: its documents count from now on. Returns the clusters that have changed, in their order,
  // where they are merged.
  const Buffer<uint32_t> &publish(const DocumentRound &round, WorkerPool &pool);
  // Keeps what the batch needs when the documents of the round are released.
  void end_round(const DocumentRound &round, const StopFlag &stop);

 private:
  static constexpr uint32_t none = UINT32_MAX;

  void assign_groups(DocumentRound &round, size_t begin, std::span<const uint32_t> groups, WorkerPool &pool);
  Open assign_document(DocumentRound &round, size_t document, uint32_t worker, const StopFlag &stop);
  void number(DocumentRound &round, size_t begin, size_t end);
  void add_open(Open open);
  void gather_open(const StopFlag &stop);
  void forget_open(const StopFlag &stop);
  void add_member(uint32_t cluster, uint32_t document);
  Grown &grow(uint32_t cluster);
  std::span<const TermSum> pending_of(uint32_t grown, uint32_t cluster) const;
  void make_room_for_open(const StopFlag &stop);
  void publish_some(const DocumentRound &round, size_t begin, size_t end, WorkerPool &pool);
  void publish_grown(const DocumentRound &round, size_t grown, ClusterSum &sum, Published &published,
                     const StopFlag &stop);
  void publish_open(uint32_t open, Published &published);
  void list_changed();
  void fold_members(const DocumentRound &round, const StopFlag &stop);

  ClusterState &state_;
  std::vector<Begun> begun_;       // by worker
  Buffer<Open> opens_;             // the last clusters of the table
  bool opens_are_spread_ = false;  // over the workers: each searches its own
  // What the batch brings stored clusters: documents of this round and, to the first clusters of grown_, sums
  // of the rounds before.
  Buffer<Member> members_;
  Buffer<Grown> grown_;
  Buffer<uint32_t> grown_at_;  // where in grown_ a cluster is, if it is there at all
  RegionPool<TermSum> pending_;
  uint32_t with_pending_ = 0;
  Buffer<uint32_t> changed_clusters_;
  // Scratch of assign() and publish().
  Buffer<Grouped> grouped_;
  Buffer<uint32_t> beginning_;  // the first documents of groups that may begin clusters
  Buffer<Open> joined_;
  std::vector<Published> published_;
};

}  // namespace simjoin
