// Documents, and their clustering by definition.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "core/clusters/document_clusters.hpp"
#include "unit/random_sets.hpp"

namespace simjoin::test {

using Document = std::vector<std::pair<int32_t, float>>;

// A document's cluster, from 0, and its similarity in units of 2^-24, which is 0 for a cluster's first
// document.
using Clustered = std::pair<uint32_t, uint32_t>;

// The algorithm as core/clusters/document_clusters.hpp describes it, with maps and a look at every centroid.
class NaiveClusters {
 public:
  NaiveClusters(double threshold, size_t max_terms, size_t batch, double merge = 0)
      : threshold_(threshold), max_terms_(max_terms), batch_(batch), merge_(merge) {}

  Clustered add(const Document &document) {
    if (seen_++ % batch_ == 0) end_batch();
    const Vector vector = unit_vector(weights_of(document));
    uint32_t best = 0, best_similarity = 0;
    for (uint32_t i = 0; i < clusters_.size(); ++i) {
      const uint32_t similarity = product(vector, unit_vector(clusters_[i].sum));
      if (similarity > best_similarity) std::tie(best, best_similarity) = std::pair(i, similarity);
    }
    if (best_similarity > 0 && best_similarity >= std::ldexp(threshold_, 24)) {
      Cluster &cluster = clusters_[best];
      if (cluster.open) {
        add_to(cluster.sum, vector);
        cut(cluster.sum, max_terms_);
      } else {
        cluster.pending.push_back(vector);
      }
      return {best, best_similarity};
    }
    clusters_.push_back({vector, {}, true, static_cast<uint32_t>(clusters_.size())});
    cut(clusters_.back().sum, max_terms_);
    return {static_cast<uint32_t>(clusters_.size() - 1), 0};
  }
  void end_batch() {
    std::vector<uint32_t> changed;
    for (uint32_t i = 0; i < clusters_.size(); ++i) {
      Cluster &cluster = clusters_[i];
      if (cluster.open || !cluster.pending.empty()) changed.push_back(i);
      for (const Vector &pending : cluster.pending) add_to(cluster.sum, pending);
      cut(cluster.sum, max_terms_);
      cluster.pending.clear();
      cluster.open = false;
    }
    for (const uint32_t cluster : changed)
      if (merge_ > 0 && clusters_[cluster].survivor == cluster) merge_from(cluster);
  }
  uint32_t survivor_of(uint32_t cluster) const {
    const uint32_t survivor = clusters_[cluster].survivor;
    return survivor == cluster ? cluster : survivor_of(survivor);
  }

 private:
  using Vector = std::map<int32_t, uint64_t>;
  struct Cluster {
    Vector sum;
    std::vector<Vector> pending;
    bool open;
    uint32_t survivor;
  };

  void merge_from(uint32_t cluster) {
    uint32_t best = 0, best_similarity = 0;
    for (uint32_t i = 0; i < clusters_.size(); ++i) {
      const uint32_t similarity =
          i == cluster ? 0 : product(unit_vector(clusters_[cluster].sum), unit_vector(clusters_[i].sum));
      if (similarity > best_similarity) std::tie(best, best_similarity) = std::pair(i, similarity);
    }
    if (best_similarity == 0 || best_similarity < std::ldexp(merge_, 24)) return;
    const uint32_t older = std::min(cluster, best), younger = std::max(cluster, best);
    add_to(clusters_[older].sum, clusters_[younger].sum);
    cut(clusters_[older].sum, max_terms_);
    clusters_[younger].sum.clear();
    clusters_[younger].survivor = older;
    merge_from(older);
  }
  static Vector weights_of(const Document &document) {
    std::map<int32_t, double> weights;
    double largest = 0;
    for (const auto &[term, weight] : document) largest = std::max(largest, weights[term] += weight);
    Vector vector;
    for (const auto &[term, weight] : weights)
      if (weight > 0) vector[term] = static_cast<uint64_t>(std::llrint(weight / largest * 0x1p31));
    return vector;
  }
  static Vector unit_vector(const Vector &sum) {
    unsigned __int128 squares = 0;
    for (const auto &[term, weight] : sum) squares += static_cast<unsigned __int128>(weight) * weight;
    Vector vector;
    for (const auto &[term, weight] : sum) {
      const auto unit =
          std::llrint(static_cast<double>(weight) * 0x1p30 / std::sqrt(static_cast<double>(squares)));
      if (unit > 0) vector[term] = static_cast<uint64_t>(unit);
    }
    return vector;
  }
  static void add_to(Vector &sum, const Vector &vector) {
    for (const auto &[term, weight] : vector) sum[term] += weight;
  }
  static void cut(Vector &sum, size_t most) {
    while (sum.size() > most) {
      auto least = sum.begin();
      for (auto at = sum.begin(); at != sum.end(); ++at)
        if (at->second <= least->second) least = at;
      sum.erase(least);
    }
  }
  static uint32_t product(const Vector &a, const Vector &b) {
    uint64_t sum = 0;
    for (const auto &[term, weight] : a)
      if (const auto found = b.find(term); found != b.end()) sum += weight * found->second;
    return static_cast<uint32_t>(std::min<uint64_t>((sum + (uint64_t{1} << 35)) >> 36, 1u << 24));
  }

