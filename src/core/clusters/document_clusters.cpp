#include "core/clusters/document_clusters.hpp"

#include <algorithm>
#include <bit>
#include <functional>

#include "core/base/error.hpp"
#include "core/clusters/cluster_relations.hpp"
#include "core/device/device_work.hpp"
#include "core/device/gpu.hpp"

namespace simjoin {
namespace {

// A round has so many terms or documents at most, some 200 MB, and takes about a quarter of the memory limit.
constexpr size_t terms_a_round = size_t{1} << 23;
constexpr size_t documents_a_round = size_t{1} << 19;
constexpr size_t round_share = 4;
// Documents, or clusters, that threads take at a time; for less than twice as much, waking them takes longer
// than it saves.
constexpr size_t documents_a_piece = 16;
// The same of groups of related documents, of which most have more than one.
constexpr size_t groups_a_piece = 4;
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

// Runs body(worker, i) for every i < count, on the pool where that is at least two pieces.
void for_each(WorkerPool &pool, size_t count, size_t piece,
              const std::function<void(int worker, size_t i)> &body) {
  if (count < 2 * piece) {
    for (size_t i = 0; i < count; ++i) {
      pool.stop().check();
      body(0, i);
    }
    return;
  }
  pool.parallel((count + piece - 1) / piece, [&](int worker, size_t number) {
    const size_t end = std::min(count, (number + 1) * piece);
    for (size_t i = number * piece; i < end; ++i) {
      pool.stop().check();
      body(worker, i);
    }
  });
}

// Returns how many lists the clusters of a batch share that one of `workers` has: for most batches about as
// many as those have terms, and never so many that they take much of a small memory limit.
size_t lists_of_open(const ClusterOptions &options, size_t workers) {
  constexpr size_t lists_a_document = 16, bytes_a_list = 128;
  constexpr size_t least = size_t{1} << 10, most = size_t{1} << 18;
  const size_t wanted = std::min(options.batch * lists_a_document, options.memory_limit / bytes_a_list);
  return std::clamp(std::bit_floor(wanted / workers), least, most);
}

}  // namespace

DocumentClusters::DocumentClusters(const ClusterOptions &options)
    : options_(options),
      least_(std::max(1u, similarity_at_least(options.threshold))),
      terms_(memory_),
      order_(terms_, options.max_terms),
      sizes_(memory_),
      changed_(memory_),
      grown_at_(memory_),
      sums_(memory_),
      index_(memory_),
      opens_(memory_),
      members_(memory_),
      grown_(memory_),
      pending_(memory_),
      raw_(memory_),
      ends_(memory_),
      vectors_(memory_),
      vector_sizes_(memory_),
      found_(memory_),
      clustered_(memory_),
      groups_(memory_),
      reaches_(memory_),
      grouped_(memory_),
      beginning_(memory_),
      joined_(memory_) {
  memory_.set_limit(options.memory_limit,
                    {"the clusters of documents need",
                     "cluster with fewer terms a document, a lower max_terms or a lower threshold"});
  workers_.emplace_back(memory_, order_, lists_of_open(options_, 1));
}

void DocumentClusters::load(uint64_t documents, std::span<const TermSum> sum, bool open,
                            std::span<const TermSum> pending) {
  const uint32_t cluster = clusters();
  if (open ? !pending.empty() : opens_.size() > 0)
    throw Error(ErrorKind::invalid_argument,
                "an open cluster of the stream is not one of the last, or has pending terms",
                "Rows of a stream's table may be deleted, but not changed.");
  add_cluster();
  sizes_[cluster] = documents;
  documents_ += documents;
  Worker &worker = workers_[0];
  worker.sum.set(sum);
  worker.sum.combine(StopFlag());
  worker.sum.finish();
  if (open) {
    worker.open.add(worker.sum, StopFlag());
    add_open({0, worker.open.size() - 1});
    return;
  }
  sums_.add_keys(size_t{cluster} + 1);
  sums_.assign(cluster, worker.sum.sums());
  index_.add_cluster();
  index_.set_centroid(cluster, worker.sum.centroid());
  if (pending.empty()) return;
  grow(cluster);
  pending_.add_keys(++with_pending_);
  pending_.assign(with_pending_ - 1, pending);
}

bool DocumentClusters::full() const {
  constexpr size_t bytes_a_term = sizeof(RawTerm) + sizeof(TermWeight);
  constexpr size_t bytes_a_document = sizeof(size_t) + 4 * sizeof(uint32_t) + sizeof(FoundCluster) +
                                      sizeof(ClusteredDocument) + sizeof(Member) + sizeof(Grouped) +
                                      sizeof(Open);
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
  if (!is_open(cluster)) return sums_[cluster];
  const Open open = opens_[cluster - index_.clusters()];
  return workers_[open.worker].open.sum(open.number);
}

// Returns the sums pending for a cluster that may be this one of grown_.
std::span<const TermSum> DocumentClusters::pending_of(uint32_t grown, uint32_t cluster) const {
  if (grown >= with_pending_ || grown_[grown].cluster != cluster) return {};
  return pending_[grown];
}

void DocumentClusters::copy_sum(uint32_t cluster, TermSum *to) const {
  order_.copy_by_weight(sum_of(cluster), to);
}

void DocumentClusters::copy_pending(uint32_t cluster, TermSum *to) const {
  order_.copy_by_weight(pending_of(grown_at_[cluster], cluster), to);
}

void DocumentClusters::run(WorkerPool &pool) {
  const auto workers = static_cast<size_t>(pool.workers());
  while (workers_.size() < workers) workers_.emplace_back(memory_, order_, lists_of_open(options_, workers));
  make_vectors(pool);
  found_.resize(size());
  clustered_.resize(size());
  for (size_t begin = 0; begin < size();) {
    const uint64_t left_of_batch = options_.batch - documents_ % options_.batch;
    const size_t end = begin + std::min<uint64_t>(size() - begin, left_of_batch);
    search(begin, end, pool);
    assign(begin, end, pool);
    documents_ += end - begin;
    if (documents_ % options_.batch == 0) publish(pool);
    begin = end;
  }
  fold_members(pool.stop());
  gather_open(pool.stop());
}

void DocumentClusters::make_vectors(WorkerPool &pool) {
  const Clock::time_point start = Clock::now();
  vectors_.resize(raw_.size());
  vector_sizes_.resize(size());
  for_each(pool, size(), documents_a_piece, [&](int worker, size_t i) {
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

// The documents of the round from `begin` to `end`, as they are, with their reaches where groups are wanted.
DocumentVectors DocumentClusters::documents(size_t begin, size_t end) const {
  const size_t before = begin == 0 ? 0 : ends_[begin - 1];
  return {{vectors_.data() + before, ends_[end - 1] - before},
          {ends_.data() + begin, end - begin},
          before,
          {vector_sizes_.data() + begin, end - begin},
          {reaches_.data(), reaches_.size()}};
}

void DocumentClusters::search(size_t begin, size_t end, WorkerPool &pool) {
  const Clock::time_point start = Clock::now();
  groups_.clear();
  if (!wants_gpu(end - begin) || !search_on_gpu(begin, end, pool)) {
    for_each(pool, end - begin, documents_a_piece, [&](int worker, size_t i) {
      found_[begin + i] = workers_[worker].search.find(index_, document(begin + i), least_, pool.stop());
    });
    cpu_search_ms_ += milliseconds_since(start);
  }
  figures_.search_ms += milliseconds_since(start);
}

// Returns whether the next search runs on a GPU. Under Device::automatic that is so once the CPU has searched
// for as long as it takes to set a GPU up.
bool DocumentClusters::wants_gpu(size_t documents) {
  if (device_) return true;
  if (gpu_failed_) return false;
  if (options_.device == Device::automatic && documents < least_gpu_documents) {
    use_.refused = no_gpu_reason();
    if (use_.refused.empty()) use_.refused = "the batches have too few documents";
    return false;
  }
  return use_gpu(options_.device, cpu_search_ms_, 0, &use_.refused);
}

// Returns whether the documents have been searched for; where not, the GPU has failed and the CPU is to do
// it.
bool DocumentClusters::search_on_gpu(size_t begin, size_t end, WorkerPool &pool) {
  const StopFlag &stop = pool.stop();
  try {
    if (!device_) {
      device_ = gpu_backend()->make_cluster_device(options_.gpu_memory_limit);
      index_.give_lists_away();
    }
    use_.gpu = true;
    device_->update(index_, stop);
    index_.mark_copied();
    // Clusters of the batch that are there already any document may join.
    if (end - begin > 1 && opens_.size() == 0) groups_.resize(end - begin);
    reaches_.resize(groups_.size());
    for_each(pool, reaches_.size(), documents_a_piece, [&](int worker, size_t i) {
      reaches_[i] = reach_of(document(begin + i), options_.max_terms, least_, workers_[worker].squares);
    });
    device_->find(documents(begin, end), least_, found_.data() + begin,
                  groups_.size() == 0 ? nullptr : groups_.data(), stop);
    return true;
  } catch (const Error &error) {
    notice_ = notice_of_gpu(error);
    if (!notice_ || options_.device == Device::gpu) throw;
    use_.refused = error.what();
  }
  groups_.clear();
  if (device_) index_.take_lists_back(stop);
  device_.reset();
  gpu_failed_ = true;
  return false;
}

void DocumentClusters::assign(size_t begin, size_t end, WorkerPool &pool) {
  const Clock::time_point start = Clock::now();
  joined_.resize(end - begin);
  if (groups_.size() > 0) {
    assign_groups(begin, end - begin, pool);
  } else {
    for (size_t i = begin; i < end; ++i) joined_[i - begin] = assign_document(i, 0, pool.stop());
  }
  number(begin, end);
  figures_.assign_ms += milliseconds_since(start);
}

// Assigns group by group, side by side. A group of which every document has found something begins no
// cluster.
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
  for_each(pool, beginning_.size(), groups_a_piece, [&](int worker, size_t group) {
    workers_[worker].open.begin_group();
    for (uint32_t i = beginning_[group]; i != none; i = grouped_[i].next)
      joined_[i] = assign_document(begin + i, static_cast<uint32_t>(worker), pool.stop());
  });
}

// Lets a document join the most similar cluster of the index and of the worker's, or begin one of the
// worker's. Returns which of those it is; none where it is one of the index.
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
}

// Makes a worker's cluster the last of the open ones.
void DocumentClusters::add_open(Open open) {
  Buffer<uint32_t> &numbers = workers_[open.worker].numbers;
  while (numbers.size() <= open.number) numbers.push_back(none);
  numbers[open.number] = static_cast<uint32_t>(opens_.size());
  opens_.push_back(open);
}

// Makes the open clusters one group, that of the first worker, in their order: any document of the next round
// may join them.
void DocumentClusters::gather_open(const StopFlag &stop) {
  if (!opens_are_spread_) return;
  OpenClusters gathered(memory_, lists_of_open(options_, 1));
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

// Returns the cluster's place in grown_, a new one where it has none.
DocumentClusters::Grown &DocumentClusters::grow(uint32_t cluster) {
  const uint32_t at = grown_at_[cluster];
  if (at < grown_.size() && grown_[at].cluster == cluster) return grown_[at];
  changed_[cluster] = 1;
  grown_at_[cluster] = static_cast<uint32_t>(grown_.size());
  grown_.push_back({cluster, none, none, 0});
  return grown_.back();
}

// Ends the batch: its documents count from now on.
void DocumentClusters::publish(WorkerPool &pool) {
  const Clock::time_point start = Clock::now();
  make_room_for_open(pool.stop());
  const size_t count = grown_.size() + opens_.size();
  for (size_t begin = 0; begin < count; begin += clusters_a_turn)
    publish_some(begin, std::min(count, begin + clusters_a_turn), pool);
  forget_open(pool.stop());
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
  for_each(pool, end - begin, documents_a_piece, [&](int worker, size_t i) {
    Published &published = published_[i / documents_a_piece];
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

// Adds the members of the batch under way to what is pending, so that the round's documents can go.
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
