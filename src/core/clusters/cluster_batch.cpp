#include "core/clusters/cluster_batch.hpp"

#include <algorithm>
#include <utility>

#include "core/clusters/cluster_relations.hpp"

namespace simjoin {
namespace {

// The groups of related documents that threads take at a time. Most groups have more than one document.
constexpr size_t groups_per_piece = 4;

// Up to this number of documents are added to a cluster's sum one by one. The terms of more documents are
// sorted together.
constexpr size_t documents_added_singly = 4;

// The clusters that a batch publishes at a time: the scratch of the threads for them takes some 10 MB.
constexpr size_t clusters_per_turn = size_t{1} << 16;

}  // namespace

ClusterBatch::ClusterBatch(ClusterState &state)
    : state_(state),
      opens_(state.memory),
      members_(state.memory),
      grown_(state.memory),
      grown_at_(state.memory),
      pending_(state.memory),
      changed_clusters_(state.memory),
      grouped_(state.memory),
      beginning_(state.memory),
      joined_(state.memory) {
  begun_.emplace_back(state.memory, shared_lists(state.options, state.options.batch, 1));
}

void ClusterBatch::load_open(const ClusterSum &sum) {
  OpenClusters &clusters = begun_[0].clusters;
  clusters.add(sum, StopFlag());
  add_open({0, clusters.size() - 1});
}

void ClusterBatch::load_pending(uint32_t cluster, std::span<const TermSum> pending) {
  grow(cluster);
  pending_.add_keys(++with_pending_);
  pending_.assign(with_pending_ - 1, pending);
}

std::span<const TermSum> ClusterBatch::sum_of(uint32_t cluster) const {
  if (!is_open(cluster)) return state_.sums[cluster];
  const Open open = opens_[cluster - state_.index.clusters()];
  return begun_[open.worker].clusters.sum(open.number);
}

std::span<const TermSum> ClusterBatch::pending_of(uint32_t cluster) const {
  if (cluster >= grown_at_.size()) return {};
  return pending_of(grown_at_[cluster], cluster);
}

// The same for a cluster that may be this one of grown_.
std::span<const TermSum> ClusterBatch::pending_of(uint32_t grown, uint32_t cluster) const {
  if (grown >= with_pending_ || grown_[grown].cluster != cluster) return {};
  return pending_[grown];
}

// ---- The cluster that each document joins or begins ----

void ClusterBatch::assign(DocumentRound &round, size_t begin, size_t end, std::span<const uint32_t> groups,
                          WorkerPool &pool) {
  joined_.resize(end - begin);
  if (groups.empty()) {
    for (size_t i = begin; i < end; ++i) joined_[i - begin] = assign_document(round, i, 0, pool.stop());
  } else {
    assign_groups(round, begin, groups, pool);
  }
  number(round, begin, end);
}

// Assigns group by group, side by side. A group whose documents have all found something begins no cluster.
void ClusterBatch::assign_groups(DocumentRound &round, size_t begin, std::span<const uint32_t> groups,
                                 WorkerPool &pool) {
  const auto workers = static_cast<size_t>(pool.workers());
  while (begun_.size() < workers)
    begun_.emplace_back(state_.memory, shared_lists(state_.options, state_.options.batch, workers));
  grouped_.resize(groups.size());
  beginning_.clear();
  for (uint32_t i = 0; i < groups.size(); ++i) {
    const bool begins = round.found[begin + i] == 0;
    grouped_[i] = {none, i, begins};
    Grouped &first = grouped_[groups[i]];
    if (groups[i] == i) continue;
    grouped_[first.last].next = i;
    first.last = i;
    first.begins |= begins;
  }
  for (uint32_t i = 0; i < groups.size(); ++i) {
    if (!grouped_[groups[i]].begins) {
      joined_[i] = {none, none};
    } else if (groups[i] == i) {
      beginning_.push_back(i);
    }
  }
  opens_are_spread_ = true;
  pool.parallel_pieces(beginning_.size(), groups_per_piece, [&](int worker, size_t group) {
    begun_[worker].clusters.begin_group();
    for (uint32_t i = beginning_[group]; i != none; i = grouped_[i].next)
      joined_[i] = assign_document(round, begin + i, static_cast<uint32_t>(worker), pool.stop());
  });
}

// Lets a document join the most similar cluster of the table and of the worker, or begin a cluster of the
// worker. Returns the worker's cluster; none if it is a stored cluster.
ClusterBatch::Open ClusterBatch::assign_document(DocumentRound &round, size_t document, uint32_t worker,
                                                 const StopFlag &stop) {
  stop.check();
  ClusterSum &sum = state_.threads[worker].sum;
  OpenClusters &open = begun_[worker].clusters;
  const std::span<const TermWeight> terms = round[document];
  const FoundCluster found = round.found[document];
  // The clusters of this batch are younger: they have to be more similar.
  const FoundCluster newer =
      open.find(terms, least_newer(state_.least, found), state_.threads[worker].search, stop);
  if (newer != 0) {
    const uint32_t joined = cluster_of(newer);
    round.clustered[document].similarity = similarity_of(newer);
    sum.set(open.sum(joined));
    sum.add(terms);
    sum.finish();
    open.set(joined, sum, stop);
    return {worker, joined};
  }
  if (found != 0) return {none, none};
  round.clustered[document].similarity = 0;
  sum.set(terms);
  sum.finish();
  open.add(sum, stop);
  return {worker, open.size() - 1};
}

// Gives the new clusters their numbers, in the order of their first documents, and their documents to all.
void ClusterBatch::number(DocumentRound &round, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) {
    const Open joined = joined_[i - begin];
    ClusteredDocument &result = round.clustered[i];
    if (joined.worker == none) {
      result = {cluster_of(round.found[i]), similarity_of(round.found[i])};
      add_member(result.cluster, static_cast<uint32_t>(i));
    } else {
      if (result.similarity == 0) {
        state_.add();
        add_open(joined);
      }
      result.cluster = state_.index.clusters() + begun_[joined.worker].numbers[joined.number];
      state_.changed[result.cluster] = 1;
    }
    ++state_.documents[result.cluster];
  }
}

