#include "core/clusters/cluster_state.hpp"

#include <algorithm>
#include <bit>

#include "core/base/error.hpp"

namespace simjoin {

uint32_t least_similarity(double threshold) {
  return std::max(1u, similarity_at_least(threshold));
}

size_t shared_lists(const ClusterOptions &options, size_t documents, size_t threads) {
  constexpr size_t lists_per_document = 16, bytes_per_list = 128;
  constexpr size_t least = size_t{1} << 10, most = size_t{1} << 18;
  const size_t wanted = std::min(documents * lists_per_document, options.memory_limit / bytes_per_list);
  return std::clamp(std::bit_floor(wanted / threads), least, most);
}

ClusterState::ClusterState(const ClusterOptions &given)
    : options(given),
      least(std::max(1u, similarity_at_least(given.threshold))),
      least_merged(std::max(1u, similarity_at_least(given.merge))),
      terms(memory),
      order(terms, given.max_terms),
      documents(memory),
      changed(memory),
      survivors(memory),
      sums(memory),
      index(memory) {
  memory.set_limit(options.memory_limit,
                   {"the clusters of documents need",
                    "cluster with fewer terms a document, a lower max_terms or a lower threshold"});
  threads.emplace_back(memory, order);
}

void ClusterState::add() {
  if (size() == UINT32_MAX - 1)
    throw Error(ErrorKind::limit_exceeded, "there cannot be more than 4294967294 clusters");
  survivors.push_back(size());
  documents.push_back(0);
  changed.push_back(0);
}

void ClusterState::add_stored() {
  add();
  sums.add_keys(size());
  index.add_cluster();
}

void ClusterState::settle() {
  for (uint32_t cluster = 0; cluster < size(); ++cluster) {
    const uint32_t survivor = survivors[survivors[cluster]];
    if (survivor == survivors[cluster]) continue;
    survivors[cluster] = survivor;
    changed[cluster] = 1;
  }
}

}  // namespace simjoin
