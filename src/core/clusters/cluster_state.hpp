// What the parts of a clustering share: its options, what each thread works with, and the clusters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/memory.hpp"
#include "core/clusters/cluster_index.hpp"
#include "core/clusters/cluster_sums.hpp"
#include "core/clusters/cluster_vector.hpp"
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

// Returns how many lists clusters share, if `documents` are divided among `threads` and each thread has
// lists: mostly about as many as their clusters have terms, and fewer where they would take much of a small
// memory limit.
size_t shared_lists(const ClusterOptions &options, size_t documents, size_t threads);

// Documents, or clusters, that threads take at a time.
inline constexpr size_t documents_per_piece = 16;

// What a thread works with.
struct ClusterThread {
  ClusterThread(MemoryCounter &memory, const SumOrder &order) : search(memory), sum(order) {}

  ClusterSearch search;
  ClusterSum sum;
  VectorScratch vector;
  std::vector<uint64_t> squares;
};

// Clusters have numbers. Those that the batch under way has begun come last. They are not in `sums` and
// `index` before its end.
struct ClusterState {
  explicit ClusterState(const ClusterOptions &options);

  bool merges() const { return options.merge > 0; }
  uint32_t size() const { return static_cast<uint32_t>(documents.size()); }
  // Adds a cluster without documents. Throws Error limit_exceeded.
  void add();
  // The same for one that is in `sums` and `index` from now on.
  void add_stored();
  // Makes the survivors of survivors the survivors.
  void settle();

  const ClusterOptions options;
  const uint32_t least;         // similarities that let a document join a cluster, above 0,
  const uint32_t least_merged;  // and let clusters merge
  MemoryCounter memory;
  TermTable terms;
  const SumOrder order;
  std::vector<ClusterThread> threads;  // at least one

  Buffer<uint64_t> documents;
  Buffer<uint8_t> changed;     // whether it is to be kept anew
  Buffer<uint32_t> survivors;  // the older cluster that one was merged into, or itself
  RegionPool<TermSum> sums;
  ClusterIndex index;
};

}  // namespace simjoin
