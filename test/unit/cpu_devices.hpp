// Devices whose functions are those of the CPU: signatures, FlyHash and graphs.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/flyhash/flyhash.hpp"
#include "core/flyhash/flyhash_device.hpp"
#include "core/graph/graph_device.hpp"
#include "core/minhash/minhash.hpp"
#include "core/minhash/signature_device.hpp"

namespace simjoin::test {

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
  // Functions of the CPU use the edges up.
  static EdgeList copy_of(const EdgeList &edges, MemoryCounter &memory) {
    EdgeList copy(memory);
    for (size_t i = 0; i < edges.size(); ++i) {
      const int64_t from = edges.ends()[2 * i], to = edges.ends()[2 * i + 1];
      edges.weighted() ? copy.add_edge(from, to, edges.weight(i)) : copy.add_edge(from, to);
    }
    for (const int64_t node : edges.lone()) copy.add_node(node);
    return copy;
  }
};

}  // namespace simjoin::test
