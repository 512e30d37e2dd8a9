// Devices whose functions are those of the CPU. With them, tests of what GPUs do need none.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/clusters/cluster_device.hpp"
#include "core/flyhash/flyhash.hpp"
#include "core/flyhash/flyhash_device.hpp"
#include "core/graph/graph_device.hpp"
#include "core/minhash/minhash.hpp"
#include "core/minhash/signature_device.hpp"
#include "core/weighted/weighted_device.hpp"

namespace simjoin {

class CpuSigner : public DeviceSigner {
 public:
  explicit CpuSigner(const SignatureHeader &header)
      : header_(header),
        hasher_(header.permutations, header.seed),
        weighted_(header.permutations, header.seed) {}

  void sign(const SetArrays<uint32_t> &sets, WorkerPool &pool, uint32_t *values) override {
    sign_by(hasher_, sets, pool, values);
  }
  void sign(const SetArrays<WeightedToken> &sets, WorkerPool &pool, uint32_t *values) override {
    sign_by(weighted_, sets, pool, values);
  }
  void hash_bands(const SetArrays<uint32_t> &sets, const BandPlan &plan, WorkerPool &pool,
                  uint64_t *hashes) override {
    std::vector<uint32_t> values(sets.ends.size() * header_.permutations);
    sign(sets, pool, values.data());
    for (size_t i = 0; i < sets.ends.size() * plan.bands; ++i) {
      const size_t set = i / plan.bands, band = i % plan.bands;
      hashes[i] = band_hash(header_, static_cast<uint32_t>(band),
                            values.data() + set * header_.permutations + band * plan.rows, plan.rows);
    }
  }
  std::string device() const override { return "cpu"; }
  size_t memory_peak() const override { return 4096; }

 private:
  template <class Hasher, class Token>
  void sign_by(Hasher &hasher, const SetArrays<Token> &sets, const WorkerPool &pool, uint32_t *values) {
    for (size_t set = 0; set < sets.ends.size(); ++set, values += header_.permutations)
      hasher.sign(sets.tokens.subspan(sets.begin(set), sets.ends[set] - sets.begin(set)), pool.stop(),
                  values);
  }

  const SignatureHeader header_;
  const MinHasher hasher_;
  WeightedMinHasher weighted_;
};

class CpuSignatures : public SignatureDevice {
 public:
  std::unique_ptr<DeviceSigner> make_signer(const SignatureHeader &header, size_t) override {
    return std::make_unique<CpuSigner>(header);
  }
  size_t sort(std::span<const SortKey> keys, std::span<SortKey> sorted, WorkerPool &, size_t) override {
    std::copy(keys.begin(), keys.end(), sorted.begin());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const SortKey &a, const SortKey &b) { return a.hi < b.hi; });
    return 8192;
  }
};

class CpuFlyHash : public FlyHashDevice {
 public:
  class Work : public FlyHashWork {
   public:
    explicit Work(const FlyShape &shape) : shape_(shape), projection_(shape) {
      projection_.draw(0, shape.hash_length);
    }
    void hash(const uint16_t *levels, size_t vectors, uint32_t *winners, WorkerPool &pool) override {
      FlyBlock block(projection_);
      for (size_t i = 0; i < vectors; ++i) {
        block.start(levels + i * shape_.dimension, 1);
        while (!block.step(fly_rows_at_once(shape_))) pool.stop().check();
        block.write(0, winners + i * shape_.winners);
      }
    }

   private:
    const FlyShape shape_;
    FlyProjection projection_;
  };

  std::unique_ptr<FlyHashWork> open(const FlyShape &shape, size_t) override {
    return std::make_unique<Work>(shape);
  }
};

