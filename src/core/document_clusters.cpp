#include "core/document_clusters.hpp"

#include <algorithm>
#include <functional>

#include "core/device_work.hpp"
#include "core/error.hpp"
#include "core/gpu.hpp"

namespace simjoin {
namespace {

// A round has so many terms or documents at most: some 200 MB.
constexpr size_t terms_a_round = size_t{1} << 23;
constexpr size_t documents_a_round = size_t{1} << 19;
// Work that threads take at a time; for less than twice as much, waking them takes longer than it saves.
constexpr size_t documents_a_piece = 16;
// Documents that make a search on a GPU worth its launches (some 0.1 ms, in which a core searches for two).
constexpr size_t least_gpu_documents = 64;

// Documents that are added to a cluster's sum one after the other; of more, all terms are sorted together.
constexpr size_t documents_added_singly = 4;

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

// Adds a document to sums in the order of their terms, and keeps that order. `scratch` gets any content.
void add(std::vector<TermSum> &sums, std::span<const TermWeight> document, std::vector<TermSum> &scratch) {
  scratch.clear();
  auto at = sums.begin();
  for (const TermWeight &entry : document) {
    for (; at != sums.end() && at->term < entry.term; ++at) scratch.push_back(*at);
    uint64_t sum = entry.weight;
    if (at != sums.end() && at->term == entry.term) sum += at++->sum;
    scratch.push_back({entry.term, sum});
  }
  scratch.insert(scratch.end(), at, sums.end());
  sums.swap(scratch);
}

}  // namespace

DocumentClusters::DocumentClusters(const ClusterOptions &options)
    : options_(options),
      least_(std::max(1u, similarity_at_least(options.threshold))),
      terms_(memory_),
      sums_(memory_),
      index_(memory_),
      open_(memory_),
      raw_(memory_),
      ends_(memory_),
      vectors_(memory_),
      vector_ends_(memory_),
      searches_(1) {}

void DocumentClusters::load(uint64_t documents, std::span<const TermSum> sum, bool open,
                            std::span<const TermSum> pending) {
  const uint32_t cluster = clusters();
  if (open ? !pending.empty() : open_.clusters() > 0)
    throw Error(ErrorKind::invalid_argument,
                "an open cluster of the stream is not one of the last, or has pending terms",
                "Rows of a stream's table may be deleted, but not changed.");
  sizes_.push_back(documents);
  changed_.push_back(false);
  documents_ += documents;
  merger_.sums.assign(sum.begin(), sum.end());
  combine(merger_.sums);
  finish(merger_);
  sums_.add_keys(size_t{cluster} + 1);
  sums_.assign(cluster, merger_.sums);
  ClusterIndex &index = open ? open_ : index_;
  index.add_cluster();
  index.set_centroid(index.clusters() - 1, merger_.centroid);
  if (!pending.empty()) pending_[cluster].assign(pending.begin(), pending.end());
}

bool DocumentClusters::full() const {
  return raw_.size() >= terms_a_round || ends_.size() >= documents_a_round;
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

size_t DocumentClusters::pending_size(uint32_t cluster) const {
  const auto found = pending_.find(cluster);
  return found == pending_.end() ? 0 : found->second.size();
}

void DocumentClusters::copy_sum(uint32_t cluster, TermSum *to) const {
  copy_by_weight(sums_[cluster], to);
}

void DocumentClusters::copy_pending(uint32_t cluster, TermSum *to) const {
  if (const auto found = pending_.find(cluster); found != pending_.end()) copy_by_weight(found->second, to);
}

void DocumentClusters::run(WorkerPool &pool) {
  if (searches_.size() < static_cast<size_t>(pool.workers())) searches_.resize(pool.workers());
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
  fold_members();
}

void DocumentClusters::make_vectors(WorkerPool &pool) {
  const Clock::time_point start = Clock::now();
  vectors_.resize(raw_.size());
  vector_ends_.resize(size());
  for_each(pool, size(), [&](int, size_t i) {
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    vector_ends_[i] =
        make_document_vector({raw_.data() + begin, ends_[i] - begin}, pool.stop(), vectors_.data() + begin);
  });
  // So far each stands where it was, with as many terms as it has left.
  size_t end = 0;
  for (size_t i = 0; i < size(); ++i) {
    const TermWeight *from = vectors_.data() + (i == 0 ? 0 : ends_[i - 1]);
    std::copy_n(from, vector_ends_[i], vectors_.data() + end);
    end += vector_ends_[i];
    vector_ends_[i] = end;
  }
  figures_.vectors_ms += milliseconds_since(start);
}

std::span<const TermWeight> DocumentClusters::document(size_t number) const {
  const uint64_t begin = number == 0 ? 0 : vector_ends_[number - 1];
  return {vectors_.data() + begin, static_cast<size_t>(vector_ends_[number] - begin)};
}

void DocumentClusters::search(size_t begin, size_t end, WorkerPool &pool) {
  const Clock::time_point start = Clock::now();
  if (!wants_gpu(end - begin) || !search_on_gpu(begin, end, pool.stop())) {
    for_each(pool, end - begin, [&](int worker, size_t i) {
      found_[begin + i] = searches_[worker].find(index_, document(begin + i), least_, pool.stop());
    });
    cpu_search_ms_ += milliseconds_since(start);
  }
  if (!device_) index_.mark_copied();  // nobody keeps a copy
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
    index_.mark_copied();
    const uint64_t first = begin == 0 ? 0 : vector_ends_[begin - 1];
    DocumentVectors documents;
    documents.terms = {vectors_.data() + first, static_cast<size_t>(vector_ends_[end - 1] - first)};
    std::vector<uint64_t> ends(vector_ends_.begin() + begin, vector_ends_.begin() + end);
    for (uint64_t &each : ends) each -= first;
    documents.ends = ends;
    device_->find(documents, least_, found_.data() + begin, stop);
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
  const std::span<const TermWeight> terms = document(number);
  const FoundCluster found = found_[number];
  // The clusters of this batch are younger: they have to be more similar.
  const uint32_t least = std::max(least_, similarity_of(found) + 1);
  const FoundCluster newer =
      open_.may_have(terms, least) ? searches_[0].find(open_, terms, least, stop) : FoundCluster{0};
  ClusteredDocument &result = clustered_[number];
  if (newer != 0) {
    result = {index_.clusters() + cluster_of(newer), similarity_of(newer)};
    join_open(result.cluster, terms);
  } else if (found != 0) {
    result = {cluster_of(found), similarity_of(found)};
    members_.push_back({result.cluster, static_cast<uint32_t>(number)});
  } else {
    result = {clusters(), 0};
    begin_cluster(terms);
  }
  ++sizes_[result.cluster];
  changed_[result.cluster] = true;
}

void DocumentClusters::begin_cluster(std::span<const TermWeight> document) {
  const uint32_t cluster = clusters();
  if (cluster == UINT32_MAX - 1)
    throw Error(ErrorKind::limit_exceeded, "there cannot be more than 4294967294 clusters");
  open_.add_cluster();
  sizes_.push_back(0);
  changed_.push_back(true);
  sums_.add_keys(size_t{cluster} + 1);
  join_open(cluster, document);
}

void DocumentClusters::join_open(uint32_t cluster, std::span<const TermWeight> document) {
  merger_.sums.clear();
  append(merger_.sums, sums_[cluster]);
  add(merger_.sums, document, merger_.scratch);
  finish(merger_);
  sums_.assign(cluster, merger_.sums);
  open_.set_centroid(cluster - index_.clusters(), merger_.centroid);
}

bool DocumentClusters::heavier(const TermSum &a, const TermSum &b) const {
  return a.sum > b.sum || (a.sum == b.sum && terms_.before(a.term, b.term));
}

void DocumentClusters::finish(Merger &merger) const {
  std::vector<TermSum> &sums = merger.sums;
  if (const size_t most = options_.max_terms; sums.size() > most) {
    std::nth_element(sums.begin(), sums.begin() + static_cast<ptrdiff_t>(most), sums.end(),
                     [this](const TermSum &a, const TermSum &b) { return heavier(a, b); });
    sums.resize(most);
    sort_by_term(sums);
  }
  merger.centroid.resize(sums.size());
  merger.centroid.resize(make_unit_vector(sums, merger.centroid.data()));
}

void DocumentClusters::copy_by_weight(std::span<const TermSum> sums, TermSum *to) const {
  std::copy(sums.begin(), sums.end(), to);
  std::sort(to, to + sums.size(), [this](const TermSum &a, const TermSum &b) { return heavier(a, b); });
}

// Returns the clusters that the batch has brought documents, with these.
std::vector<DocumentClusters::Grown> DocumentClusters::grown_clusters() {
  std::sort(members_.begin(), members_.end());
  std::vector<Grown> grown;
  auto pending = pending_.begin();
  const auto add_pending_below = [&](uint64_t cluster) {
    for (; pending != pending_.end() && pending->first < cluster; ++pending)
      grown.push_back({pending->first, 0, 0, &pending->second});
  };
  for (size_t begin = 0; begin < members_.size();) {
    const uint32_t cluster = members_[begin].cluster;
    size_t end = begin;
    while (end < members_.size() && members_[end].cluster == cluster) ++end;
    add_pending_below(cluster);
    grown.push_back({cluster, begin, end, nullptr});
    if (pending != pending_.end() && pending->first == cluster) grown.back().pending = &pending++->second;
    begin = end;
  }
  add_pending_below(UINT64_MAX);
  return grown;
}

// Ends the batch: its documents count from now on.
void DocumentClusters::publish(WorkerPool &pool) {
  const Clock::time_point start = Clock::now();
  const std::vector<Grown> grown = grown_clusters();
  if (grown_.size() < grown.size()) grown_.resize(grown.size());
  for_each(pool, grown.size(), [&](int, size_t i) {
    const auto &[cluster, begin, end, pending] = grown[i];
    Merger &merger = grown_[i];
    merger.sums.clear();
    append(merger.sums, sums_[cluster]);
    if (pending == nullptr && end - begin <= documents_added_singly) {
      for (size_t member = begin; member < end; ++member)
        add(merger.sums, document(members_[member].document), merger.scratch);
    } else {
      if (pending != nullptr) append(merger.sums, *pending);
      for (size_t member = begin; member < end; ++member)
        append(merger.sums, document(members_[member].document));
      combine(merger.sums);
    }
    finish(merger);
    merger.stored = sums_.assign_in_place(cluster, merger.sums);
    index_.prepare_centroid(cluster, merger.centroid, merger.change);
  });
  for (size_t i = 0; i < grown.size(); ++i) {
    pool.stop().check();
    const uint32_t cluster = grown[i].cluster;
    if (!grown_[i].stored) sums_.assign(cluster, grown_[i].sums);
    index_.set_centroid(cluster, grown_[i].centroid, grown_[i].change);
    changed_[cluster] = true;
  }
  for (uint32_t i = 0; i < open_.clusters(); ++i) {
    pool.stop().check();
    changed_[index_.clusters()] = true;
    index_.add_cluster();
    index_.set_centroid(index_.clusters() - 1, open_.centroid(i));
  }
  open_.clear();
  members_.clear();
  pending_.clear();
  figures_.publish_ms += milliseconds_since(start);
}

// Adds the members of the batch under way to what is pending, so that the round's documents can go.
void DocumentClusters::fold_members() {
  for (const Member &member : members_) append(pending_[member.cluster], document(member.document));
  for (auto &[cluster, sums] : pending_) combine(sums);
  members_.clear();
}

}  // namespace simjoin
