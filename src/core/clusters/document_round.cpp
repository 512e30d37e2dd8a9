#include "core/clusters/document_round.hpp"

namespace simjoin {
namespace {

// The most terms and documents of a round: some 200 MB, and about a quarter of the memory limit.
constexpr size_t terms_per_round = size_t{1} << 23;
constexpr size_t documents_per_round = size_t{1} << 19;
constexpr size_t round_share = 4;

}  // namespace

bool DocumentRound::full(size_t memory_limit, size_t other_bytes) const {
  constexpr size_t bytes_per_term = sizeof(RawTerm) + sizeof(TermWeight);
  // With the reach and the group of each document.
  constexpr size_t bytes_per_document =
      sizeof(size_t) + 4 * sizeof(uint32_t) + sizeof(FoundCluster) + sizeof(ClusteredDocument);
  return raw_.size() >= terms_per_round || size() >= documents_per_round ||
         raw_.size() * bytes_per_term + size() * (bytes_per_document + other_bytes) >=
             memory_limit / round_share;
}

void DocumentRound::clear() {
  raw_.clear();
  ends_.clear();
}

void DocumentRound::make_vectors(WorkerPool &pool, std::vector<ClusterThread> &threads) {
  vectors_.resize(raw_.size());
  sizes_.resize(size());
  pool.parallel_pieces(size(), documents_per_piece, [&](int worker, size_t i) {
    const size_t begin = begin_of(i);
    sizes_[i] =
        static_cast<uint32_t>(make_document_vector({raw_.data() + begin, ends_[i] - begin}, pool.stop(),
                                                   threads[worker].vector, vectors_.data() + begin));
  });
  found.resize(size());
  clustered.resize(size());
}

DocumentVectors DocumentRound::vectors(size_t begin, size_t end) const {
  const size_t before = begin_of(begin);
  return {{vectors_.data() + before, ends_[end - 1] - before},
          {ends_.data() + begin, end - begin},
          before,
          {sizes_.data() + begin, end - begin},
          {}};
}

}  // namespace simjoin
