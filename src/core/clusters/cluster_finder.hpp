// The search for the stored cluster that is most similar to each of many documents, on the CPU or a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/clusters/cluster_device.hpp"
#include "core/clusters/cluster_state.hpp"
#include "core/clusters/document_round.hpp"
#include "core/device/gpu_attempt.hpp"

namespace simjoin {

class ClusterFinder {
 public:
  explicit ClusterFinder(ClusterState &state);

  // Finds the clusters of the documents from `begin` to `end`. With `grouped`, a GPU also divides the
  // documents into groups.
  void find(DocumentRound &round, size_t begin, size_t end, bool grouped, WorkerPool &pool);
  // For each document of the last search the first one of its group; empty if unknown.
  std::span<const uint32_t> groups() const { return {groups_.data(), groups_.size()}; }

  bool on_gpu() const { return device_ != nullptr; }
  GpuAttempt &attempt() { return attempt_; }
  const GpuAttempt &attempt() const { return attempt_; }

 private:
  void choose_device(size_t documents);
  void find_on_gpu(GpuBackend &gpu, DocumentRound &round, size_t begin, size_t end, bool grouped,
                   WorkerPool &pool);
  void find_on_cpu(DocumentRound &round, size_t begin, size_t end, WorkerPool &pool);

  ClusterState &state_;
  Buffer<uint32_t> groups_;
  Buffer<uint32_t> reaches_;
  std::unique_ptr<ClusterDevice> device_;
  GpuAttempt attempt_;
  double cpu_search_ms_ = 0;  // since the last choice of a device
};

}  // namespace simjoin
