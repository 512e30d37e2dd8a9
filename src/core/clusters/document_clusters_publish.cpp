// The end of a batch: clusters that it began or that grew get new sums and centroids.
#include "core/clusters/document_clusters.hpp"

#include <algorithm>

#include "core/base/wall_clock.hpp"
#include "core/clusters/cluster_relations.hpp"

namespace simjoin {
namespace {

// Up to this number of documents are added to a cluster's sum one by one. The terms of more documents are
// sorted together.
constexpr size_t documents_added_singly = 4;

// The clusters that a batch publishes at a time: the scratch of the threads for them takes some 10 MB.
constexpr size_t clusters_per_turn = size_t{1} << 16;

}  // namespace

// Ends the batch: its documents count from now on.
void DocumentClusters::publish(WorkerPool &pool) {
  const WallClock::time_point start = WallClock::now();
  make_room_for_open(pool.stop());
  const size_t count = grown_.size() + opens_.size();
  for (size_t begin = 0; begin < count; begin += clusters_per_turn)
    publish_some(begin, std::min(count, begin + clusters_per_turn), pool);
  if (merges()) list_looking();
  forget_open(pool.stop());
  for (uint32_t i = 0; i < with_pending_; ++i) pending_.truncate(i, 0);
  with_pending_ = 0;
  grown_.clear();
  members_.clear();
  if (merges()) merge_looking(pool);
  figures_.publish_ms += milliseconds_since(start);
}

// Threads make the new sums and centroids of these clusters and store them if there is room. Clusters that
// have grown come first, then those that the batch has begun. The rest is done in their order.
void DocumentClusters::publish_some(size_t begin, size_t end, WorkerPool &pool) {
  const size_t pieces = (end - begin + documents_per_piece - 1) / documents_per_piece;
  if (published_.size() < pieces) published_.resize(pieces);
  pool.parallel_pieces(end - begin, documents_per_piece, [&](int worker, size_t i) {
    Published &published = published_[i / documents_per_piece];
    if (begin + i < grown_.size()) {
      publish_grown(begin + i, workers_[worker].sum, published, pool.stop());
    } else {
      publish_open(static_cast<uint32_t>(begin + i - grown_.size()), published);
    }
  });
  for (size_t i = 0; i < pieces; ++i) {
    for (const auto &[cluster, sum] : published_[i].sums) sums_.assign(cluster, sum);
    published_[i].sums.clear();
    index_.apply(published_[i].change, pool.stop());
  }
}

// Makes the clusters that the batch has begun known to the index, without their centroids.
void DocumentClusters::make_room_for_open(const StopFlag &stop) {
  const uint32_t first = index_.clusters();
  sums_.add_keys(clusters());
  for (uint32_t i = 0; i < opens_.size(); ++i) {
    stop.check();
    changed_[first + i] = 1;
    const OpenClusters &open = workers_[opens_[i].worker].open;
    sums_.reserve(first + i, open.sum(opens_[i].number).size());
    index_.add_cluster(open.centroid(opens_[i].number).size());
  }
}

void DocumentClusters::publish_grown(size_t number, ClusterSum &sum, Published &published,
                                     const StopFlag &stop) {
  const Grown &grown = grown_[number];
  const std::span<const TermSum> pending = pending_of(static_cast<uint32_t>(number), grown.cluster);
  sum.set(sums_[grown.cluster]);
  const bool singly = pending.empty() && grown.members <= documents_added_singly;
  sum.append(pending);
  for (uint32_t at = grown.first; at != none; at = members_[at].next) {
    const std::span<const TermWeight> terms = document(members_[at].document);
    if (singly) {
      sum.add(terms);
    } else {
      sum.append(terms);
    }
  }
  if (!singly) sum.combine(stop);
  sum.finish();
  if (!sums_.assign_in_place(grown.cluster, sum.sums()))
    published.sums.push_back({grown.cluster, {sum.sums().begin(), sum.sums().end()}});
  index_.prepare_centroid(grown.cluster, sum.centroid(), published.change);
}

void DocumentClusters::publish_open(uint32_t number, Published &published) {
  const uint32_t cluster = clusters() - static_cast<uint32_t>(opens_.size()) + number;
  const OpenClusters &open = workers_[opens_[number].worker].open;
  sums_.assign_in_place(cluster, open.sum(opens_[number].number));
  index_.prepare_centroid(cluster, open.centroid(opens_[number].number), published.change);
}

void DocumentClusters::forget_open(const StopFlag &stop) {
  opens_.clear();
  opens_are_spread_ = false;
  for (Worker &worker : workers_) {
    worker.open.clear(stop);
    worker.numbers.clear();
  }
}

// Adds the members of the batch under way to the pending sums, so that the round's documents can be released.
void DocumentClusters::fold_members(const StopFlag &stop) {
  ClusterSum &sum = workers_[0].sum;
  pending_.add_keys(grown_.size());
  for (uint32_t i = 0; i < grown_.size(); ++i) {
    stop.check();
    Grown &grown = grown_[i];
    if (grown.first == none) continue;
    sum.set(pending_of(i, grown.cluster));
    for (uint32_t at = grown.first; at != none; at = members_[at].next)
      sum.append(document(members_[at].document));
    sum.combine(stop);
    pending_.assign(i, sum.sums());
    grown.first = grown.last = none;
    grown.members = 0;
  }
  with_pending_ = static_cast<uint32_t>(grown_.size());
  members_.clear();
}

}  // namespace simjoin
