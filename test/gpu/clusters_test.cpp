// The GPU clusters documents as the CPU does, even after failures.
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>
#include <thread>
#include <tuple>

#include "core/base/error.hpp"
#include "core/clusters/cluster_device.hpp"
#include "core/device/gpu.hpp"
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
    EXPECT_EQ(clusters.attempt().outcome().gpu, device == Device::gpu && !documents.empty());
    return result;
  }
};

constexpr DocumentCase cases[] = {
    {1, 5, 3, 0.5, 5, 1},         {31, 5, 3, 0.5, 5, 8},          {33, 5, 3, 0.5, 5, 32},
    {500, 12, 40, 0.7, 20, 1},    {4000, 12, 300, 0.7, 20, 64},   {4000, 12, 300, 0.7, 3, 1024},
    {4000, 30, 60, 0.2, 7, 1000}, {4000, 100, 50, 0.5, 200, 512}, {2000, 12, 300, 1e-9, 20, 256},
    {4000, 12, 300, 1, 20, 256},
};

// Every run has documents of its own. A failure prints their seed.
TEST_F(GpuClusters, AreThoseOfTheCpu) {
  const auto seed = static_cast<uint64_t>(std::random_device{}());
  for (const DocumentCase &c : cases) {
    const std::vector<Document> documents = documents_of(c, seed);
    EXPECT_EQ(cluster_on(Device::gpu, documents, c), cluster_on(Device::cpu, documents, c))
        << "seed " << seed << ", " << c.documents << " documents, batch " << c.batch << ", threshold "
        << c.threshold;
  }
}

// Documents one after another, with unused room after some.
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
  // Starts anew, without the documents so far.
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

// If device memory holds the search but not the groups, all documents are one group.
TEST_F(GpuClusters, GroupsNeedNotFit) {
  constexpr uint32_t documents = 3000, least = 1u << 23;
  constexpr size_t more = size_t{1} << 18;  // bytes; groups take a megabyte
  RandomSets random(12);
  MemoryCounter memory;
  const StopFlag stop;
  ClusterIndex index(memory);
  index.give_lists_away();
  for (int i = 0; i < 300; ++i) change_index(random, index, 12, 4000);
  Batch batch;
  for (uint32_t i = 0; i < documents; ++i) batch.add(random_vector(random, 40, 4000), 40, least);
  std::vector<FoundCluster> found(documents);
  std::vector<uint32_t> groups(documents, 99), expected_groups(documents);
  const auto find = [&](size_t memory_limit, uint32_t *groups_found) {
    std::fill(found.begin(), found.end(), 1);
    const std::unique_ptr<ClusterDevice> device = cuda_backend().make_cluster_device(memory_limit);
    device->update(index, stop);
    device->find(batch.documents(), least, found.data(), groups_found, stop);
  };
  find(0, nullptr);
  const std::vector<FoundCluster> expected = found;
  size_t enough = more;  // for the search alone
  for (bool fits = false; !fits; enough += fits ? 0 : more) {
    try {
      find(enough, nullptr);
      fits = true;
    } catch (const Error &error) {
      ASSERT_EQ(error.kind(), ErrorKind::limit_exceeded);
    }
  }
  find(enough, groups.data());
  EXPECT_EQ(found, expected);
  EXPECT_EQ(groups, std::vector<uint32_t>(documents, 0));
  find(enough + (size_t{16} << 20), groups.data());
  EXPECT_EQ(found, expected);
  group_naively(batch.documents(), least, expected.data(), expected_groups.data());
  EXPECT_EQ(groups, expected_groups);
  EXPECT_NE(groups, std::vector<uint32_t>(documents, 0));
}

// Returns a unit vector of `terms` terms of equal weight: `first` and every `every`-th after it.
std::vector<TermWeight> even_vector(uint32_t terms, uint32_t first, uint32_t every) {
  std::vector<TermWeight> vector(terms);
  const auto weight = static_cast<uint32_t>((1 << weight_bits) / std::sqrt(static_cast<double>(terms)));
  for (uint32_t i = 0; i < terms; ++i) vector[i] = {first + i * every, weight};
  return vector;
}

// Two documents too long to be compared are related if they share a term.
TEST_F(GpuClusters, VeryLongDocumentsAreOneGroup) {
  constexpr uint32_t terms = 70000, short_documents = 20, least = 1u << 23;
  MemoryCounter memory;
  const StopFlag stop;
  ClusterIndex index(memory);
  index.give_lists_away();
  const std::unique_ptr<ClusterDevice> device = cuda_backend().make_cluster_device(0);
  device->update(index, stop);
  Batch batch;
  batch.add(even_vector(terms, 0, 2), terms, least);
  for (uint32_t i = 0; i < short_documents; ++i) batch.add(even_vector(3, 1 + 6 * i, 2), terms, least);
  batch.add(even_vector(terms, 2 * (terms - 1), 1), terms, least);
  std::vector<FoundCluster> found(short_documents + 2);
  std::vector<uint32_t> groups(found.size()), expected(found.size());
  std::iota(expected.begin(), expected.end(), 0);
  expected.back() = 0;
  device->find(batch.documents(), least, found.data(), groups.data(), stop);
  EXPECT_EQ(groups, expected);
}