class CpuGraphs : public GraphDevice {
 public:
  Components components(const EdgeList &edges, const HostSide &host) override {
    ComponentFinder finder(host.memory);
    for (size_t i = 0; i < edges.size(); ++i) {
      host.pool.stop().check_at(i);
      finder.add_edge(edges.ends()[2 * i], edges.ends()[2 * i + 1]);
    }
    for (const int64_t node : edges.lone()) finder.add_node(node);
    return finder.components(host.pool);
  }
  Ranks pagerank_power(const EdgeList &edges, EdgeUse use, double damping, double tolerance,
                       const HostSide &host) override {
    EdgeList copy = copy_of(edges, host.memory);
    return simjoin::pagerank_power(copy, use, damping, tolerance, host.pool, host.memory);
  }
  Ranks pagerank_random_walk(const EdgeList &edges, EdgeUse use, double damping, uint32_t coupons,
                             uint64_t seed, const HostSide &host) override {
    EdgeList copy = copy_of(edges, host.memory);
    return simjoin::pagerank_random_walk(copy, use, damping, coupons, seed, host.pool, host.memory);
  }
  Spectrum leading_eigenvectors(const Graph &graph, const HostSide &host) override {
    return simjoin::leading_eigenvectors(graph, host.pool, host.memory);
  }

 private:
  static EdgeList copy_of(const EdgeList &edges, MemoryCounter &memory) {
    return {copy_of(edges.ends(), memory), copy_of(edges.lone(), memory), copy_of(edges.weights(), memory)};
  }
  template <class T>
  static Buffer<T> copy_of(const Buffer<T> &from, MemoryCounter &memory) {
    Buffer<T> copy(memory, from.size());
    std::copy(from.begin(), from.end(), copy.begin());
    return copy;
  }
};

// All documents are one group.
class CpuClusters : public ClusterDevice {
 public:
  void update(const ClusterIndex &index, const StopFlag &stop) override {
    const uint32_t loaded = index_.clusters();
    while (index_.clusters() < index.clusters()) index_.add_cluster();
    for (uint32_t cluster = 0; loaded == 0 && cluster < index.clusters(); ++cluster)
      index_.set_centroid(cluster, index.centroid(cluster), stop);
    for (const uint32_t cluster : index.changed_centroids())
      index_.set_centroid(cluster, index.centroid(cluster), stop);
  }
  void find(const DocumentVectors &documents, uint32_t least, FoundCluster *found, uint32_t *groups,
            const StopFlag &stop) override {
    for (size_t i = 0; i < documents.size(); ++i) found[i] = search_.find(index_, documents[i], least, stop);
    if (groups != nullptr) std::fill_n(groups, documents.size(), 0);
  }

 private:
  MemoryCounter memory_;
  ClusterIndex index_{memory_};
  ClusterSearch search_{memory_};
};

// Compares all pairs.
class CpuWeighted : public WeightedDevice {
 public:
  void find(const WeightedProblem &problem, const std::function<void(const WeightedFinds &)> &take) override {
    WeightedFinds finds;
    finds.device = name;
    finds.memory_peak = 1;
    for (uint32_t first = 0; first < problem.probes.sets(); first = finds.end) {
      finds.end = std::min(first + probes_at_once, problem.probes.sets());
      finds.candidates = 0;
      std::vector<WeightedPair> pairs;
      for (uint32_t probe = first; probe < finds.end; ++probe) {
        problem.pool.stop().check();
        compare(problem, probe, problem.self_join ? probe : problem.index.sets(), pairs, finds.candidates);
      }
      finds.pairs = pairs;
      take(finds);
    }
  }

  std::string name = "cpu";
  uint32_t probes_at_once = 7;

 private:
  // Appends the pairs of the probe and the index sets before `end` that have enough in common.
  static void compare(const WeightedProblem &problem, uint32_t probe, uint32_t end,
                      std::vector<WeightedPair> &pairs, uint64_t &compared) {
    const WeightedSet l = problem.probes[probe];
    const bool wide = problem.index.format.wide;
    const auto weight = [&](const WeightedSet &set, uint32_t i) {
      return wide ? set.doubles[i] : static_cast<double>(set.floats[i]);
    };
    for (uint32_t partner = 0; partner < end; ++partner) {
      const WeightedSet r = problem.index[partner];
      double seen = 0;
      for (uint32_t i = 0, j = 0; i < l.count && j < r.count;) {
        if (l.ranks[i] == r.ranks[j]) seen += problem.bounds.shared(weight(l, i), weight(r, j));
        const uint32_t rank = l.ranks[i];
        i += rank <= r.ranks[j];
        j += r.ranks[j] <= rank;
      }
      ++compared;
      if (seen >= problem.bounds.least_in_common(l.total, r.total)) pairs.push_back({probe, partner});
    }
  }
};

}  // namespace simjoin
