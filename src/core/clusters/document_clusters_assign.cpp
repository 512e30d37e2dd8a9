// The cluster that each document of a round joins or begins.
#include "core/clusters/document_clusters.hpp"

#include <algorithm>

#include "core/base/wall_clock.hpp"
#include "core/clusters/cluster_relations.hpp"

namespace simjoin {
namespace {

// The groups of related documents that threads take at a time. Most groups have more than one document.
constexpr size_t groups_per_piece = 4;

}  // namespace

void DocumentClusters::assign(size_t begin, size_t end, WorkerPool &pool) {
  const WallClock::time_point start = WallClock::now();
  joined_.resize(end - begin);
  if (groups_.size() > 0) {
    assign_groups(begin, end - begin, pool);
  } else {
    for (size_t i = begin; i < end; ++i) joined_[i - begin] = assign_document(i, 0, pool.stop());
  }
  number(begin, end);
  figures_.assign_ms += milliseconds_since(start);
}

// Assigns group by group, side by side. A group whose documents have all found something begins no cluster.
void DocumentClusters::assign_groups(size_t begin, size_t count, WorkerPool &pool) {
  grouped_.resize(count);
  beginning_.clear();
  for (uint32_t i = 0; i < count; ++i) {
    const bool begins = found_[begin + i] == 0;
    grouped_[i] = {none, i, begins};
    Grouped &first = grouped_[groups_[i]];
    if (groups_[i] == i) continue;
    grouped_[first.last].next = i;
    first.last = i;
    first.begins |= begins;
  }
  for (uint32_t i = 0; i < count; ++i) {
    if (!grouped_[groups_[i]].begins) {
      joined_[i] = {none, none};
    } else if (groups_[i] == i) {
      beginning_.push_back(i);
    }
  }
  opens_are_spread_ = true;
  pool.parallel_pieces(beginning_.size(), groups_per_piece, [&](int worker, size_t group) {
    workers_[worker].open.begin_group();
    for (uint32_t i = beginning_[group]; i != none; i = grouped_[i].next)
      joined_[i] = assign_document(begin + i, static_cast<uint32_t>(worker), pool.stop());
  });
}

// Lets a document join the most similar cluster of the index and of the worker, or begin a cluster of the
// worker. Returns the worker's cluster; none if it is a cluster of the index.
DocumentClusters::Open DocumentClusters::assign_document(size_t number, uint32_t worker,
                                                         const StopFlag &stop) {
  stop.check();
  Worker &own = workers_[worker];
  ClusterSum &sum = own.sum;
  OpenClusters &open = own.open;
  const std::span<const TermWeight> terms = document(number);
  // The clusters of this batch are younger: they have to be more similar.
  const FoundCluster newer = open.find(terms, least_newer(least_, found_[number]), own.search, stop);
  if (newer != 0) {
    const uint32_t joined = cluster_of(newer);
    clustered_[number].similarity = similarity_of(newer);
    sum.set(open.sum(joined));
    sum.add(terms);
    sum.finish();
    open.set(joined, sum, stop);
    return {worker, joined};
  }
  if (found_[number] != 0) return {none, none};
  clustered_[number].similarity = 0;
  sum.set(terms);
  sum.finish();
  open.add(sum, stop);
  return {worker, open.size() - 1};
}

// Gives the new clusters their numbers, in the order of their first documents, and their documents to all.
void DocumentClusters::number(size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) {
    const Open joined = joined_[i - begin];
    ClusteredDocument &result = clustered_[i];
    if (joined.worker == none) {
      result = {cluster_of(found_[i]), similarity_of(found_[i])};
      add_member(result.cluster, static_cast<uint32_t>(i));
    } else {
      if (result.similarity == 0) {
        add_cluster();
        add_open(joined);
      }
      result.cluster = index_.clusters() + workers_[joined.worker].numbers[joined.number];
      changed_[result.cluster] = 1;
    }
    ++sizes_[result.cluster];
  }
}

// Adds a cluster that has no documents yet.
void DocumentClusters::add_cluster() {
  if (clusters() == UINT32_MAX - 1)
    throw Error(ErrorKind::limit_exceeded, "there cannot be more than 4294967294 clusters");
  sizes_.push_back(0);
  changed_.push_back(0);
  grown_at_.push_back(0);
  survivors_.push_back(static_cast<uint32_t>(sizes_.size() - 1));
  touched_.push_back(0);
}

// Makes a worker's cluster the last of the open ones.
void DocumentClusters::add_open(Open open) {
  Buffer<uint32_t> &numbers = workers_[open.worker].numbers;
  while (numbers.size() <= open.number) numbers.push_back(none);
  numbers[open.number] = static_cast<uint32_t>(opens_.size());
  opens_.push_back(open);
}

// Makes the open clusters one group, of the first worker, in their order: any document of the next round may
// join them.
void DocumentClusters::gather_open(const StopFlag &stop) {
  if (!opens_are_spread_) return;
  OpenClusters gathered(memory_, shared_lists(options_.batch, 1));
  for (const Open &open : opens_) {
    ClusterSum &sum = workers_[0].sum;
    sum.set(workers_[open.worker].open.sum(open.number));
    sum.finish();
    gathered.add(sum, stop);
  }
  forget_open(stop);
  workers_[0].open = std::move(gathered);
  for (uint32_t i = 0; i < workers_[0].open.size(); ++i) add_open({0, i});
}

void DocumentClusters::add_member(uint32_t cluster, uint32_t document) {
  Grown &grown = grow(cluster);
  const auto member = static_cast<uint32_t>(members_.size());
  members_.push_back({document, none});
  if (grown.first == none) {
    grown.first = member;
  } else {
    members_[grown.last].next = member;
  }
  grown.last = member;
  ++grown.members;
}

// Returns the cluster's place in grown_. A cluster without a place gets a new one.
DocumentClusters::Grown &DocumentClusters::grow(uint32_t cluster) {
  const uint32_t at = grown_at_[cluster];
  if (at < grown_.size() && grown_[at].cluster == cluster) return grown_[at];
  changed_[cluster] = 1;
  grown_at_[cluster] = static_cast<uint32_t>(grown_.size());
  grown_.push_back({cluster, none, none, 0});
  return grown_.back();
}

}  // namespace simjoin