// Vectors of very different lengths. The longer one is searched.
TEST_F(GpuClusters, VectorsMayDifferInLength) {
  RandomSets random(13);
  MemoryCounter memory;
  const StopFlag stop;
  ClusterIndex index(memory);
  index.give_lists_away();
  Batch batch;
  std::vector<std::vector<TermWeight>> all;
  for (const int32_t terms : {1, 7, 8, 9, 40, 300, 5000, 10000}) {
    for (int copies = 0; copies < 2; ++copies) {
      index.add_cluster();
      index.set_centroid(index.clusters() - 1, random_vector(random, terms, 2 * terms));
      all.push_back(random_vector(random, terms, 2 * terms));
      batch.add(all.back(), 1u << 16, 1);
    }
  }
  const std::unique_ptr<ClusterDevice> device = cuda_backend().make_cluster_device(0);
  device->update(index, stop);
  for (const uint32_t least : {1u, 1u << 21}) {
    std::vector<FoundCluster> found(all.size());
    device->find(batch.documents(), least, found.data(), nullptr, stop);
    for (size_t i = 0; i < all.size(); ++i)
      EXPECT_EQ(found[i], find_naively(index, all[i], least)) << all[i].size() << " terms";
  }
}

// An object may be used on another thread than the one that made it, and destroyed on a third.
TEST_F(GpuClusters, ThreadsMayChange) {
  RandomSets random(14);
  MemoryCounter memory;
  const StopFlag stop;
  constexpr uint32_t least = 1u << 23;
  ClusterIndex index(memory);
  index.give_lists_away();
  for (int i = 0; i < 300; ++i) change_index(random, index, 12, 60);
  const std::vector<TermWeight> document = random_vector(random, 12, 60);
  Batch batch;
  batch.add(document, 12, least);
  std::unique_ptr<ClusterDevice> device =
      on_thread([] { return cuda_backend().make_cluster_device(0); }, true);
  on_thread([&] { device->update(index, stop); });
  std::vector<FoundCluster> found(1);
  std::vector<uint32_t> groups(1, 99);
  on_thread([&] { device->find(batch.documents(), least, found.data(), groups.data(), stop); });
  EXPECT_EQ(found[0], find_naively(index, document, least));
  EXPECT_EQ(groups[0], 0u);
  on_thread([&] { device.reset(); });
}

// The copy follows an index that changes all the time and is sometimes cleared.
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

// Documents with more terms than the limit for comparisons, and centroids as long. The batches are so small
// that they are grouped, too.
TEST_F(GpuClusters, DocumentsMayBeLong) {
  RandomSets random(11);
  std::vector<Document> documents = random_documents(random, 300, 20, 30);
  for (int copies = 0; copies < 3; ++copies) {
    Document document;
    for (int32_t term = 0; term < 9000; ++term) document.emplace_back(term, 1 + term % 7);
    documents.push_back(std::move(document));
    documents.push_back(documents[static_cast<size_t>(copies)]);
  }
  for (const uint32_t batch : {8u, 64u}) {
    const DocumentCase c{0, 0, 0, 0.3, 5000, batch};
    EXPECT_EQ(cluster_on(Device::gpu, documents, c), cluster_on(Device::cpu, documents, c)) << batch;
  }
}

// Each device call fails in turn. That is an error, unless memory runs out for the groups of a batch. The
// device's memory returns to its baseline.
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
  int went_on = 0;
  fail_each_call(20, run, [&] { ++went_on; });
  EXPECT_GT(went_on, 0);
  run();
  EXPECT_EQ(free_memory(), free);
}

// No launch of a search takes long, however long the vectors are.
TEST_F(GpuClusters, SearchesOfLongDocumentsEndSoon) {
  constexpr uint32_t terms = 1000000, centroid_terms = 2000, clusters = 1000, documents = 8, least = 1u << 23;
  MemoryCounter memory;
  ClusterIndex index(memory);
  index.give_lists_away();
  for (uint32_t i = 0; i < clusters; ++i) {
    index.add_cluster();
    index.set_centroid(i, even_vector(centroid_terms, i % 500, terms / centroid_terms));
  }
  Batch short_ones, long_ones;
  for (uint32_t i = 0; i < documents; ++i) {
    short_ones.add(even_vector(10, 0, 1), terms, least);
    long_ones.add(even_vector(terms, 0, 1), terms, least);
  }
  std::vector<FoundCluster> found(documents);
  const auto search = [&](const Batch &batch, const StopFlag &stop) {
    const std::unique_ptr<ClusterDevice> device = cuda_backend().make_cluster_device(0);
    device->update(index, stop);
    device->find(batch.documents(), least, found.data(), nullptr, stop);
  };
  StopFlag running, stopped;
  search(short_ones, running);  // loads the kernels
  std::chrono::steady_clock::time_point set;
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    set = std::chrono::steady_clock::now();
    stopped.set();
  });
  EXPECT_THROW(search(long_ones, stopped), Cancelled);
  const auto end = std::chrono::steady_clock::now();
  canceller.join();
  EXPECT_LT(end - set, std::chrono::milliseconds(100));
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