// Makes a worker's cluster the last of the open ones.
void ClusterBatch::add_open(Open open) {
  Buffer<uint32_t> &numbers = begun_[open.worker].numbers;
  while (numbers.size() <= open.number) numbers.push_back(none);
  numbers[open.number] = static_cast<uint32_t>(opens_.size());
  opens_.push_back(open);
}

void ClusterBatch::add_member(uint32_t cluster, uint32_t document) {
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
ClusterBatch::Grown &ClusterBatch::grow(uint32_t cluster) {
  while (grown_at_.size() <= cluster) grown_at_.push_back(0);
  const uint32_t at = grown_at_[cluster];
  if (at < grown_.size() && grown_[at].cluster == cluster) return grown_[at];
  state_.changed[cluster] = 1;
  grown_at_[cluster] = static_cast<uint32_t>(grown_.size());
  grown_.push_back({cluster, none, none, 0});
  return grown_.back();
}

// ---- The end of a round, and of the batch ----

void ClusterBatch::end_round(const DocumentRound &round, const StopFlag &stop) {
  fold_members(round, stop);
  gather_open(stop);
}

// Adds the members of the batch to the pending sums.
void ClusterBatch::fold_members(const DocumentRound &round, const StopFlag &stop) {
  ClusterSum &sum = state_.threads[0].sum;
  pending_.add_keys(grown_.size());
  for (uint32_t i = 0; i < grown_.size(); ++i) {
    stop.check();
    Grown &grown = grown_[i];
    if (grown.first == none) continue;
    sum.set(pending_of(i, grown.cluster));
    for (uint32_t at = grown.first; at != none; at = members_[at].next)
      sum.append(round[members_[at].document]);
    sum.combine(stop);
    pending_.assign(i, sum.sums());
    grown.first = grown.last = none;
    grown.members = 0;
  }
  with_pending_ = static_cast<uint32_t>(grown_.size());
  members_.clear();
}

// Makes the open clusters one group, of the first worker, in their order: any document of the next round may
// join them.
void ClusterBatch::gather_open(const StopFlag &stop) {
  if (!opens_are_spread_) return;
  OpenClusters gathered(state_.memory, shared_lists(state_.options, state_.options.batch, 1));
  ClusterSum &sum = state_.threads[0].sum;
  for (const Open &open : opens_) {
    sum.set(begun_[open.worker].clusters.sum(open.number));
    sum.finish();
    gathered.add(sum, stop);
  }
  forget_open(stop);
  begun_[0].clusters = std::move(gathered);
  for (uint32_t i = 0; i < begun_[0].clusters.size(); ++i) add_open({0, i});
}

void ClusterBatch::forget_open(const StopFlag &stop) {
  opens_.clear();
  opens_are_spread_ = false;
  for (Begun &begun : begun_) {
    begun.clusters.clear(stop);
    begun.numbers.clear();
  }
}

const Buffer<uint32_t> &ClusterBatch::publish(const DocumentRound &round, WorkerPool &pool) {
  make_room_for_open(pool.stop());
  const size_t count = grown_.size() + opens_.size();
  for (size_t begin = 0; begin < count; begin += clusters_per_turn)
    publish_some(round, begin, std::min(count, begin + clusters_per_turn), pool);
  if (state_.merges()) list_changed();
  forget_open(pool.stop());
  for (uint32_t i = 0; i < with_pending_; ++i) pending_.truncate(i, 0);
  with_pending_ = 0;
  grown_.clear();
  members_.clear();
  return changed_clusters_;
}

void ClusterBatch::list_changed() {
  changed_clusters_.clear();
  for (const Grown &grown : grown_) changed_clusters_.push_back(grown.cluster);
  std::sort(changed_clusters_.begin(), changed_clusters_.end());
  for (uint32_t cluster = state_.size() - static_cast<uint32_t>(opens_.size()); cluster < state_.size();
       ++cluster)
    changed_clusters_.push_back(cluster);
}

// Makes the clusters that the batch has begun known to the index, without their centroids.
void ClusterBatch::make_room_for_open(const StopFlag &stop) {
  const uint32_t first = state_.index.clusters();
  state_.sums.add_keys(state_.size());
  for (uint32_t i = 0; i < opens_.size(); ++i) {
    stop.check();
    state_.changed[first + i] = 1;
    const OpenClusters &open = begun_[opens_[i].worker].clusters;
    state_.sums.reserve(first + i, open.sum(opens_[i].number).size());
    state_.index.add_cluster(open.centroid(opens_[i].number).size());
  }
}

// Threads make the new sums and centroids of these clusters and store them if there is room. Clusters that
// have grown come first, then those that the batch has begun. The rest is done in their order.
void ClusterBatch::publish_some(const DocumentRound &round, size_t begin, size_t end, WorkerPool &pool) {
  const size_t pieces = (end - begin + documents_per_piece - 1) / documents_per_piece;
  if (published_.size() < pieces) published_.resize(pieces);
  pool.parallel_pieces(end - begin, documents_per_piece, [&](int worker, size_t i) {
    Published &published = published_[i / documents_per_piece];
    if (begin + i < grown_.size()) {
      publish_grown(round, begin + i, state_.threads[worker].sum, published, pool.stop());
    } else {
      publish_open(static_cast<uint32_t>(begin + i - grown_.size()), published);
    }
  });
  for (size_t i = 0; i < pieces; ++i) {
    for (const auto &[cluster, sum] : published_[i].sums) state_.sums.assign(cluster, sum);
    published_[i].sums.clear();
    state_.index.apply(published_[i].change, pool.stop());
  }
}

void ClusterBatch::publish_grown(const DocumentRound &round, size_t number, ClusterSum &sum,
                                 Published &published, const StopFlag &stop) {
  const Grown &grown = grown_[number];
  const std::span<const TermSum> pending = pending_of(static_cast<uint32_t>(number), grown.cluster);
  sum.set(state_.sums[grown.cluster]);
  const bool singly = pending.empty() && grown.members <= documents_added_singly;
  sum.append(pending);
  for (uint32_t at = grown.first; at != none; at = members_[at].next) {
    const std::span<const TermWeight> terms = round[members_[at].document];
    if (singly) {
      sum.add(terms);
    } else {
      sum.append(terms);
    }
  }
  if (!singly) sum.combine(stop);
  sum.finish();
  if (!state_.sums.assign_in_place(grown.cluster, sum.sums()))
    published.sums.push_back({grown.cluster, {sum.sums().begin(), sum.sums().end()}});
  state_.index.prepare_centroid(grown.cluster, sum.centroid(), published.change);
}

void ClusterBatch::publish_open(uint32_t number, Published &published) {
  const uint32_t cluster = state_.size() - static_cast<uint32_t>(opens_.size()) + number;
  const OpenClusters &open = begun_[opens_[number].worker].clusters;
  state_.sums.assign_in_place(cluster, open.sum(opens_[number].number));
  state_.index.prepare_centroid(cluster, open.centroid(opens_[number].number), published.change);
}

}  // namespace simjoin
