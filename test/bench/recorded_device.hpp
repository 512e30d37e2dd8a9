// A fake device for the clustering of documents. It returns the results of an earlier run of the same stream,
// so that the time of a run is the work of a host beside a GPU.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "core/clusters/cluster_device.hpp"
#include "unit/fake_gpu.hpp"
#include "unit/group_oracle.hpp"

namespace simjoin::bench {

// The results of the searches of a stream, document by document.
struct RecordedSearches {
  std::vector<FoundCluster> found;
  std::vector<uint32_t> groups;
  bool complete = false;  // the results are returned from now on
};

class RecordedDevice final : public ClusterDevice {
 public:
  explicit RecordedDevice(RecordedSearches &searches) : searches_(searches) {}

  void update(const ClusterIndex &index, const StopFlag &stop) override {
    if (searches_.complete) return;
    while (index_.clusters() < index.clusters()) index_.add_cluster();
    for (const uint32_t cluster : index.changed_centroids())
      index_.set_centroid(cluster, index.centroid(cluster), stop);
  }

  void find(const DocumentVectors &documents, uint32_t least, FoundCluster *found, uint32_t *groups,
            const StopFlag &stop) override {
    if (!searches_.complete) {
      for (size_t i = 0; i < documents.size(); ++i)
        searches_.found.push_back(search_.find(index_, documents[i], least, stop));
    }
    std::copy_n(searches_.found.data() + next_, documents.size(), found);
    next_ += documents.size();
    if (groups == nullptr) return;
    if (!searches_.complete) {
      test::group_naively(documents, least, found, groups);
      searches_.groups.insert(searches_.groups.end(), groups, groups + documents.size());
    }
    std::copy_n(searches_.groups.data() + next_group_, documents.size(), groups);
    next_group_ += documents.size();
  }

 private:
  RecordedSearches &searches_;
  size_t next_ = 0;
  size_t next_group_ = 0;
  MemoryCounter memory_;
  ClusterIndex index_{memory_};
  ClusterSearch search_{memory_};
};

// The backend of this process during its lifetime.
class RecordingBackend final : public test::FakeGpu {
 public:
  explicit RecordingBackend(RecordedSearches &searches) : searches_(searches) {}

  std::unique_ptr<ClusterDevice> make_cluster_device(size_t) override {
    return std::make_unique<RecordedDevice>(searches_);
  }

 private:
  RecordedSearches &searches_;
};

}  // namespace simjoin::bench
