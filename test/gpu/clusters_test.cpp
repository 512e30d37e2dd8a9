// The clustering of documents on a GPU: the CPU's clusters, whatever fails.
#include <chrono>
#include <random>

#include <cuda_runtime_api.h>

#include "core/cluster_device.hpp"
#include "core/error.hpp"
#include "core/gpu.hpp"
#include "gpu/gpu_drive.hpp"
#include "unit/document_oracle.hpp"

namespace simjoin::test {
namespace {

class GpuClusters : public OnDevice<testing::Test> {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    set_gpu_backend(&cuda_backend());
  }
  void TearDown() override {
    fail_device_call(0, false);
    set_gpu_backend(nullptr);
  }

  static ClusterOptions options_for(Device device, double threshold, uint32_t max_terms, uint32_t batch) {
    ClusterOptions options;
    options.threshold = threshold;
    options.max_terms = max_terms;
    options.batch = batch;
    options.device = device;
    options.threads = 2;
    return options;
  }

  static std::vector<Clustered> cluster_on(Device device, const std::vector<Document> &documents,
                                           double threshold, uint32_t max_terms, uint32_t batch) {
    DocumentClusters clusters(options_for(device, threshold, max_terms, batch));
    std::vector<Clustered> result = cluster(clusters, documents, documents.size() / 2 + 1);
    EXPECT_EQ(clusters.figures().gpu, device == Device::gpu && !documents.empty());
    return result;
  }

  static size_t free_memory() {
    size_t free = 0, total = 0;
    cudaMemGetInfo(&free, &total);
    return free;
  }
};

struct Shape {
  size_t documents;
  int32_t terms;
  int32_t stories;
  double threshold;
  uint32_t max_terms;
  uint32_t batch;
};

constexpr Shape shapes_of_clusters[] = {
    {1, 5, 3, 0.5, 5, 1},         {31, 5, 3, 0.5, 5, 8},          {33, 5, 3, 0.5, 5, 32},
    {500, 12, 40, 0.7, 20, 1},    {4000, 12, 300, 0.7, 20, 64},   {4000, 12, 300, 0.7, 3, 1024},
    {4000, 30, 60, 0.2, 7, 1000}, {4000, 100, 50, 0.5, 200, 512}, {2000, 12, 300, 1e-9, 20, 256},
    {4000, 12, 300, 1, 20, 256},
};

// Every run has documents of its own; a failure tells their seed.
TEST_F(GpuClusters, AreThoseOfTheCpu) {
  const auto seed = static_cast<uint64_t>(std::random_device{}());
  for (const Shape &shape : shapes_of_clusters) {
    RandomSets random(seed);
    const std::vector<Document> documents =
        random_documents(random, shape.documents, shape.terms, shape.stories);
    const auto clustered_on = [&](Device device) {
      return cluster_on(device, documents, shape.threshold, shape.max_terms, shape.batch);
    };
    EXPECT_EQ(clustered_on(Device::gpu), clustered_on(Device::cpu))
        << "seed " << seed << ", " << shape.documents << " documents, batch " << shape.batch << ", threshold "
        << shape.threshold;
  }
}

// The copy follows an index that changes all the time, and is cleared out now and then.
TEST_F(GpuClusters, TheCopyFollowsTheIndex) {
  MemoryCounter memory;
  RandomSets random(7);
  ClusterIndex index(memory);
  ClusterSearch search;
  const std::unique_ptr<ClusterDevice> device = cuda_backend().make_cluster_device(0);
  const StopFlag stop;
  int cleared = 0;
  for (int round = 0; round < 4000; ++round) {
    change_index(random, index, 12, 60);
    cleared += index.everything_changed();
    device->update(index, stop);
    index.mark_copied();
    std::vector<TermWeight> terms;
    std::vector<uint64_t> ends;
    std::vector<FoundCluster> expected;
    for (int i = 0; i < 5; ++i) {
      const std::vector<TermWeight> document = random_vector(random, 12, 70);
      expected.push_back(search.find(index, document, 1u << 23, stop));
      terms.insert(terms.end(), document.begin(), document.end());
      ends.push_back(terms.size());
    }
    std::vector<FoundCluster> found(ends.size(), 1);
    device->find({terms, ends}, 1u << 23, found.data(), stop);
    ASSERT_EQ(found, expected) << "round " << round;
  }
  EXPECT_GT(cleared, 0);
}

// A document with more terms than are compared with each other, and centroids as long.
TEST_F(GpuClusters, DocumentsMayBeLong) {
  RandomSets random(11);
  std::vector<Document> documents = random_documents(random, 300, 20, 30);
  for (int copies = 0; copies < 3; ++copies) {
    Document document;
    for (int32_t term = 0; term < 9000; ++term) document.emplace_back(term, 1 + term % 7);
    documents.push_back(std::move(document));
    documents.push_back(documents[static_cast<size_t>(copies)]);
  }
  EXPECT_EQ(cluster_on(Device::gpu, documents, 0.3, 5000, 64),
            cluster_on(Device::cpu, documents, 0.3, 5000, 64));
}

// Each device call fails in turn: under `automatic` the clusters are those of the CPU, and the device's
// memory is what it was.
TEST_F(GpuClusters, EveryCallCanFail) {
  RandomSets random(3);
  const std::vector<Document> documents = random_documents(random, 1000, 12, 100);
  const std::vector<Clustered> expected = cluster_on(Device::cpu, documents, 0.6, 8, 256);
  cluster_on(Device::gpu, documents, 0.6, 8, 256);
  const uint64_t before = device_calls();
  EXPECT_EQ(cluster_on(Device::gpu, documents, 0.6, 8, 256), expected);
  const uint64_t calls = device_calls() - before;
  ASSERT_GT(calls, 20u);
  const size_t free = free_memory();
  for (uint64_t call = 1; call <= calls; ++call) {
    for (const bool launch : {false, true}) {
      fail_device_call(call, launch);
      try {
        cluster_on(Device::gpu, documents, 0.6, 8, 256);
        ADD_FAILURE() << "call " << call << " of " << calls << " failed unnoticed";
      } catch (const Error &error) {
        EXPECT_EQ(error.kind(), launch ? ErrorKind::device_failure : ErrorKind::limit_exceeded);
        EXPECT_FALSE(error.hint().empty());
      }
      fail_device_call(0, false);
      set_gpu_backend(&cuda_backend());  // forgets the failure
    }
  }
  EXPECT_EQ(cluster_on(Device::gpu, documents, 0.6, 8, 256), expected);
  EXPECT_EQ(free_memory(), free);
}

TEST_F(GpuClusters, AbandonedRoundsEndSoon) {
  RandomSets random(2);
  const std::vector<Document> documents = random_documents(random, 20000, 30, 3);
  for (const int milliseconds : {0, 5, 50, 200}) {
    auto clusters = std::make_unique<DocumentClusters>(options_for(Device::gpu, 0.99, 20, 4096));
    for (const Document &document : documents) {
      for (const auto &[term, weight] : document)
        clusters->add_term(clusters->terms().id_of(int64_t{term}), weight);
      clusters->end_document();
    }
    clusters->step(std::chrono::milliseconds(milliseconds));
    const auto begin = std::chrono::steady_clock::now();
    clusters.reset();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(500));
  }
}

}  // namespace
}  // namespace simjoin::test
