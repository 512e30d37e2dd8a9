// The documents of a round: their terms, their unit vectors, and what becomes of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/clusters/cluster_device.hpp"
#include "core/clusters/cluster_state.hpp"

namespace simjoin {

// The cluster that a document has joined or, with a similarity of 0, has begun. Clusters are numbered from 0
// in the order of their first documents.
struct ClusteredDocument {
  uint32_t cluster;
  uint32_t similarity;  // core/clusters/cluster_vector.hpp
};

class DocumentRound {
 public:
  explicit DocumentRound(MemoryCounter &memory)
      : found(memory), clustered(memory), raw_(memory), ends_(memory), vectors_(memory), sizes_(memory) {}

  size_t size() const { return ends_.size(); }
  void add_term(uint32_t term, float weight) { raw_.push_back({term, weight}); }
  void end_document() { ends_.push_back(raw_.size()); }
  // Returns whether no more documents should come, as each takes `other_bytes` elsewhere.
  bool full(size_t memory_limit, size_t other_bytes) const;
  void clear();

  // Makes the vectors, and room for what is found for each document and what becomes of it.
  void make_vectors(WorkerPool &pool, std::vector<ClusterThread> &threads);
  std::span<const TermWeight> operator[](size_t document) const {
    return {vectors_.data() + begin_of(document), sizes_[document]};
  }
  // Returns the documents from `begin` to `end`, without reaches.
  DocumentVectors vectors(size_t begin, size_t end) const;

  Buffer<FoundCluster> found;  // the most similar stored cluster
  Buffer<ClusteredDocument> clustered;

 private:
  size_t begin_of(size_t document) const { return document == 0 ? 0 : ends_[document - 1]; }

  Buffer<RawTerm> raw_;
  Buffer<size_t> ends_;
  Buffer<TermWeight> vectors_;  // a vector begins where the document's terms do in raw_
  Buffer<uint32_t> sizes_;      // of the vectors
};

}  // namespace simjoin
