// The clustering of documents against its definition, in one stream and in several.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "unit/document_oracle.hpp"
#include "unit/fake_gpu.hpp"
#include "unit/group_oracle.hpp"
#include "unit/process.hpp"

namespace simjoin::test {
namespace {

constexpr DocumentCase cases[] = {
    {0, 5, 3, 0.5, 5, 1},       {1, 5, 3, 0.5, 5, 1},        {31, 5, 3, 0.5, 5, 32},
    {32, 5, 3, 0.5, 5, 32},     {33, 5, 3, 0.5, 5, 32},      {600, 12, 40, 0.7, 20, 1},
    {600, 12, 40, 0.7, 4, 1},   {600, 12, 40, 0.3, 4, 1},    {600, 30, 60, 0.5, 3, 7},
    {600, 12, 40, 0.7, 20, 64}, {600, 12, 40, 0.05, 20, 64}, {600, 12, 40, 1.0, 20, 64},
    {900, 8, 100, 0.6, 6, 256}, {900, 8, 100, 0.6, 6, 4096}, {900, 40, 5, 1e-9, 2, 100},
};

// Centroids that change all the time: no search misses a cluster, and lost terms are cleared from the lists.
TEST(ClusterIndex, FindsTheMostSimilarCluster) {
  MemoryCounter memory;
  RandomSets random(1);
  using Index = std::pair<uint32_t, size_t>;
  for (const auto &[least, shared_lists] :
       {Index{1, 0}, Index{1 << 22, 0}, Index{1 << 23, 16}, Index{1 << 23, 1024}, Index{1 << 24, 0}}) {
    ClusterIndex index(memory, shared_lists);
    ClusterSearch search(memory);
    index.mark_copied();
    size_t cleared = 0;
    for (int round = 0; round < 4000; ++round) {
      if (round == 1500 && least > 1) break;
      change_index(random, index, 12, 60);
      cleared += index.lists_are_stale();
      index.mark_copied();
      std::vector<TermWeight> document = random_vector(random, 12, 70);
      if (round % 10 == 0 && index.clusters() > 0)
        document.assign(index.centroid(0).begin(), index.centroid(0).end());
      EXPECT_EQ(search.find(index, document, least, StopFlag()), find_naively(index, document, least));
      if (round == 700 && shared_lists > 0) index.clear();
    }
    size_t postings = 0;
    for (uint32_t term = 0; term < 60; ++term) postings += index.list(term).size();
    if (shared_lists == 0) {
      EXPECT_LT(postings, 2 * 12 * index.clusters() + (1 << 16) + 24);
    }
    EXPECT_EQ(cleared > 0, least == 1) << "where the index was not emptied, it had to be cleared out";
  }
}

// Regions have room for a power of two of entries, up to the largest size.
TEST(ClusterIndex, RegionsHaveALimit) {
  constexpr uint64_t half = uint64_t{1} << 31, most = UINT32_MAX;
  const std::pair<uint64_t, uint32_t> capacities[] = {
      {0, 4}, {4, 4}, {5, 8}, {8, 8}, {half, half}, {half + 1, most}, {most, most}, {most + 1, 0}};
  for (const auto &[size, capacity] : capacities) EXPECT_EQ(capacity_for(size), capacity) << size;
  EXPECT_EQ(capacity_for(UINT64_MAX), 0u);
  MemoryCounter memory;
  RegionPool<uint32_t> pool(memory);
  pool.add_keys(1);
  try {
    pool.reserve(0, most + 1);
    ADD_FAILURE() << "a region has no room for its size";
  } catch (const Error &error) {
    EXPECT_EQ(error.kind(), ErrorKind::limit_exceeded);
  }
}

TEST(TermTable, KnowsTermsBothWays) {
  MemoryCounter memory;
  TermTable numbers(memory), texts(memory);
  for (int pass = 0; pass < 2; ++pass) {
    for (int64_t i = 0; i < 5000; ++i) {
      const int64_t value = i % 2 == 0 ? i * 4'294'967'296 : -i;
      EXPECT_EQ(numbers.id_of(value), i);
      EXPECT_EQ(numbers.value(static_cast<uint32_t>(i)), value);
      EXPECT_EQ(texts.id_of(std::to_string(value)), i);
      EXPECT_EQ(texts.text(static_cast<uint32_t>(i)), std::to_string(value));
    }
  }
  EXPECT_EQ(numbers.size(), 5000u);
  EXPECT_EQ(texts.size(), 5000u);
  EXPECT_EQ(texts.text(texts.id_of("")), "");
  EXPECT_TRUE(numbers.before(3, 2));  // -3 and a large number
  EXPECT_TRUE(texts.before(texts.id_of("10"), texts.id_of("9")));
  EXPECT_FALSE(texts.before(0, 0));
}

TEST(DocumentClusters, AreThoseOfTheDefinition) {
  for (const DocumentCase &c : cases) {
    const std::vector<Document> documents = documents_of(c);
    NaiveClusters naive(c.threshold, c.max_terms, c.batch);
    std::vector<Clustered> expected;
    for (const Document &document : documents) expected.push_back(naive.add(document));
    for (const size_t round : {SIZE_MAX, size_t{50}}) {
      DocumentClusters clusters(options_of(c));
      EXPECT_EQ(cluster(clusters, documents, round), expected)
          << c.documents << " documents, threshold " << c.threshold << ", batch " << c.batch << ", rounds of "
          << round;
    }
  }
}

// Documents whose clusters come together. Most clusters are weak, so that few documents change much.
constexpr DocumentCase merging_cases[] = {
    {0, 5, 3, 0.5, 5, 1, 0.5},         {33, 5, 3, 0.5, 5, 32, 0.4},         {600, 12, 40, 0.7, 20, 1, 0.6},
    {600, 12, 40, 0.3, 4, 1, 0.3},     {600, 30, 60, 0.5, 3, 7, 0.5},       {600, 12, 40, 0.7, 20, 64, 0.5},
    {600, 12, 40, 0.9, 20, 64, 1.0},   {600, 12, 40, 0.9, 20, 64, 1e-9},    {900, 8, 100, 0.6, 6, 256, 0.45},
    {900, 8, 100, 0.6, 6, 4096, 0.45}, {900, 40, 30, 0.8, 65535, 100, 0.6},
};

// Returns the cluster of each document in the end.
std::vector<uint32_t> survivors(DocumentClusters &clusters, const std::vector<Document> &documents,
                                size_t round) {
  std::vector<uint32_t> result;
  for (const auto &[joined, similarity] : cluster(clusters, documents, round)) result.push_back(joined);
  clusters.end_batch();
  while (!clusters.step(std::chrono::milliseconds(10))) {
  }
  clusters.settle();
  for (uint32_t &each : result) each = clusters.survivor_of(each);
  return result;
}

TEST(DocumentClusters, ComeTogetherAsTheDefinitionSays) {
  size_t merged = 0;
  for (const DocumentCase &c : merging_cases) {
    const std::vector<Document> documents = documents_of(c);
    NaiveClusters naive(c.threshold, c.max_terms, c.batch, c.merge);
    std::vector<uint32_t> expected;
    for (const Document &document : documents) expected.push_back(naive.add(document).first);
    naive.end_batch();
    for (uint32_t &each : expected) {
      merged += naive.survivor_of(each) != each;
      each = naive.survivor_of(each);
    }
    for (const auto &[round, threads] : {std::pair(SIZE_MAX, 1), {size_t{50}, 2}, {size_t{333}, 7}}) {
      DocumentClusters clusters(options_of(c, Device::cpu, threads));
      EXPECT_EQ(survivors(clusters, documents, round), expected)
          << c.documents << " documents, threshold " << c.threshold << ", batch " << c.batch << ", merge "
          << c.merge << ", rounds of " << round;
      uint64_t members = 0;
      for (uint32_t i = 0; i < clusters.clusters(); ++i) {
        members += clusters.documents_of(i);
        EXPECT_EQ(clusters.documents_of(i) == 0, clusters.survivor_of(i) != i);
        if (clusters.survivor_of(i) != i) {
          EXPECT_EQ(clusters.sum_size(i), 0u);
        }
      }
      EXPECT_EQ(members, documents.size());
    }
  }
  EXPECT_GT(merged, 500u);
}

// The serial algorithm searches for windows of documents, whose size depends on the threads.
TEST(DocumentClusters, TheSerialAlgorithmRunsOnManyThreads) {
  for (const double threshold : {0.3, 0.6, 0.9}) {
    for (const uint32_t max_terms : {3u, 20u}) {
      const DocumentCase c{2500, 12, 150, threshold, max_terms, 1};
      const std::vector<Document> documents = documents_of(c);
      NaiveClusters naive(c.threshold, c.max_terms, c.batch);
      std::vector<Clustered> expected;
      for (const Document &document : documents) expected.push_back(naive.add(document));
      for (const int threads : {1, 2, 7}) {
        DocumentClusters clusters(options_of(c, Device::cpu, threads));
        EXPECT_EQ(cluster(clusters, documents, 900), expected) << threshold << ", " << threads << " threads";
      }
    }
  }
}

// Returns the clusters of the documents in several streams. Each stream knows only the stored state of the
// ones before it, so terms come in another order.
std::vector<Clustered> cluster_in_streams(const DocumentCase &c, const std::vector<Document> &documents,
                                          size_t a_stream, std::vector<uint32_t> *survivors = nullptr) {
  struct Kept {
    uint64_t documents;
    std::vector<std::pair<int64_t, uint64_t>> sum, pending;
    bool open;
    uint32_t survivor;
  };
  std::vector<Kept> kept;
  std::vector<Clustered> result;
  for (size_t begin = 0; begin < documents.size(); begin += std::min(a_stream, documents.size())) {
    DocumentClusters clusters(options_of(c));
    const auto sums = [&](const std::vector<std::pair<int64_t, uint64_t>> &terms) {
      std::vector<TermSum> sums;
      for (const auto &[term, sum] : terms) sums.push_back({clusters.terms().id_of(term), sum});
      return sums;
    };
    for (uint32_t i = 0; i < kept.size(); ++i) {
      const Kept &each = kept[i];
      if (each.survivor != i) {
        clusters.load_merged(each.survivor);
      } else {
        clusters.load(each.documents, sums(each.sum), each.open, sums(each.pending));
      }
    }
    const size_t end = begin + std::min(documents.size() - begin, a_stream);
    const std::vector<Clustered> part = cluster(clusters, {documents.begin() + static_cast<ptrdiff_t>(begin),
                                                           documents.begin() + static_cast<ptrdiff_t>(end)});
    result.insert(result.end(), part.begin(), part.end());
    const auto values = [&](const std::vector<TermSum> &sums) {
      std::vector<std::pair<int64_t, uint64_t>> terms;
      for (const TermSum &sum : sums) terms.emplace_back(clusters.terms().value(sum.term), sum.sum);
      return terms;
    };
    clusters.settle();
    kept.resize(clusters.clusters());
    for (uint32_t i = 0; i < clusters.clusters(); ++i) {
      std::vector<TermSum> sum(clusters.sum_size(i)), pending(clusters.pending_size(i));
      clusters.copy_sum(i, sum.data());
      clusters.copy_pending(i, pending.data());
      Kept now{clusters.documents_of(i), values(sum), values(pending), clusters.is_open(i),
               clusters.survivor_of(i)};
      if (clusters.changed(i)) {
        kept[i] = std::move(now);
      } else {
        EXPECT_TRUE(kept[i].documents == now.documents && kept[i].sum == now.sum &&
                    kept[i].pending == now.pending && kept[i].open == now.open &&
                    kept[i].survivor == now.survivor);
      }
    }
  }
  for (size_t i = 0; survivors != nullptr && i < kept.size(); ++i) survivors->push_back(kept[i].survivor);
  return result;
}

TEST(DocumentClusters, AreTheSameInOneStreamAndInMany) {
  for (const DocumentCase &c : cases) {
    const std::vector<Document> documents = documents_of(c);
    DocumentClusters clusters(options_of(c));
    const std::vector<Clustered> expected = cluster(clusters, documents);
    for (const size_t a_stream : {size_t{7}, size_t{64}, size_t{333}}) {
      if (documents.size() / a_stream > 30 && c.batch == 1) continue;
      EXPECT_EQ(cluster_in_streams(c, documents, a_stream), expected)
          << c.documents << " documents, batch " << c.batch << ", streams of " << a_stream;
    }
  }
}

// Streams merge the same clusters wherever they end, and say where each merged cluster has gone.
TEST(DocumentClusters, ComeTogetherTheSameInOneStreamAndInMany) {
  for (const DocumentCase &c : merging_cases) {
    const std::vector<Document> documents = documents_of(c);
    std::vector<uint32_t> gone;
    const std::vector<Clustered> expected = cluster_in_streams(c, documents, SIZE_MAX, &gone);
    for (const size_t a_stream : {size_t{7}, size_t{64}, size_t{333}}) {
      if (documents.size() / a_stream > 30 && c.batch == 1) continue;
      std::vector<uint32_t> gone_in_streams;
      EXPECT_EQ(cluster_in_streams(c, documents, a_stream, &gone_in_streams), expected)
          << c.documents << " documents, batch " << c.batch << ", streams of " << a_stream;
      EXPECT_EQ(gone_in_streams, gone);
    }
  }
}

TEST(DocumentClusters, DoNotDependOnThreads) {
  const DocumentCase c{3000, 12, 200, 0.6, 8, 512};
  const std::vector<Document> documents = documents_of(c);
  DocumentClusters one(options_of(c, Device::cpu, 1));
  const std::vector<Clustered> expected = cluster(one, documents);
  for (const int threads : {2, 7}) {
    DocumentClusters clusters(options_of(c, Device::cpu, threads));
    EXPECT_EQ(cluster(clusters, documents), expected);
  }
}

TEST(DocumentClusters, EqualDocumentsAreExactlySimilar) {
  ClusterOptions options;
  options.threshold = 1;
  options.max_terms = 1000;
  DocumentClusters clusters(options);
  RandomSets random(5);
  std::vector<Document> documents;
  for (const int terms : {1, 2, 3, 10, 100, 1000}) {
    Document document;
    for (int32_t i = 0; i < terms; ++i)
      document.emplace_back(1000 * terms + i, static_cast<float>(random.between(1, 1000)) / 7);
    documents.insert(documents.end(), 2, document);
  }
  const std::vector<Clustered> result = cluster(clusters, documents);
  for (uint32_t i = 0; i < result.size(); ++i)
    EXPECT_EQ(result[i], Clustered(i / 2, i % 2 == 0 ? 0 : 1u << similarity_bits));
}

TEST(DocumentClusters, AtTheThresholdIsIn) {
  // 0.6 and 0.8 against one term: similarities of 0.6 and 0.8.
  const std::vector<Document> documents = {{{1, 1}}, {{1, 3}, {2, 4}}, {{1, 4}, {3, 3}}};
  const std::pair<double, std::vector<uint32_t>> expected[] = {
      {0.8, {0, 1, 0}}, {0.8000001, {0, 1, 2}}, {0.5999999, {0, 0, 0}}};
  for (const auto &[threshold, clusters_of] : expected) {
    ClusterOptions options;
    options.threshold = threshold;
    DocumentClusters clusters(options);
    const std::vector<Clustered> result = cluster(clusters, documents);
    for (size_t i = 0; i < result.size(); ++i)
      EXPECT_EQ(result[i].first, clusters_of[i]) << threshold << " " << i;
  }
}

TEST(DocumentClusters, AbandonedRoundsEndSoon) {
  RandomSets random(2);
  const std::vector<Document> documents = random_documents(random, 20000, 30, 3);
  ClusterOptions options;
  options.threshold = 0.99;
  options.device = Device::cpu;
  options.threads = 2;
  for (const auto &[batch, milliseconds] : {std::pair(1024u, 0), {1024u, 5}, {1024u, 50}, {1u << 20, 50}}) {
    options.batch = batch;
    auto clusters = std::make_unique<DocumentClusters>(options);
    for (const Document &document : documents) {
      for (const auto &[term, weight] : document)
        clusters->add_term(clusters->terms().id_of(int64_t{term}), weight);
      clusters->end_document();
    }
    clusters->step(std::chrono::milliseconds(milliseconds));
    const auto begin = processor_time();
    clusters.reset();
    EXPECT_LT(processor_time() - begin, std::chrono::milliseconds(500));
  }
}

TEST(DocumentClusters, WhatIsLoadedIsChecked) {
  DocumentClusters clusters({});
  const std::vector<TermSum> sum = {{clusters.terms().id_of(int64_t{1}), 1}};
  clusters.load(1, sum, true, {});
  EXPECT_THROW(clusters.load(1, sum, false, {}), Error);
  EXPECT_THROW(clusters.load(1, sum, true, sum), Error);
  EXPECT_THROW(clusters.load_merged(0), Error);
  DocumentClusters merged({});
  EXPECT_THROW(merged.load_merged(1), Error);
  merged.load(1, {}, false, {});
  merged.load_merged(0);
  merged.load_merged(2);
  EXPECT_THROW(merged.load_merged(1), Error);
  EXPECT_THROW(merged.load_merged(9), Error);
}

// The limit is for clusters, not for documents: any number of documents may join a cluster.
TEST(DocumentClusters, KeepToTheMemoryLimit) {
  for (const uint32_t batch : {1u, 1024u, 1u << 30}) {
    ClusterOptions options;
    options.device = Device::cpu;
    options.batch = batch;
    options.memory_limit = size_t{2} << 20;
    std::vector<Document> documents;
    for (int32_t i = 0; i < 20000; ++i) documents.push_back({{i % 50, 1.0f}, {100 + i % 50, 2.0f}});
    DocumentClusters few(options);
    EXPECT_EQ(cluster(few, documents, 500).size(), documents.size());
    EXPECT_EQ(few.clusters(), 50u);
    for (int32_t i = 0; i < 20000; ++i) documents[static_cast<size_t>(i)][1].first = 100 + i;
    DocumentClusters many(options);
    try {
      cluster(many, documents, 500);
      ADD_FAILURE() << "20000 clusters need more";
    } catch (const Error &error) {
      EXPECT_EQ(error.kind(), ErrorKind::memory_limit_exceeded);
      EXPECT_EQ(std::string(error.what()),
                "the clusters of documents need more memory than the 2 MB of simjoin.memory_limit");
    }
  }
}

// A fake device. It keeps lists and centroids from the reported changes, and fails on demand.
class FakeClusterDevice final : public ClusterDevice {
 public:
  FakeClusterDevice(int failing, ErrorKind kind, bool groups)
      : failing_(failing), kind_(kind), groups_(groups) {}
  void update(const ClusterIndex &index, const StopFlag &) override {
    if (failing_-- == 0) fail_as(kind_);
    const auto copy = [&](uint32_t cluster) {
      centroids_[cluster].assign(index.centroid(cluster).begin(), index.centroid(cluster).end());
    };
    centroids_.resize(index.clusters());
    lists_.resize(index.term_end());
    if (first_) {
      for (uint32_t cluster = 0; cluster < index.clusters(); ++cluster) copy(cluster);
    } else {
      for (const uint32_t cluster : index.changed_centroids()) copy(cluster);
    }
    size_t terms = 0;
    if (first_ || index.lists_are_stale()) {
      for (auto &list : lists_) list.clear();
      for (uint32_t cluster = 0; cluster < index.clusters(); ++cluster)
        for (const TermWeight &entry : centroids_[cluster]) lists_[entry.term].push_back(cluster);
    } else {
      for (const ClusterPosting &posting : index.new_postings())
        lists_[posting.term].push_back(posting.cluster);
    }
    for (uint32_t cluster = 0; cluster < index.clusters(); ++cluster) {
      const std::span<const TermWeight> expected = index.centroid(cluster);
      terms += expected.size();
      ASSERT_TRUE(std::equal(
          expected.begin(), expected.end(), centroids_[cluster].begin(), centroids_[cluster].end(),
          [](const TermWeight &a, const TermWeight &b) { return a.term == b.term && a.weight == b.weight; }))
          << cluster;
    }
    ASSERT_EQ(index.centroid_terms(), terms);
    first_ = false;
  }
  void find(const DocumentVectors &documents, uint32_t least, FoundCluster *found, uint32_t *groups,
            const StopFlag &) override {
    for (size_t i = 0; i < documents.size(); ++i) {
      found[i] = 0;
      for (const TermWeight &entry : documents[i]) {
        if (entry.term >= lists_.size()) continue;
        for (const uint32_t cluster : lists_[entry.term]) {
          const uint32_t similarity = similarity_of_product(product(documents[i], centroids_[cluster]));
          if (similarity >= least) found[i] = std::max(found[i], found_cluster(similarity, cluster));
        }
      }
    }
    if (groups != nullptr && groups_) group_naively(documents, least, found, groups);
    if (groups != nullptr && !groups_) std::fill_n(groups, documents.size(), 0);
  }

