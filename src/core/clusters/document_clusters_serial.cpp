// The serial algorithm for many documents at a time. All threads or a device first search for all documents
// of a window. Then each document in turn looks at what has changed since: the clusters touched by the
// documents before it in the window. What the first search has found is right unless it is a cluster touched
// since. Even then the document needs no other search if a touched cluster is now more similar than that one
// was: all other clusters were less similar, and still are.
#include "core/clusters/document_clusters.hpp"

#include <algorithm>

#include "core/base/wall_clock.hpp"

namespace simjoin {
namespace {

// The more documents there are in a window, the more clusters are touched and searched by one thread, and the
// fewer wait for other threads or a device. On two cores 32 a thread took the least time.
constexpr size_t window_of_thread = 32;
constexpr size_t least_window = 64;
constexpr size_t most_on_cpu = 512;

}  // namespace

// Returns how many documents are searched for at a time. The result does not depend on it.
size_t DocumentClusters::window(size_t workers) const {
  return device_ ? most_window : std::clamp(window_of_thread * workers, least_window, most_on_cpu);
}

void DocumentClusters::run_window(size_t begin, size_t end, WorkerPool &pool) {
  search(begin, end, pool);
  const WallClock::time_point start = WallClock::now();
  for (size_t i = begin; i < end; ++i) assign_now(i, pool.stop());
  forget_touched(pool.stop());
  documents_ += end - begin;
  figures_.assign_ms += milliseconds_since(start);
}

// Returns the most similar cluster as clusters are now.
FoundCluster DocumentClusters::find_now(size_t number, const StopFlag &stop) {
  const std::span<const TermWeight> terms = document(number);
  const FoundCluster before = found_[number];
  const bool stays = before != 0 && touched_[cluster_of(before)] == 0;
  const uint32_t least = stays ? std::max(least_, similarity_of(before)) : least_;
  ClusterSearch &search = workers_[0].search;
  FoundCluster best = 0;
  if (touched_lists_.may_have(terms, least))
    best = search.find(index_, terms, least, stop, {.lists = &touched_lists_});
  if (best >= before) return best;
  return stays ? before : search.find(index_, terms, least_, stop);
}

// Lets a document join a cluster or begin one, and counts it at once.
void DocumentClusters::assign_now(size_t number, const StopFlag &stop) {
  stop.check();
  const FoundCluster found = find_now(number, stop);
  ClusterSum &sum = workers_[0].sum;
  uint32_t cluster = cluster_of(found);
  if (found != 0) {
    sum.set(sums_[cluster]);
    sum.add(document(number));
  } else {
    cluster = clusters();
    add_cluster();
    sums_.add_keys(clusters());
    index_.add_cluster();
    sum.set(document(number));
  }
  store_sum(cluster, sum, stop);
  ++sizes_[cluster];
  clustered_[number] = {cluster, similarity_of(found)};
  if (merges()) merge_from(cluster, stop);
}

// Gives a cluster another sum, and lists it among those that have been touched.
void DocumentClusters::store_sum(uint32_t cluster, ClusterSum &sum, const StopFlag &stop) {
  sum.finish();
  sums_.assign(cluster, sum.sums());
  changed_[cluster] = 1;
  index_.prepare_centroid(cluster, sum.centroid(), change_);
  if (touched_[cluster] != 0) {
    for (const ClusterPosting &posting : change_.postings)
      touched_lists_.add_posting(posting.term, posting.cluster);
  } else {
    touched_[cluster] = 1;
    touched_clusters_.push_back(cluster);
    for (const TermWeight &entry : sum.centroid()) touched_lists_.add_posting(entry.term, cluster);
  }
  index_.apply(change_, stop);
}

void DocumentClusters::forget_touched(const StopFlag &stop) {
  for (const uint32_t cluster : touched_clusters_) touched_[cluster] = 0;
  touched_clusters_.clear();
  touched_lists_.clear(stop);
}

}  // namespace simjoin
