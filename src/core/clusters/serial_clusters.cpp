#include "core/clusters/serial_clusters.hpp"

#include <algorithm>

namespace simjoin {
namespace {

// The more documents there are in a window, the more clusters are touched and searched by one thread, and the
// fewer wait for other threads or a device. On two cores 32 a thread took the least time.
constexpr size_t window_of_thread = 32;
constexpr size_t least_window = 64;
constexpr size_t most_on_cpu = 512;
constexpr size_t most_window = 1024;

// Lets `touched` have all clusters.
void add_untouched(Buffer<uint8_t> &touched, uint32_t clusters) {
  while (touched.size() < clusters) touched.push_back(0);
}

}  // namespace

SerialClusters::SerialClusters(ClusterState &state)
    : state_(state),
      touched_(state.memory),
      touched_clusters_(state.memory),
      touched_lists_(state.memory, shared_lists(state.options, most_window, 1)),
      looked_(state.memory) {}

size_t SerialClusters::window(size_t workers, bool on_gpu) {
  return on_gpu ? most_window : std::clamp(window_of_thread * workers, least_window, most_on_cpu);
}

void SerialClusters::assign(DocumentRound &round, size_t begin, size_t end, const StopFlag &stop) {
  for (size_t i = begin; i < end; ++i) assign_now(round, i, stop);
  forget_touched(stop);
}

// Returns the most similar cluster as clusters are now.
FoundCluster SerialClusters::find_now(const DocumentRound &round, size_t document, const StopFlag &stop) {
  const std::span<const TermWeight> terms = round[document];
  const FoundCluster before = round.found[document];
  const bool stays = before != 0 && touched_[cluster_of(before)] == 0;
  const uint32_t least = stays ? std::max(state_.least, similarity_of(before)) : state_.least;
  ClusterSearch &search = state_.threads[0].search;
  FoundCluster best = 0;
  if (touched_lists_.may_have(terms, least))
    best = search.find(state_.index, terms, least, stop, {.lists = &touched_lists_});
  if (best >= before) return best;
  return stays ? before : search.find(state_.index, terms, state_.least, stop);
}

// Lets a document join a cluster or begin one, and counts it at once.
void SerialClusters::assign_now(DocumentRound &round, size_t document, const StopFlag &stop) {
  stop.check();
  add_untouched(touched_, state_.size());
  const FoundCluster found = find_now(round, document, stop);
  ClusterSum &sum = state_.threads[0].sum;
  uint32_t cluster = cluster_of(found);
  if (found != 0) {
    sum.set(state_.sums[cluster]);
    sum.add(round[document]);
  } else {
    cluster = state_.size();
    state_.add_stored();
    sum.set(round[document]);
  }
  store_sum(cluster, sum, stop);
  ++state_.documents[cluster];
  round.clustered[document] = {cluster, similarity_of(found)};
  if (state_.merges()) merge_from(cluster, stop);
}

void SerialClusters::merge(const Buffer<uint32_t> &looking, WorkerPool &pool) {
  looked_.resize(looking.size());
  pool.parallel_pieces(looking.size(), documents_per_piece, [&](int worker, size_t i) {
    looked_[i] =
        state_.threads[worker].search.find(state_.index, state_.index.centroid(looking[i]),
                                           state_.least_merged, pool.stop(), {.without = looking[i]});
  });
  for (size_t i = 0; i < looking.size(); ++i)
    if (looked_[i] != 0 && state_.survivors[looking[i]] == looking[i]) merge_from(looking[i], pool.stop());
  forget_touched(pool.stop());
}

// Merges a cluster with the most similar one, and what becomes of it likewise, until there is none.
void SerialClusters::merge_from(uint32_t cluster, const StopFlag &stop) {
  for (;;) {
    stop.check();
    const FoundCluster found = state_.threads[0].search.find(state_.index, state_.index.centroid(cluster),
                                                             state_.least_merged, stop, {.without = cluster});
    if (found == 0) return;
    cluster = unite(cluster, cluster_of(found), stop);
  }
}

// Makes the younger of two clusters part of the older one, and returns this one.
uint32_t SerialClusters::unite(uint32_t a, uint32_t b, const StopFlag &stop) {
  const uint32_t older = std::min(a, b), younger = std::max(a, b);
  ClusterSum &sum = state_.threads[0].sum;
  sum.set(state_.sums[older]);
  sum.append(state_.sums[younger]);
  sum.combine(stop);
  store_sum(older, sum, stop);
  sum.set(std::span<const TermSum>());
  store_sum(younger, sum, stop);
  uint64_t *documents = state_.documents.data();
  documents[older] = std::min(documents[older] + documents[younger], most_documents);
  documents[younger] = 0;
  state_.survivors[younger] = older;
  return older;
}

// Gives a cluster another sum, and lists it among those that have been touched.
void SerialClusters::store_sum(uint32_t cluster, ClusterSum &sum, const StopFlag &stop) {
  sum.finish();
  state_.sums.assign(cluster, sum.sums());
  state_.changed[cluster] = 1;
  state_.index.prepare_centroid(cluster, sum.centroid(), change_);
  add_untouched(touched_, state_.size());
  if (touched_[cluster] != 0) {
    for (const ClusterPosting &posting : change_.postings)
      touched_lists_.add_posting(posting.term, posting.cluster);
  } else {
    touched_[cluster] = 1;
    touched_clusters_.push_back(cluster);
    for (const TermWeight &entry : sum.centroid()) touched_lists_.add_posting(entry.term, cluster);
  }
  state_.index.apply(change_, stop);
}

void SerialClusters::forget_touched(const StopFlag &stop) {
  for (const uint32_t cluster : touched_clusters_) touched_[cluster] = 0;
  touched_clusters_.clear();
  touched_lists_.clear(stop);
}

}  // namespace simjoin
