#include "core/cluster_index.hpp"

#include <algorithm>
#include <bit>

#include "core/error.hpp"

namespace simjoin {
namespace {

// Lists are cleared out where they have more than twice as many postings as there are, and this many more.
constexpr size_t tolerated_postings = size_t{1} << 16;
// Clusters of a list whose centroids are fetched ahead of the one at hand: regions first, then terms.
constexpr size_t regions_ahead = 16;
constexpr size_t centroids_ahead = 8;
// Candidates between two looks at the stop flag: some 0.2 ms.
constexpr size_t candidates_a_look = 4096;

constexpr uint32_t spread = 0x9E3779B1u;

}  // namespace

ClusterIndex::ClusterIndex(MemoryCounter &memory)
    : lists_(memory), centroids_(memory), copied_(memory), known_(known_bits / 64) {}

void ClusterIndex::add_cluster() {
  if (clusters_ == UINT32_MAX - 1)
    throw Error(ErrorKind::limit_exceeded, "there cannot be more than 4294967294 clusters");
  centroids_.add_keys(size_t{++clusters_});
  centroids_.truncate(clusters_ - 1, 0);
}

void ClusterIndex::append(uint32_t term, uint32_t cluster) {
  if (term >= lists_.keys()) {
    lists_.add_keys(size_t{term} + 1);
    while (copied_.size() < lists_.keys()) copied_.push_back(0);
  }
  if (lists_.region(term).size == copied_[term]) changed_lists_.push_back(term);
  if (lists_.push_back(term, cluster)) copied_[term] = 0;
  ++postings_;
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

void ClusterIndex::prepare_centroid(uint32_t cluster, std::span<const TermWeight> centroid,
                                    CentroidChange &change) {
  const std::span<const TermWeight> old = centroids_[cluster];
  change.new_terms.clear();
  change.old_size = old.size();
  auto at = old.begin();
  for (const TermWeight &entry : centroid) {
    while (at != old.end() && at->term < entry.term) ++at;
    if (at == old.end() || at->term != entry.term) change.new_terms.push_back(entry.term);
  }
  change.stored = centroids_.assign_in_place(cluster, centroid);
}

void ClusterIndex::set_centroid(uint32_t cluster, std::span<const TermWeight> centroid,
                                const CentroidChange &change) {
  for (const uint32_t term : change.new_terms) {
    if (term >= lists_.keys()) continue;
    __builtin_prefetch(&lists_.region(term), 1);
    __builtin_prefetch(&copied_[term]);
  }
  for (const uint32_t term : change.new_terms)
    if (term < lists_.keys()) __builtin_prefetch(lists_[term].data() + lists_[term].size(), 1);
  for (const uint32_t term : change.new_terms) append(term, cluster);
  centroid_terms_ += centroid.size() - change.old_size;
  if (!change.stored) centroids_.assign(cluster, centroid);
  changed_centroids_.push_back(cluster);
  if (postings_ > 2 * centroid_terms_ + tolerated_postings) clear_out();
}

void ClusterIndex::set_centroid(uint32_t cluster, std::span<const TermWeight> centroid) {
  prepare_centroid(cluster, centroid, change_);
  set_centroid(cluster, centroid, change_);
}

void ClusterIndex::clear_out() {
  for (size_t term = 0; term < lists_.keys(); ++term) lists_.truncate(term, 0);
  std::fill(copied_.begin(), copied_.end(), 0);
  changed_lists_.clear();
  postings_ = 0;
  for (uint32_t cluster = 0; cluster < clusters_; ++cluster)
    for (const TermWeight &entry : centroids_[cluster]) append(entry.term, cluster);
  everything_changed_ = true;
}

void ClusterIndex::clear() {
  for (const uint32_t term : changed_lists_) {
    lists_.truncate(term, 0);
    copied_[term] = 0;
  }
  mark_copied();
  std::fill(known_.begin(), known_.end(), 0);
  clusters_ = 0;
  postings_ = centroid_terms_ = 0;
}

void ClusterIndex::mark_copied() {
  for (const uint32_t term : changed_lists_) copied_[term] = lists_.region(term).size;
  changed_lists_.clear();
  changed_centroids_.clear();
  everything_changed_ = false;
}

// Sorts the lists of the document's terms and makes its table; returns whether that has a point: whether the
// terms that clusters have are long enough a vector.
bool ClusterSearch::start(const ClusterIndex &index, std::span<const TermWeight> document,
                          double needed_square) {
  lists_.clear();
  uint64_t known = 0;
  for (const TermWeight &entry : document) {
    lists_.push_back({index.list(entry.term).size(), entry.term, entry.weight});
    if (lists_.back().size > 0) known += uint64_t{entry.weight} * entry.weight;
  }
  if (static_cast<double>(known) < needed_square) return false;
  if (seen_.size() < index.clusters()) seen_.resize(index.clusters() + index.clusters() / 4 + 16, 0);
  if (++search_ == 0) {
    std::fill(seen_.begin(), seen_.end(), 0);
    search_ = 1;
  }
  // At most a quarter full, so that a term that the document does not have is mostly told by one look.
  const size_t slots = std::bit_ceil(4 * document.size() + 1);
  table_.assign(slots, {0, 0});
  table_shift_ = 32 - static_cast<uint32_t>(std::countr_zero(slots));
  for (const TermWeight &entry : document) {
    size_t slot = static_cast<size_t>(uint64_t{entry.term * spread} >> table_shift_);
    while (table_[slot].weight != 0) slot = (slot + 1) & (slots - 1);
    table_[slot] = entry;
  }
  std::sort(lists_.begin(), lists_.end(), [](const ListOfTerm &a, const ListOfTerm &b) {
    return a.size < b.size || (a.size == b.size && a.term < b.term);
  });
  return true;
}

uint64_t ClusterSearch::product(std::span<const TermWeight> centroid) const {
  const size_t mask = table_.size() - 1;
  uint64_t sum = 0;
  for (const TermWeight &entry : centroid) {
    size_t slot = static_cast<size_t>(uint64_t{entry.term * spread} >> table_shift_);
    for (; table_[slot].weight != 0; slot = (slot + 1) & mask) {
      if (table_[slot].term != entry.term) continue;
      sum += uint64_t{table_[slot].weight} * entry.weight;
      break;
    }
  }
  return sum;
}

void ClusterSearch::search_list(const ClusterIndex &index, std::span<const uint32_t> list, uint32_t least,
                                FoundCluster &best, const StopFlag &stop) {
  for (size_t i = 0; i < list.size(); ++i) {
    if (i % candidates_a_look == 0) stop.check();
    if (i + regions_ahead < list.size()) index.prefetch_region(list[i + regions_ahead]);
    if (i + centroids_ahead < list.size()) index.prefetch_centroid(list[i + centroids_ahead]);
    const uint32_t cluster = list[i];
    if (seen_[cluster] == search_) continue;
    seen_[cluster] = search_;
    const uint32_t similarity = similarity_of_product(product(index.centroid(cluster)));
    if (similarity >= least) best = std::max(best, found_cluster(similarity, cluster));
  }
}

FoundCluster ClusterSearch::find(const ClusterIndex &index, std::span<const TermWeight> document,
                                 uint32_t least, const StopFlag &stop) {
  const double least_length = least_shared_length(least);
  if (!start(index, document, least_length * least_length)) return 0;
  // Shortest lists first. What has none of their terms can be as similar as what is left of the document is
  // long, at most.
  uint64_t left = 0;
  for (const ListOfTerm &entry : lists_) left += uint64_t{entry.weight} * entry.weight;
  FoundCluster best = 0;
  for (const ListOfTerm &entry : lists_) {
    const double needed = least_shared_length(std::max(least, similarity_of(best)));
    if (static_cast<double>(left) < needed * needed) break;
    search_list(index, index.list(entry.term), least, best, stop);
    left -= uint64_t{entry.weight} * entry.weight;
  }
  return best;
}

}  // namespace simjoin
