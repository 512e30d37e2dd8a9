#include "core/clusters/cluster_index.hpp"

#include <algorithm>
#include <bit>

#include "core/base/error.hpp"

namespace simjoin {
namespace {

// Lists are cleared out when they have more than twice as many postings as centroids have terms, and this
// many more.
constexpr size_t tolerated_postings = size_t{1} << 16;
// The clusters of a list whose centroids are fetched ahead: regions first, then terms.
constexpr size_t regions_ahead = 16;
constexpr size_t centroids_ahead = 8;
// Candidates between two looks at the stop flag: some 0.2 ms.
constexpr size_t candidates_per_look = 4096;
// The postings added ahead whose lists are fetched: the region first, then the place for the posting.
constexpr size_t lists_ahead = 16;
constexpr size_t places_ahead = 8;
// Lists between two looks at the stop flag: some 1 ms.
constexpr size_t lists_per_look = 16384;

}  // namespace

void throw_region_too_long() {
  throw Error(ErrorKind::limit_exceeded,
              "a cluster cannot have more than 4294967295 terms, nor a term more than 4294967295 clusters");
}

ClusterIndex::ClusterIndex(MemoryCounter &memory, size_t shared_lists)
    : memory_(&memory),
      list_shift_(shared_lists == 0 ? 0 : 32 - std::countr_zero(std::bit_ceil(shared_lists))),
      lists_(memory),
      centroids_(memory),
      known_(known_bits / 64) {}

void ClusterIndex::add_cluster(size_t terms) {
  if (clusters_ == UINT32_MAX - 1)
    throw Error(ErrorKind::limit_exceeded, "there cannot be more than 4294967294 clusters");
  centroids_.add_keys(size_t{++clusters_});
  centroids_.truncate(clusters_ - 1, 0);
  centroids_.reserve(clusters_ - 1, terms);
}

void ClusterIndex::add_posting(uint32_t term, uint32_t cluster) {
  const uint32_t list = list_of(term);
  if (list >= lists_.keys()) lists_.add_keys(size_t{list} + 1);
  if (list_shift_ != 0 && lists_.region(list).size == 0) used_lists_.push_back(list);
  lists_.push_back(list, cluster);
  known_[known_bit(term) / 64] |= uint64_t{1} << known_bit(term) % 64;
}

bool ClusterIndex::may_have(std::span<const TermWeight> document, uint32_t similarity) const {
  uint64_t shared = 0;
  for (const TermWeight &entry : document) {
    const uint64_t known = known_[known_bit(entry.term) / 64] >> known_bit(entry.term) % 64 & 1;
    shared += known * entry.weight * entry.weight;
  }
  const double needed = least_shared_length(similarity);
  return static_cast<double>(shared) >= needed * needed;
}

// Adds postings one by one. Few of the lists are in a cache, so they are fetched ahead.
void ClusterIndex::append(std::span<const ClusterPosting> postings, const StopFlag &stop) {
  const size_t count = postings.size();
  const auto list_at = [&](size_t i) { return i < count ? list_of(postings[i].term) : UINT32_MAX; };
  for (size_t i = 0; i < count; ++i) {
    if (i % lists_per_look == 0) stop.check();
    if (const uint32_t list = list_at(i + lists_ahead); list < lists_.keys())
      __builtin_prefetch(&lists_.region(list), 1);
    if (const uint32_t list = list_at(i + places_ahead); list < lists_.keys())
      __builtin_prefetch(lists_[list].data() + lists_[list].size(), 1);
    add_posting(postings[i].term, postings[i].cluster);
  }
}

void ClusterIndex::prepare_centroid(uint32_t cluster, std::span<const TermWeight> centroid,
                                    IndexChange &change) {
  const std::span<const TermWeight> old = centroids_[cluster];
  change.clusters.push_back(cluster);
  change.old_terms += old.size();
  change.new_terms += centroid.size();
  auto at = old.begin();
  for (const TermWeight &entry : centroid) {
    while (at != old.end() && at->term < entry.term) ++at;
    if (at == old.end() || at->term != entry.term) change.postings.push_back({entry.term, cluster});
  }
  if (!centroids_.assign_in_place(cluster, centroid))
    change.outgrown.push_back({cluster, {centroid.begin(), centroid.end()}});
}

void ClusterIndex::apply(IndexChange &change, const StopFlag &stop) {
  for (const auto &[cluster, centroid] : change.outgrown) centroids_.assign(cluster, centroid);
  if (has_lists_) append(change.postings, stop);
  if (reports_) {
    changed_centroids_.insert(changed_centroids_.end(), change.clusters.begin(), change.clusters.end());
    new_postings_.insert(new_postings_.end(), change.postings.begin(), change.postings.end());
  }
  for (const ClusterPosting &posting : change.postings) term_end_ = std::max(term_end_, posting.term + 1);
  postings_ += change.postings.size();
  centroid_terms_ += change.new_terms - change.old_terms;
  if (postings_ > 2 * centroid_terms_ + tolerated_postings) clear_out(stop);
  change.clusters.clear();
  change.postings.clear();
  change.outgrown.clear();
  change.old_terms = change.new_terms = 0;
}

void ClusterIndex::set_centroid(uint32_t cluster, std::span<const TermWeight> centroid,
                                const StopFlag &stop) {
  prepare_centroid(cluster, centroid, change_);
  apply(change_, stop);
}

void ClusterIndex::list_centroid(uint32_t cluster) {
  centroid_terms_ += centroids_[cluster].size();
  postings_ += centroids_[cluster].size();
  for (const TermWeight &entry : centroids_[cluster]) add_posting(entry.term, cluster);
}

void ClusterIndex::clear_out(const StopFlag &stop) {
  if (has_lists_) make_lists(stop);
  lists_are_stale_ = true;
  new_postings_.clear();
  postings_ = centroid_terms_;
}

void ClusterIndex::make_lists(const StopFlag &stop) {
  for (size_t list = 0; list < lists_.keys(); ++list) lists_.truncate(list, 0);
  used_lists_.clear();
  for (uint32_t cluster = 0; cluster < clusters_; ++cluster) {
    if (cluster % candidates_per_look == 0) stop.check();
    for (const TermWeight &entry : centroids_[cluster]) add_posting(entry.term, cluster);
  }
}

void ClusterIndex::give_lists_away(bool keep) {
  reports_ = true;
  if (keep) return;
  has_lists_ = false;
  lists_ = RegionPool<uint32_t>(*memory_);
}

void ClusterIndex::take_lists_back(const StopFlag &stop) {
  reports_ = false;
  mark_copied();
  if (has_lists_) return;
  has_lists_ = true;
  clear_out(stop);
}

void ClusterIndex::drop_repeated_reports() {
  std::sort(changed_centroids_.begin(), changed_centroids_.end());
  changed_centroids_.erase(std::unique(changed_centroids_.begin(), changed_centroids_.end()),
                           changed_centroids_.end());
}

void ClusterIndex::clear(const StopFlag &stop) {
  for (size_t i = 0; i < used_lists_.size(); ++i) {
    if (i % lists_per_look == 0) stop.check();
    lists_.truncate(used_lists_[i], 0);
  }
  used_lists_.clear();
  std::fill(known_.begin(), known_.end(), 0);
  clusters_ = 0;
  postings_ = centroid_terms_ = 0;
}

void ClusterIndex::mark_copied() {
  new_postings_.clear();
  changed_centroids_.clear();
  lists_are_stale_ = false;
}

// Sorts the lists of the document's terms and makes its table. Returns whether a search has a point: whether
// the terms that clusters have form a vector that is long enough.
bool ClusterSearch::start(const ClusterIndex &lists, std::span<const TermWeight> document,
                          double needed_square) {
  lists_.clear();
  uint64_t known = 0;
  for (const TermWeight &entry : document) {
    const size_t size = lists.list(entry.term).size();
    if (size == 0) continue;
    lists_.push_back({size, entry.term, entry.weight});
    known += uint64_t{entry.weight} * entry.weight;
  }
  if (static_cast<double>(known) < needed_square) return false;
  // At most a quarter full, so that one probe mostly shows that the document lacks a term.
  const size_t slots = std::bit_ceil(4 * document.size() + 1);
  table_.assign(slots, {0, 0});
  table_shift_ = 32 - static_cast<uint32_t>(std::countr_zero(slots));
  for (const TermWeight &entry : document) table_[slot_of(entry.term)] = entry;
  std::sort(lists_.begin(), lists_.end(), [](const ListOfTerm &a, const ListOfTerm &b) {
    return a.size < b.size || (a.size == b.size && a.term < b.term);
  });
  return true;
}

// Begins a search that has seen none of the clusters.
void ClusterSearch::begin_seen(uint32_t clusters) {
  if (seen_.size() < clusters) {
    const size_t size = seen_.size();
    seen_.resize(clusters + clusters / 4 + 16);
    std::fill(seen_.begin() + size, seen_.end(), 0);
  }
  if (++search_ == 0) {
    std::fill(seen_.begin(), seen_.end(), 0);
    search_ = 1;
  }
}

uint64_t ClusterSearch::product(std::span<const TermWeight> centroid) const {
  uint64_t sum = 0;
  for (const TermWeight &entry : centroid) sum += uint64_t{table_[slot_of(entry.term)].weight} * entry.weight;
  return sum;
}

void ClusterSearch::search_list(const ClusterIndex &index, std::span<const uint32_t> list, uint32_t least,
                                uint32_t first, FoundCluster &best, const StopFlag &stop) {
  for (size_t i = 0; i < list.size(); ++i) {
    if (i % candidates_per_look == 0) stop.check();
    if (i + regions_ahead < list.size()) index.prefetch_region(list[i + regions_ahead]);
    if (i + centroids_ahead < list.size()) index.prefetch_centroid(list[i + centroids_ahead]);
    const uint32_t cluster = list[i];
    if (cluster < first || seen_[cluster] == search_) continue;
    seen_[cluster] = search_;
    const uint32_t similarity = similarity_of_product(product(index.centroid(cluster)));
    if (similarity >= least) best = std::max(best, found_cluster(similarity, cluster));
  }
}

FoundCluster ClusterSearch::find(const ClusterIndex &index, std::span<const TermWeight> document,
                                 uint32_t least, const StopFlag &stop, const Among &among) {
  const ClusterIndex &lists = among.lists == nullptr ? index : *among.lists;
  const double least_length = least_shared_length(least);
  if (!start(lists, document, least_length * least_length)) return 0;
  begin_seen(index.clusters());
  if (among.without < index.clusters()) seen_[among.without] = search_;
  // Shortest lists first. The similarity of a cluster with none of their terms is at most the length of the
  // rest of the document.
  uint64_t left = 0;
  for (const ListOfTerm &entry : lists_) left += uint64_t{entry.weight} * entry.weight;
  FoundCluster best = 0;
  for (const ListOfTerm &entry : lists_) {
    const double needed = least_shared_length(std::max(least, similarity_of(best)));
    if (static_cast<double>(left) < needed * needed) break;
    search_list(index, lists.list(entry.term), least, among.first, best, stop);
    left -= uint64_t{entry.weight} * entry.weight;
  }
  return best;
}

}  // namespace simjoin
