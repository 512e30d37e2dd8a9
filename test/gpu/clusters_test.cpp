// The clustering of documents on a GPU: the CPU's clusters, whatever fails.
#include <chrono>
#include <random>

#include "core/cluster_device.hpp"
#include "core/gpu.hpp"
#include "gpu/gpu_drive.hpp"
#include "unit/document_oracle.hpp"
#include "unit/group_oracle.hpp"

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

  static std::vector<Clustered> cluster_on(Device device, const std::vector<Document> &documents,
                                           const DocumentCase &c) {
    DocumentClusters clusters(options_of(c, device));
    std::vector<Clustered> result = cluster(clusters, documents, documents.size() / 2 + 1);
    EXPECT_EQ(clusters.figures().gpu, device == Device::gpu && !documents.empty());
    return result;
  }
};

constexpr DocumentCase cases[] = {
    {1, 5, 3, 0.5, 5, 1},         {31, 5, 3, 0.5, 5, 8},          {33, 5, 3, 0.5, 5, 32},
    {500, 12, 40, 0.7, 20, 1},    {4000, 12, 300, 0.7, 20, 64},   {4000, 12, 300, 0.7, 3, 1024},
    {4000, 30, 60, 0.2, 7, 1000}, {4000, 100, 50, 0.5, 200, 512}, {2000, 12, 300, 1e-9, 20, 256},
    {4000, 12, 300, 1, 20, 256},
};

// Every run has documents of its own; a failure tells their seed.
TEST_F(GpuClusters, AreThoseOfTheCpu) {
  const auto seed = static_cast<uint64_t>(std::random_device{}());
  for (const DocumentCase &c : cases) {
    const std::vector<Document> documents = documents_of(c, seed);
    EXPECT_EQ(cluster_on(Device::gpu, documents, c), cluster_on(Device::cpu, documents, c))
        << "seed " << seed << ", " << c.documents << " documents, batch " << c.batch << ", threshold "
        << c.threshold;
  }
}

// Documents behind others, with room behind some.
class Batch {
 public:
  void add(const std::vector<TermWeight> &document, uint32_t max_terms, uint32_t least) {
    terms_.insert(terms_.end(), document.begin(), document.end());
    terms_.resize(terms_.size() + document.size() % 3, {0, 7});
    ends_.push_back(terms_.size());
    sizes_.push_back(static_cast<uint32_t>(document.size()));
    reaches_.push_back(reach_of(document, max_terms, least, scratch_));
  }
  DocumentVectors documents() const {
    const size_t before = before_ == 0 ? 0 : ends_[before_ - 1];
    const auto from = [&](const auto &values) { return std::span(values).subspan(before_); };
    return {std::span(terms_).subspan(before), from(ends_), before, from(sizes_), from(reaches_)};
  }
  // From now on without the documents so far.
  void skip() { before_ = ends_.size(); }

 private:
  std::vector<TermWeight> terms_;
  std::vector<uint64_t> ends_;
  std::vector<uint32_t> sizes_;
  std::vector<uint32_t> reaches_;
  std::vector<uint64_t> scratch_;
  size_t before_ = 0;
};

// Related documents are in one group, others are not.
TEST_F(GpuClusters, GroupsAreThoseOfTheDefinition) {
  const auto seed = static_cast<uint64_t>(std::random_device{}());
  RandomSets random(seed);
  MemoryCounter memory;
  const StopFlag stop;
  for (const auto &[documents, max_terms, terms] :
       {std::tuple(1u, 20u, 40), {2u, 20u, 40}, {300u, 20u, 400}, {1000u, 3u, 400}, {3000u, 12u, 1000}}) {
    for (const uint32_t least : {1u, 1u << 21, 1u << 23, 3u << 22, 1u << 24}) {
      ClusterIndex index(memory);
      index.give_lists_away();
      for (int i = 0; i < 300; ++i) change_index(random, index, 12, terms);
      const std::unique_ptr<ClusterDevice> device = cuda_backend().make_cluster_device(0);
      device->update(index, stop);
      Batch batch;
      std::vector<std::vector<TermWeight>> all;
      for (uint32_t i = 0; i < documents + 7; ++i) {
        if (i == 7) batch.skip();
        if (i % 3 == 2) {
          all.push_back(all[i / 2]);
        } else {
          all.push_back(random_vector(random, 12, terms));
        }
        batch.add(all.back(), max_terms, least);
      }
      std::vector<FoundCluster> found(documents);
      std::vector<uint32_t> groups(documents, 99), expected(documents);
      device->find(batch.documents(), least, found.data(), groups.data(), stop);
      group_naively(batch.documents(), least, found.data(), expected.data());
      ASSERT_EQ(groups, expected) << documents << " documents, similarity " << least << ", seed " << seed;
    }
  }
}

// The copy follows an index that changes all the time, and is cleared out now and then.
TEST_F(GpuClusters, TheCopyFollowsTheIndex) {
  MemoryCounter memory;
  RandomSets random(7);
  ClusterIndex index(memory);
  index.give_lists_away();
  const std::unique_ptr<ClusterDevice> device = cuda_backend().make_cluster_device(0);
  const StopFlag stop;
  int cleared = 0;
  for (int round = 0; round < 4000; ++round) {
    change_index(random, index, 12, 60);
    cleared += round > 0 && index.lists_are_stale();
    device->update(index, stop);
    index.mark_copied();
    Batch batch;
    std::vector<FoundCluster> expected;
    for (int i = 0; i < 5; ++i) {
      const std::vector<TermWeight> document = random_vector(random, 12, 70);
      expected.push_back(find_naively(index, document, 1u << 23));
      batch.add(document, 12, 1u << 23);
    }
    std::vector<FoundCluster> found(expected.size(), 1);
    device->find(batch.documents(), 1u << 23, found.data(), nullptr, stop);
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
  const DocumentCase c{0, 0, 0, 0.3, 5000, 64};
  EXPECT_EQ(cluster_on(Device::gpu, documents, c), cluster_on(Device::cpu, documents, c));
}

// Each device call fails in turn: that is an error, and the device's memory is what it was.
TEST_F(GpuClusters, EveryCallCanFail) {
  const DocumentCase c{1000, 12, 100, 0.6, 8, 256};
  const std::vector<Document> documents = documents_of(c);
  const std::vector<Clustered> expected = cluster_on(Device::cpu, documents, c);
  const auto run = [&] {
    set_gpu_backend(&cuda_backend());  // forgets earlier failures
    EXPECT_EQ(cluster_on(Device::gpu, documents, c), expected);
  };
  run();
  run();
  const size_t free = free_memory();
  fail_each_call(20, run);
  run();
  EXPECT_EQ(free_memory(), free);
}

TEST_F(GpuClusters, AbandonedRoundsEndSoon) {
  const DocumentCase c{20000, 30, 3, 0.99, 20, 4096};
  const std::vector<Document> documents = documents_of(c);
  for (const int milliseconds : {0, 5, 50, 200}) {
    auto clusters = std::make_unique<DocumentClusters>(options_of(c, Device::gpu));
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