  const double threshold_;
  const size_t max_terms_;
  const size_t batch_;
  const double merge_;
  size_t seen_ = 0;
  std::vector<Cluster> clusters_;
};

// Returns documents of stories. Each has terms of its own and common ones. Some are empty, some are copies of
// others, and some have terms twice or without weight.
inline std::vector<Document> random_documents(RandomSets &random, size_t count, int32_t terms,
                                              int32_t stories) {
  std::vector<Document> documents;
  for (size_t i = 0; i < count; ++i) {
    if (i > 0 && random.between(0, 9) == 0) {
      documents.push_back(documents[static_cast<size_t>(random.between(0, static_cast<int32_t>(i) - 1))]);
      random.shuffle(documents.back());
      continue;
    }
    Document document;
    const int32_t story = random.between(0, stories - 1);
    for (int32_t j = random.between(0, terms); j > 0; --j) {
      const bool common = random.between(0, 3) == 0;
      const int32_t term = common ? random.between(0, 30) : 100 + 7 * story + random.between(0, 10);
      document.emplace_back(
          term, random.between(0, 20) == 0 ? 0.0f : static_cast<float>(random.between(1, 50)) / 8);
    }
    documents.push_back(std::move(document));
  }
  return documents;
}

// Documents and the options of their clustering.
struct DocumentCase {
  size_t documents;
  int32_t terms;
  int32_t stories;
  double threshold;
  uint32_t max_terms;
  uint32_t batch;
  double merge = 0;
};

inline ClusterOptions options_of(const DocumentCase &c, Device device = Device::cpu, int threads = 2) {
  ClusterOptions options;
  options.threshold = c.threshold;
  options.max_terms = c.max_terms;
  options.batch = c.batch;
  options.merge = c.merge;
  options.device = device;
  options.threads = threads;
  return options;
}

inline std::vector<Document> documents_of(const DocumentCase &c, uint64_t seed) {
  RandomSets random(seed);
  return random_documents(random, c.documents, c.terms, c.stories);
}

inline std::vector<Document> documents_of(const DocumentCase &c) {
  return documents_of(c, c.documents + c.batch + c.max_terms);
}

// Returns a random unit vector of up to `terms` terms below `universe`.
inline std::vector<TermWeight> random_vector(RandomSets &random, int32_t terms, int32_t universe) {
  std::vector<RawTerm> raw;
  for (int32_t i = random.between(0, terms); i > 0; --i)
    raw.push_back(
        {static_cast<uint32_t>(random.between(0, universe - 1)), static_cast<float>(random.between(1, 9))});
  std::vector<TermWeight> vector(raw.size());
  VectorScratch scratch;
  vector.resize(make_document_vector(raw, StopFlag(), scratch, vector.data()));
  return vector;
}

// Changes a few centroids and adds a few clusters.
inline void change_index(RandomSets &random, ClusterIndex &index, int32_t terms, int32_t universe) {
  for (int added = random.between(0, 2); added > 0; --added) index.add_cluster();
  for (int changed = random.between(0, 20); changed > 0 && index.clusters() > 0; --changed)
    index.set_centroid(static_cast<uint32_t>(random.between(0, static_cast<int32_t>(index.clusters()) - 1)),
                       random_vector(random, terms, universe));
}

// Returns the product of two vectors.
inline uint64_t product(std::span<const TermWeight> as, std::span<const TermWeight> bs) {
  uint64_t product = 0;
  for (const TermWeight &a : as)
    for (const TermWeight &b : bs)
      if (a.term == b.term) product += uint64_t{a.weight} * b.weight;
  return product;
}

// Returns the most similar cluster by looking at all of them.
inline FoundCluster find_naively(const ClusterIndex &index, const std::vector<TermWeight> &document,
                                 uint32_t least) {
  FoundCluster best = 0;
  for (uint32_t cluster = 0; cluster < index.clusters(); ++cluster) {
    const uint32_t similarity = similarity_of_product(product(document, index.centroid(cluster)));
    if (similarity >= least) best = std::max(best, found_cluster(similarity, cluster));
  }
  return best;
}

// Clusters the documents, at most `round` at a time.
inline std::vector<Clustered> cluster(DocumentClusters &clusters, const std::vector<Document> &documents,
                                      size_t round = SIZE_MAX) {
  std::vector<Clustered> result;
  for (size_t i = 0; i < documents.size(); ++i) {
    for (const auto &[term, weight] : documents[i])
      clusters.add_term(clusters.terms().id_of(int64_t{term}), weight);
    clusters.end_document();
    if (clusters.size() < round && i + 1 < documents.size()) continue;
    while (!clusters.step(std::chrono::milliseconds(10))) {
    }
    for (size_t j = 0; j < clusters.size(); ++j)
      result.emplace_back(clusters[j].cluster, clusters[j].similarity);
    clusters.clear();
  }
  return result;
}

}  // namespace simjoin::test
