#include "core/document_clusters.hpp"

#include <algorithm>
#include <bit>
#include <functional>

#include "core/device_work.hpp"
#include "core/error.hpp"
#include "core/gpu.hpp"

namespace simjoin {
namespace {

// A round has so many terms or documents at most, some 200 MB, and takes about a quarter of the memory limit.
constexpr size_t terms_a_round = size_t{1} << 23;
constexpr size_t documents_a_round = size_t{1} << 19;
constexpr size_t round_share = 4;
// Documents, or clusters, that threads take at a time; for less than twice as much, waking them takes longer
// than it saves.
constexpr size_t documents_a_piece = 16;
// Documents that make a search on a GPU worth its launches (some 0.1 ms, in which a core searches for two).
constexpr size_t least_gpu_documents = 64;

// Documents that are added to a cluster's sum one after the other; of more, all terms are sorted together.
constexpr size_t documents_added_singly = 4;

// Clusters that a batch publishes at a time: what threads leave of them takes some 10 MB.
constexpr size_t clusters_a_turn = size_t{1} << 16;

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// Runs body(worker, i) for every i < count, on the pool where there is enough to do.
void for_each(WorkerPool &pool, size_t count, const std::function<void(int worker, size_t i)> &body) {
  if (count < 2 * documents_a_piece) {
    for (size_t i = 0; i < count; ++i) {
      pool.stop().check();
      body(0, i);
    }
    return;
  }
  pool.parallel((count + documents_a_piece - 1) / documents_a_piece, [&](int worker, size_t piece) {
    const size_t end = std::min(count, (piece + 1) * documents_a_piece);
    for (size_t i = piece * documents_a_piece; i < end; ++i) {
      pool.stop().check();
      body(worker, i);
    }
  });
}

void sort_by_term(std::vector<TermSum> &sums) {
  std::sort(sums.begin(), sums.end(), [](const TermSum &a, const TermSum &b) { return a.term < b.term; });
}

// Sorts the sums by term and adds up those of equal terms.
void combine(std::vector<TermSum> &sums) {
  sort_by_term(sums);
  size_t count = 0;
  for (const TermSum &sum : sums) {
    if (count > 0 && sums[count - 1].term == sum.term) {
      sums[count - 1].sum += sum.sum;
    } else {
      sums[count++] = sum;
    }
  }
  sums.resize(count);
}

void append(std::vector<TermSum> &sums, std::span<const TermSum> more) {
  sums.insert(sums.end(), more.begin(), more.end());
}

void append(std::vector<TermSum> &sums, std::span<const TermWeight> document) {
  for (const TermWeight &entry : document) sums.push_back({entry.term, entry.weight});
}

// Sets `result` to sums with a document added, all in the order of their terms.
void add(std::span<const TermSum> sums, std::span<const TermWeight> document, std::vector<TermSum> &result) {
  result.resize(sums.size() + document.size());
  TermSum *to = result.data();
  const TermSum *at = sums.data(), *const end = at + sums.size();
  for (const TermWeight &entry : document) {
    for (; at != end && at->term < entry.term; ++at) *to++ = *at;
    uint64_t sum = entry.weight;
    if (at != end && at->term == entry.term) sum += at++->sum;
    *to++ = {entry.term, sum};
  }
  to = std::copy(at, end, to);
  result.resize(static_cast<size_t>(to - result.data()));
}

// Returns how many lists the clusters of a batch share: for most batches about as many as those have terms,
// and never so many that they take much of a small memory limit.
size_t lists_of_open(const ClusterOptions &options) {
  constexpr size_t lists_a_document = 16, bytes_a_list = 128;
  constexpr size_t least = size_t{1} << 10, most = size_t{1} << 18;
  const size_t wanted = std::min(options.batch * lists_a_document, options.memory_limit / bytes_a_list);
  return std::clamp(std::bit_floor(wanted), least, most);
}

}  // namespace

DocumentClusters::DocumentClusters(const ClusterOptions &options)
    : options_(options),
      least_(std::max(1u, similarity_at_least(options.threshold))),
      terms_(memory_),
      sizes_(memory_),
      changed_(memory_),
      grown_at_(memory_),
      sums_(memory_),
      open_sums_(memory_),
      index_(memory_),
      open_(memory_, lists_of_open(options)),
      members_(memory_),
      grown_(memory_),
      pending_(memory_),
      raw_(memory_),
      ends_(memory_),
      vectors_(memory_),
      vector_sizes_(memory_),
      found_(memory_),
      clustered_(memory_),
      device_terms_(memory_),
      device_ends_(memory_) {
  memory_.set_limit(options.memory_limit,
                    {"the clusters of documents need",
                     "cluster with fewer terms a document, a lower max_terms or a lower threshold"});
  workers_.emplace_back(memory_);
}

void DocumentClusters::load(uint64_t documents, std::span<const TermSum> sum, bool open,
                            std::span<const TermSum> pending) {
  const uint32_t cluster = clusters();
  if (open ? !pending.empty() : open_.clusters() > 0)
    throw Error(ErrorKind::invalid_argument,
                "an open cluster of the stream is not one of the last, or has pending terms",
                "Rows of a stream's table may be deleted, but not changed.");
  sizes_.push_back(documents);
  changed_.push_back(0);
  grown_at_.push_back(0);
  documents_ += documents;
  Merger &merger = workers_[0].merger;
  merger.sums.assign(sum.begin(), sum.end());
  combine(merger.sums);
  if (open) {
    open_.add_cluster();
    set_open(open_.clusters() - 1, StopFlag());
    return;
  }
  finish(merger);
  sums_.add_keys(size_t{cluster} + 1);
  sums_.assign(cluster, merger.sums);
  index_.add_cluster();
  index_.set_centroid(cluster, merger.centroid);
  if (pending.empty()) return;
  grow(cluster);
  pending_.add_keys(++with_pending_);
  pending_.assign(with_pending_ - 1, pending);
}

bool DocumentClusters::full() const {
  constexpr size_t bytes_a_term = sizeof(RawTerm) + sizeof(TermWeight);
  constexpr size_t bytes_a_document =
      sizeof(size_t) + sizeof(uint32_t) + sizeof(FoundCluster) + sizeof(ClusteredDocument) + sizeof(Member);
  return raw_.size() >= terms_a_round || ends_.size() >= documents_a_round ||
         raw_.size() * bytes_a_term + ends_.size() * bytes_a_document >= options_.memory_limit / round_share;
}

bool DocumentClusters::step(std::chrono::microseconds budget) {
  if (!task_)
    task_ = std::make_unique<BackgroundTask>(options_.threads, [this](WorkerPool &pool) { run(pool); });
  if (!task_->wait(budget)) return false;
  task_.reset();
  return true;
}

void DocumentClusters::clear() {
  raw_.clear();
  ends_.clear();
}

std::span<const TermSum> DocumentClusters::sum_of(uint32_t cluster) const {
  return is_open(cluster) ? open_sums_[cluster - index_.clusters()] : sums_[cluster];
}

// Returns the sums pending for a cluster that may be this one of grown_.
std::span<const TermSum> DocumentClusters::pending_of(uint32_t grown, uint32_t cluster) const {
  if (grown >= with_pending_ || grown_[grown].cluster != cluster) return {};
  return pending_[grown];
}

void DocumentClusters::copy_sum(uint32_t cluster, TermSum *to) const {
  copy_by_weight(sum_of(cluster), to);
}

void DocumentClusters::copy_pending(uint32_t cluster, TermSum *to) const {
  copy_by_weight(pending_of(grown_at_[cluster], cluster), to);
}

void DocumentClusters::run(WorkerPool &pool) {
  while (workers_.size() < static_cast<size_t>(pool.workers())) workers_.emplace_back(memory_);
  make_vectors(pool);
  found_.resize(size());
  clustered_.resize(size());
  for (size_t begin = 0; begin < size();) {
    const uint64_t left_of_batch = options_.batch - documents_ % options_.batch;
    const size_t end = begin + std::min<uint64_t>(size() - begin, left_of_batch);
    search(begin, end, pool);
    const Clock::time_point start = Clock::now();
    for (size_t i = begin; i < end; ++i) assign(i, pool.stop());
    figures_.assign_ms += milliseconds_since(start);
    documents_ += end - begin;
    if (documents_ % options_.batch == 0) publish(pool);
    begin = end;
  }
  fold_members(pool.stop());
}

void DocumentClusters::make_vectors(WorkerPool &pool) {
  const Clock::time_point start = Clock::now();
  vectors_.resize(raw_.size());
  vector_sizes_.resize(size());
  for_each(pool, size(), [&](int worker, size_t i) {
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    vector_sizes_[i] =
        static_cast<uint32_t>(make_document_vector({raw_.data() + begin, ends_[i] - begin}, pool.stop(),
                                                   workers_[worker].vector, vectors_.data() + begin));
  });
  figures_.vectors_ms += milliseconds_since(start);
}

std::span<const TermWeight> DocumentClusters::document(size_t number) const {
  const size_t begin = number == 0 ? 0 : ends_[number - 1];
  return {vectors_.data() + begin, vector_sizes_[number]};
}

void DocumentClusters::search(size_t begin, size_t end, WorkerPool &pool) {
  const Clock::time_point start = Clock::now();
  if (!wants_gpu(end - begin) || !search_on_gpu(begin, end, pool.stop())) {
    for_each(pool, end - begin, [&](int worker, size_t i) {
      found_[begin + i] = workers_[worker].search.find(index_, document(begin + i), least_, pool.stop());
    });
    cpu_search_ms_ += milliseconds_since(start);
  }
  if (!device_) index_.mark_copied(pool.stop());  // nobody keeps a copy
  figures_.search_ms += milliseconds_since(start);
}

// Returns whether the next search runs on a GPU. Under Device::automatic that is so once the CPU has searched
// for as long as it takes to set a GPU up.
bool DocumentClusters::wants_gpu(size_t documents) const {
  if (device_) return options_.device == Device::gpu || documents >= least_gpu_documents;
  if (gpu_refused_ || (options_.device != Device::gpu && documents < least_gpu_documents)) return false;
  return use_gpu(options_.device, cpu_search_ms_, 0);
}

// Returns whether the documents have been searched for; where not, the GPU has failed and the CPU is to do
// it.
bool DocumentClusters::search_on_gpu(size_t begin, size_t end, const StopFlag &stop) {
  try {
    if (!device_) device_ = gpu_backend()->make_cluster_device(options_.gpu_memory_limit);
    figures_.gpu = true;
    device_->update(index_, stop);
    index_.mark_copied(stop);
    device_terms_.clear();
    device_ends_.clear();
    for (size_t i = begin; i < end; ++i) {
      const std::span<const TermWeight> terms = document(i);
      std::copy(terms.begin(), terms.end(), device_terms_.extend(terms.size()));
      device_ends_.push_back(device_terms_.size());
    }
    device_->find({{device_terms_.data(), device_terms_.size()}, {device_ends_.data(), device_ends_.size()}},
                  least_, found_.data() + begin, stop);
    return true;
  } catch (const Error &error) {
    notice_ = notice_of_gpu(error);
    if (!notice_ || options_.device == Device::gpu) throw;
  }
  device_.reset();
  gpu_refused_ = true;
  return false;
}

void DocumentClusters::assign(size_t number, const StopFlag &stop) {
  stop.check();
  const std::span<const TermWeight> terms = document(number);
  const FoundCluster found = found_[number];
  // The clusters of this batch are younger: they have to be more similar.
  const uint32_t least = std::max(least_, similarity_of(found) + 1);
  const FoundCluster newer =
      open_.may_have(terms, least) ? workers_[0].search.find(open_, terms, least, stop) : FoundCluster{0};
  ClusteredDocument &result = clustered_[number];
  if (newer != 0) {
    result = {index_.clusters() + cluster_of(newer), similarity_of(newer)};
    join_open(result.cluster, terms, stop);
  } else if (found != 0) {
    result = {cluster_of(found), similarity_of(found)};
    add_member(result.cluster, static_cast<uint32_t>(number));
  } else {
    result = {clusters(), 0};
    begin_cluster(terms, stop);
  }
  ++sizes_[result.cluster];
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

// Returns the cluster's place in grown_, a new one where it has none.
DocumentClusters::Grown &DocumentClusters::grow(uint32_t cluster) {
  const uint32_t at = grown_at_[cluster];
  if (at < grown_.size() && grown_[at].cluster == cluster) return grown_[at];
  changed_[cluster] = 1;
  grown_at_[cluster] = static_cast<uint32_t>(grown_.size());
  grown_.push_back({cluster, none, none, 0});
  return grown_.back();
}

void DocumentClusters::begin_cluster(std::span<const TermWeight> document, const StopFlag &stop) {
  if (clusters() == UINT32_MAX - 1)
    throw Error(ErrorKind::limit_exceeded, "there cannot be more than 4294967294 clusters");
  sizes_.push_back(0);
  changed_.push_back(1);
  grown_at_.push_back(0);
  open_.add_cluster();
  add({}, document, workers_[0].merger.sums);
  set_open(open_.clusters() - 1, stop);
}

void DocumentClusters::join_open(uint32_t cluster, std::span<const TermWeight> document,
                                 const StopFlag &stop) {
  changed_[cluster] = 1;
  add(sum_of(cluster), document, workers_[0].merger.sums);
  set_open(cluster - index_.clusters(), stop);
}

// Makes what is in the first thread's merger the sum of an open cluster.
void DocumentClusters::set_open(uint32_t open, const StopFlag &stop) {
  Merger &merger = workers_[0].merger;
  finish(merger);
  open_sums_.add_keys(size_t{open} + 1);
  open_sums_.assign(open, merger.sums);
  open_.set_centroid(open, merger.centroid, stop);
}

bool DocumentClusters::heavier(const TermSum &a, const TermSum &b) const {
  return a.sum > b.sum || (a.sum == b.sum && terms_.before(a.term, b.term));
}

// Finds the weight above which terms stay, so that those need no sorting anew; of those that have it, as
// many stay as there is room for.
void DocumentClusters::cut(Merger &merger) const {
  auto &[sums, scratch, values, ties, centroid] = merger;
  const size_t most = options_.max_terms;
  if (sums.size() <= most) return;
  values.clear();
  for (const TermSum &sum : sums) values.push_back(sum.sum);
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(most - 1), values.end(),
                   std::greater<>());
  const uint64_t least = values[most - 1];
  size_t heavier = 0;
  ties.clear();
  for (const TermSum &sum : sums) {
    heavier += sum.sum > least;
    if (sum.sum == least) ties.push_back(sum.term);
  }
  const auto before = [this](uint32_t a, uint32_t b) { return terms_.before(a, b); };
  const auto last = ties.begin() + static_cast<ptrdiff_t>(most - heavier - 1);
  const bool all = last + 1 == ties.end();
  if (!all) std::nth_element(ties.begin(), last, ties.end(), before);
  std::erase_if(sums, [&](const TermSum &sum) {
    return sum.sum < least || (!all && sum.sum == least && before(*last, sum.term));
  });
}

void DocumentClusters::finish(Merger &merger) const {
  cut(merger);
  merger.centroid.resize(merger.sums.size());
  merger.centroid.resize(make_unit_vector(merger.sums, merger.centroid.data()));
}

void DocumentClusters::copy_by_weight(std::span<const TermSum> sums, TermSum *to) const {
  std::copy(sums.begin(), sums.end(), to);
  std::sort(to, to + sums.size(), [this](const TermSum &a, const TermSum &b) { return heavier(a, b); });
}

// Ends the batch: its documents count from now on.
void DocumentClusters::publish(WorkerPool &pool) {
  const Clock::time_point start = Clock::now();
  make_room_for_open(pool.stop());
  const size_t count = grown_.size() + open_.clusters();
  for (size_t begin = 0; begin < count; begin += clusters_a_turn)
    publish_some(begin, std::min(count, begin + clusters_a_turn), pool);
  open_.clear(pool.stop());
  for (uint32_t i = 0; i < with_pending_; ++i) pending_.truncate(i, 0);
  with_pending_ = 0;
  grown_.clear();
  members_.clear();
  figures_.publish_ms += milliseconds_since(start);
}

// Threads make what is new of these clusters, which are first those that have grown, then those that the
// batch has begun, and store it where there is room; the rest is done in their order.
void DocumentClusters::publish_some(size_t begin, size_t end, WorkerPool &pool) {
  const size_t pieces = (end - begin + documents_a_piece - 1) / documents_a_piece;
  if (published_.size() < pieces) published_.resize(pieces);
  for_each(pool, end - begin, [&](int worker, size_t i) {
    Published &published = published_[i / documents_a_piece];
    if (begin + i < grown_.size()) {
      publish_grown(begin + i, workers_[worker].merger, published);
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
  for (uint32_t i = 0; i < open_.clusters(); ++i) {
    stop.check();
    changed_[first + i] = 1;
    sums_.reserve(first + i, open_sums_[i].size());
    index_.add_cluster(open_.centroid(i).size());
  }
}

void DocumentClusters::publish_grown(size_t number, Merger &merger, Published &published) {
  const Grown &grown = grown_[number];
  const std::span<const TermSum> sum = sums_[grown.cluster];
  const std::span<const TermSum> pending = pending_of(static_cast<uint32_t>(number), grown.cluster);
  uint32_t at = grown.first;
  if (pending.empty() && grown.members <= documents_added_singly) {
    add(sum, document(members_[at].document), merger.sums);
    while ((at = members_[at].next) != none) {
      merger.scratch.swap(merger.sums);
      add(merger.scratch, document(members_[at].document), merger.sums);
    }
  } else {
    merger.sums.assign(sum.begin(), sum.end());
    append(merger.sums, pending);
    for (; at != none; at = members_[at].next) append(merger.sums, document(members_[at].document));
    combine(merger.sums);
  }
  finish(merger);
  if (!sums_.assign_in_place(grown.cluster, merger.sums))
    published.sums.push_back({grown.cluster, merger.sums});
  index_.prepare_centroid(grown.cluster, merger.centroid, published.change);
}

void DocumentClusters::publish_open(uint32_t open, Published &published) {
  const uint32_t cluster = clusters() - open_.clusters() + open;
  sums_.assign_in_place(cluster, open_sums_[open]);
  index_.prepare_centroid(cluster, open_.centroid(open), published.change);
}

// Adds the members of the batch under way to what is pending, so that the round's documents can go.
void DocumentClusters::fold_members(const StopFlag &stop) {
  std::vector<TermSum> &sums = workers_[0].merger.sums;
  pending_.add_keys(grown_.size());
  for (uint32_t i = 0; i < grown_.size(); ++i) {
    stop.check();
    Grown &grown = grown_[i];
    if (grown.first == none) continue;
    const std::span<const TermSum> pending = pending_of(i, grown.cluster);
    sums.assign(pending.begin(), pending.end());
    for (uint32_t at = grown.first; at != none; at = members_[at].next)
      append(sums, document(members_[at].document));
    combine(sums);
    pending_.assign(i, sums);
    grown.first = grown.last = none;
    grown.members = 0;
  }
  with_pending_ = static_cast<uint32_t>(grown_.size());
  members_.clear();
}

}  // namespace simjoin