 private:
  int failing_;
  const ErrorKind kind_;
  const bool groups_;
  bool first_ = true;
  std::vector<std::vector<uint32_t>> lists_;
  std::vector<std::vector<TermWeight>> centroids_;
};

class FakeClusterBackend final : public FakeGpu {
 public:
  std::unique_ptr<ClusterDevice> make_cluster_device(size_t) override {
    ++made;
    return std::make_unique<FakeClusterDevice>(failing, kind, groups);
  }

  int made = 0;
  int failing = -1;
  ErrorKind kind = ErrorKind::device_failure;
  bool groups = true;  // rather than all documents of a batch in one
};

class DocumentClustersOnDevices : public testing::Test {
 protected:
  const DocumentCase case_{3000, 12, 200, 0.6, 8, 256};
  FakeClusterBackend backend_;
};

TEST_F(DocumentClustersOnDevices, AFailureLeavesTheResultAlone) {
  const std::vector<Document> documents = documents_of(case_);
  DocumentClusters on_cpu(options_of(case_));
  const std::vector<Clustered> expected = cluster(on_cpu, documents);
  for (const int failing : {-1, 0, 3}) {
    for (const ErrorKind kind :
         {ErrorKind::device_failure, ErrorKind::device_unavailable, ErrorKind::limit_exceeded}) {
      backend_.repair();
      backend_.failing = failing;
      backend_.kind = kind;
      ClusterOptions options = options_of(case_);
      options.device = Device::automatic;
      DocumentClusters clusters(options);
      EXPECT_EQ(cluster(clusters, documents), expected);
      EXPECT_EQ(clusters.attempt().outcome().gpu, true);
      const std::unique_ptr<Notice> notice = clusters.take_notice();
      ASSERT_EQ(notice != nullptr, failing >= 0);
      if (notice) {
        EXPECT_EQ(notice->cause, cause_of(kind));
      }
      EXPECT_EQ(gpu_failure().empty(), failing < 0 || kind != ErrorKind::device_failure);

      backend_.repair();
      options.device = Device::gpu;
      DocumentClusters demanding(options);
      if (failing < 0) {
        EXPECT_EQ(cluster(demanding, documents), expected);
      } else {
        EXPECT_THROW(cluster(demanding, documents), Error);
      }
    }
  }
}

// The lists of the host and of the device follow both what the serial algorithm and what merging changes.
TEST_F(DocumentClustersOnDevices, ComeTogetherAsOnTheCpu) {
  for (const uint32_t batch : {1u, 300u}) {
    for (const double merge : {0.0, 0.45}) {
      const DocumentCase c{2000, 12, 200, 0.6, 8, batch, merge};
      const std::vector<Document> documents = documents_of(c);
      DocumentClusters on_cpu(options_of(c));
      const std::vector<uint32_t> expected = survivors(on_cpu, documents, 900);
      for (const int failing : {-1, 1}) {
        backend_.repair();
        backend_.failing = failing;
        ClusterOptions options = options_of(c);
        options.device = Device::automatic;
        DocumentClusters on_device(options);
        EXPECT_EQ(survivors(on_device, documents, 900), expected) << batch << ", " << merge;
        EXPECT_TRUE(on_device.attempt().outcome().gpu);
      }
    }
  }
}

// Groups of related documents are assigned in parallel. No threshold, cut or batch separates related
// documents.
TEST_F(DocumentClustersOnDevices, AreThoseOfTheCpu) {
  uint64_t seed = 1;
  for (const uint32_t max_terms : {1u, 2u, 5u, 12u}) {
    for (const double threshold : {0.01, 0.3, 0.6, 0.8, 1.0}) {
      for (const uint32_t batch : {64u, 300u, 4096u}) {
        const DocumentCase c{1000, 12, 60, threshold, max_terms, batch};
        const std::vector<Document> documents = documents_of(c, ++seed);
        DocumentClusters on_cpu(options_of(c));
        const std::vector<Clustered> expected = cluster(on_cpu, documents, 700);
        for (backend_.groups = false;; backend_.groups = true) {
          DocumentClusters on_device(options_of(c, Device::gpu, 3));
          EXPECT_EQ(cluster(on_device, documents, 700), expected)
              << "threshold " << threshold << ", max_terms " << max_terms << ", batch " << batch;
          if (backend_.groups) break;
        }
      }
    }
  }
}

// A thread handles groups of many clusters one after the other. A document that comes before a document of an
// earlier group does not join the cluster of the latter.
TEST_F(DocumentClustersOnDevices, ClustersOfAnotherGroupAreNotFound) {
  constexpr int32_t x = 1000;
  std::vector<Document> documents;
  Document first, second, late;
  for (int32_t i = 1; i <= 10; ++i) {
    first.emplace_back(i, 1.0f);
    second.emplace_back(100 + i, 1.0f);
  }
  second.emplace_back(x, 1.0f);
  documents.push_back(first);
  for (int32_t i = 2; i <= 10; ++i) documents.push_back({{i, 1.0f}});
  documents.push_back(second);
  for (int32_t i = 2; i <= 10; ++i) documents.push_back({{100 + i, 1.0f}});
  documents.push_back({{x, 1.0f}});
  late.emplace_back(x, 2.0f);
  for (int32_t i = 2; i <= 10; ++i) late.emplace_back(i, 1.9f);
  for (int32_t i = 0; i < 40; ++i) late.emplace_back(2000 + i, 1.9f);
  documents.push_back(late);
  const DocumentCase c{0, 0, 0, 0.5, 1, 64};
  DocumentClusters on_cpu(options_of(c)), on_device(options_of(c, Device::gpu, 1));
  EXPECT_EQ(cluster(on_device, documents), cluster(on_cpu, documents));
}

// Rounds that end within batches leave parts that are too small for the device. Its copy stays complete.
TEST_F(DocumentClustersOnDevices, TheCopyFollowsThroughSmallParts) {
  const std::vector<Document> documents = documents_of(case_);
  DocumentClusters on_cpu(options_of(case_));
  ClusterOptions options = options_of(case_);
  options.device = Device::automatic;
  DocumentClusters clusters(options);
  EXPECT_EQ(cluster(clusters, documents, 290), cluster(on_cpu, documents, 290));
  EXPECT_TRUE(clusters.attempt().outcome().gpu);
}

TEST_F(DocumentClustersOnDevices, SmallBatchesStayOnTheCpu) {
  ClusterOptions options = options_of(case_);
  options.batch = 8;
  options.device = Device::automatic;
  DocumentClusters clusters(options);
  cluster(clusters, documents_of(case_));
  EXPECT_EQ(backend_.made, 0);
}

}  // namespace
}  // namespace simjoin::test
