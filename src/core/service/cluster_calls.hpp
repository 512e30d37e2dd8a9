// Clusters of documents by the GPU service: both ends of the calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/clusters/cluster_device.hpp"
#include "core/service/served_call.hpp"
#include "core/service/service_call.hpp"

namespace simjoin {

// Each batch is a call, which brings what has changed. The index stays in the service until the destructor.
class ServiceClusters final : public ClusterDevice {
 public:
  ServiceClusters(const Connect &connect, size_t memory_limit)
      : call_(connect, Function::clusters, memory_limit) {}

  void update(const ClusterIndex &index, const StopFlag &stop) override;
  void find(const DocumentVectors &documents, uint32_t least, FoundCluster *found, uint32_t *groups,
            const StopFlag &stop) override;

 private:
  void call(const DocumentVectors &documents, uint32_t least, FoundCluster *found, uint32_t *groups,
            const StopFlag &stop);

  ServiceCall call_;
  bool loaded_ = false;
  uint32_t clusters_ = 0;
  // Centroids for the next call.
  std::vector<uint32_t> changed_, sizes_;
  std::vector<TermWeight> terms_;
};

CallResult serve_clusters(const Call &call);

}  // namespace simjoin
