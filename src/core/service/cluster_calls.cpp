#include "core/service/cluster_calls.hpp"

#include <algorithm>
#include <memory>

#include "core/base/error.hpp"

namespace simjoin {
namespace {

// The numbers: clusters, least similarity, whether groups are wanted, terms before those of the documents.
// The arrays: clusters whose centroids have changed, sizes and terms of these; terms of the documents, ends
// of their room, sizes, reaches. The result: clusters found, groups. Centroids for which a call has no room
// come before, in calls without documents.
constexpr size_t most_terms_of_changes = size_t{1} << 18;

// What the service has of a session's clusters. Centroids have their places on the GPU by this index, not by
// what the session says.
struct ServedClusters {
  explicit ServedClusters(const Call &call) : place(call.host.cluster_admission().hold()) {
    if (!place)
      throw Error(ErrorKind::device_unavailable,
                  "clusters of other sessions have the memory of the GPU service",
                  "Try again later, or set simjoin.device to cpu.");
    // All together leave joins half of the GPU.
    most_memory = call.host.backend().memory_total() / 2 / Admission::most_holding;
    if (call.sent.device_memory != 0) most_memory = std::min(most_memory, call.sent.device_memory);
    index.give_lists_away();
  }

  // The copy on the GPU is no smaller than the one here.
  void check_memory() const {
    if (memory.current() > most_memory)
      throw Error(ErrorKind::limit_exceeded,
                  "the clusters need more memory than the GPU service has for them",
                  "Set simjoin.device to cpu.");
  }

  const std::shared_ptr<void> place;
  size_t most_memory;
  MemoryCounter memory;
  ClusterIndex index{memory};
  std::unique_ptr<ClusterDevice> device;
};

bool is_vector(std::span<const TermWeight> terms) {
  for (size_t i = 1; i < terms.size(); ++i)
    if (terms[i].term <= terms[i - 1].term) return false;
  return terms.empty() || terms.back().term < UINT32_MAX;
}

void change_centroids(const Call &call, ServedClusters &served) {
  const StopFlag &stop = call.pool.stop();
  const uint64_t clusters = call.sent.numbers[0];
  const auto changed = call.array<uint32_t>(0), sizes = call.array<uint32_t>(1);
  auto terms = call.array<TermWeight>(2);
  ClusterIndex &index = served.index;
  if (clusters < index.clusters() || clusters >= UINT32_MAX || changed.size() != sizes.size())
    throw_senseless();
  while (index.clusters() < clusters) {
    stop.check();
    index.add_cluster();
    served.check_memory();
  }
  for (size_t i = 0; i < changed.size(); ++i) {
    stop.check();
    if (changed[i] >= clusters || sizes[i] > terms.size() || !is_vector(terms.first(sizes[i])))
      throw_senseless();
    index.set_centroid(changed[i], terms.first(sizes[i]), stop);
    served.check_memory();
    terms = terms.subspan(sizes[i]);
  }
  if (!terms.empty()) throw_senseless();
}

DocumentVectors documents_of(const Call &call, bool grouped) {
  const DocumentVectors documents = {call.array<TermWeight>(3), call.array<uint64_t>(4), call.sent.numbers[3],
                                     call.array<uint32_t>(5), call.array<uint32_t>(6)};
  const size_t count = documents.size();
  if (documents.sizes.size() != count || documents.reaches.size() != (grouped ? count : 0)) throw_senseless();
  uint64_t begin = documents.before;
  for (size_t i = 0; i < count; ++i) {
    call.pool.stop().check();
    const uint64_t end = documents.ends[i];
    if (end < begin || end - documents.before > documents.terms.size() || documents.sizes[i] > end - begin ||
        !is_vector(documents[i]))
      throw_senseless();
    begin = end;
  }
  if (begin - documents.before != documents.terms.size()) throw_senseless();
  return documents;
}

}  // namespace

void ServiceClusters::update(const ClusterIndex &index, const StopFlag &stop) {
  const std::span<const uint32_t> changed = index.changed_centroids();
  const size_t count = loaded_ ? changed.size() : index.clusters();
  clusters_ = index.clusters();
  for (size_t i = 0; i < count; ++i) {
    stop.check_at(i);
    const uint32_t cluster = loaded_ ? changed[i] : static_cast<uint32_t>(i);
    const std::span<const TermWeight> centroid = index.centroid(cluster);
    if (terms_.size() + centroid.size() > most_terms_of_changes) call({}, 1, nullptr, nullptr, stop);
    changed_.push_back(cluster);
    sizes_.push_back(static_cast<uint32_t>(centroid.size()));
    terms_.insert(terms_.end(), centroid.begin(), centroid.end());
  }
  loaded_ = true;
}

void ServiceClusters::find(const DocumentVectors &documents, uint32_t least, FoundCluster *found,
                           uint32_t *groups, const StopFlag &stop) {
  call(documents, least, found, groups, stop);
  for (size_t i = 0; i < documents.size(); ++i) {
    if (found[i] != 0 && (similarity_of(found[i]) < least || cluster_of(found[i]) >= clusters_))
      call_.throw_ended();
    if (groups != nullptr && (groups[i] > i || groups[groups[i]] != groups[i])) call_.throw_ended();
  }
}

void ServiceClusters::call(const DocumentVectors &documents, uint32_t least, FoundCluster *found,
                           uint32_t *groups, const StopFlag &stop) {
  call_.clear();
  call_.number(clusters_).number(least).number(groups != nullptr).number(documents.before);
  call_.input(std::span<const uint32_t>(changed_)).input(std::span<const uint32_t>(sizes_));
  call_.input(std::span<const TermWeight>(terms_));
  call_.input(documents.terms).input(documents.ends).input(documents.sizes).input(documents.reaches);
  call_.output(found, documents.size()).output(groups, groups != nullptr ? documents.size() : 0);
  call_.run(stop);
  changed_.clear();
  sizes_.clear();
  terms_.clear();
}

CallResult serve_clusters(const Call &call) {
  const uint64_t least = call.sent.numbers[1], grouped = call.sent.numbers[2];
  if (least == 0 || least > UINT32_MAX || grouped > 1) throw_senseless();
  const DocumentVectors documents = documents_of(call, grouped != 0);
  if (!call.state) call.state = std::make_shared<ServedClusters>(call);
  auto &served = *static_cast<ServedClusters *>(call.state.get());
  change_centroids(call, served);
  if (documents.size() == 0) {
    // What is not on the GPU yet will go there as a whole.
    if (!served.device) served.index.mark_copied();
    return {};
  }
  const StopFlag &stop = call.pool.stop();
  if (!served.device) served.device = call.host.backend().make_cluster_device(served.most_memory);
  served.index.drop_repeated_reports();
  served.device->update(served.index, stop);
  served.index.mark_copied();
  Buffer<FoundCluster> found(call.memory, documents.size());
  Buffer<uint32_t> groups(call.memory, grouped != 0 ? documents.size() : 0);
  served.device->find(documents, static_cast<uint32_t>(least), found.data(),
                      grouped != 0 ? groups.data() : nullptr, stop);
  call.give_all(0, found);
  call.give_all(1, groups);
  return {};
}

}  // namespace simjoin
