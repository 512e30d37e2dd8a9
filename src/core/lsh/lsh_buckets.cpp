#include "core/lsh/lsh_buckets.hpp"

#include <algorithm>
#include <utility>

namespace simjoin {
namespace {

constexpr size_t keys_per_piece = 4096;
constexpr uint32_t no_row = UINT32_MAX;

}  // namespace

LshBuckets::LshBuckets(const LshRows &rows, const LshSpec &spec, int workers, size_t loaded_bytes,
                       LargeRows &large, Visit visit, MemoryCounter &memory)
    : rows_(rows),
      self_join_(spec.self_join),
      max_bucket_size_(std::max<uint32_t>(spec.max_bucket_size, 1)),
      visit_(std::move(visit)),
      large_(large),
      chained_(memory),
      new_chained_(memory) {
  for (int i = 0; i < workers; ++i)
    workers_.push_back({LshLoader(rows, loaded_bytes, memory), LshLoader(rows, loaded_bytes, memory),
                        spec.counts_tokens() ? std::make_unique<LshFilter>(spec) : nullptr});
}

void LshBuckets::visit_keys(std::span<const SortKey> keys, WorkerPool &pool) {
  const size_t n = keys.size();
  const auto begins_bucket = [&](size_t i) { return i == 0 || keys[i].hi != keys[i - 1].hi; };
  pool.parallel((n + keys_per_piece - 1) / keys_per_piece, [&](int worker, size_t piece) {
    const size_t piece_end = std::min(n, (piece + 1) * keys_per_piece);
    size_t begin = piece * keys_per_piece;
    // A bucket belongs to the piece in which it begins.
    while (begin < piece_end && !begins_bucket(begin)) ++begin;
    while (begin < piece_end) {
      size_t end = begin + 1;
      while (end < n && !begins_bucket(end)) ++end;
      if (end - begin > 1) visit_bucket(keys.subspan(begin, end - begin), worker, pool.stop());
      begin = end;
    }
  });
}

void LshBuckets::end_band() {
  std::sort(new_chained_.begin(), new_chained_.end(),
            [](const Chained &a, const Chained &b) { return a.hash < b.hash; });
  std::copy(new_chained_.begin(), new_chained_.end(), chained_.extend(new_chained_.size()));
  new_chained_.clear();
  chained_ends_.push_back(chained_.size());
  ++band_;
}

// Returns the number of pairs of a bucket with `all` rows, `left` of them left ones.
uint64_t LshBuckets::pairs_of(size_t left, size_t all) const {
  return self_join_ ? uint64_t{all} * (all - 1) / 2 : uint64_t{left} * (all - left);
}

// Returns the number of left rows among `rows`, which ascend.
size_t LshBuckets::count_left(std::span<const SortKey> rows) const {
  const auto is_left = [&](const SortKey &key) { return row_of(key) < rows_.left_rows(); };
  return static_cast<size_t>(std::partition_point(rows.begin(), rows.end(), is_left) - rows.begin());
}

void LshBuckets::visit_bucket(std::span<const SortKey> bucket, int worker, const StopFlag &stop) {
  stop.check();
  const size_t left = count_left(bucket);
  const uint64_t pairs = pairs_of(left, bucket.size());
  if (pairs == 0) return;
  if (is_chained(bucket.size())) {
    const Chained chained = {bucket[0].hi, row_of(bucket[0]), self_join_ ? no_row : row_of(bucket[left])};
    chain(chained, left, bucket.size());
    return visit_chained(chained, bucket, worker, stop);
  }
  comparisons_.fetch_add(pairs, std::memory_order_relaxed);
  if (self_join_)
    visit_among(bucket, worker, stop);
  else
    visit_pairs(bucket.first(left), bucket.subspan(left), worker, stop);
}

void LshBuckets::visit_large(const LshKeys &keys, const LshKeys::Range &range, WorkerPool &pool) {
  size_t left = 0;
  Chained bucket = {range.first, no_row, no_row};
  pool.parallel(rows_.pieces(), [&](int, size_t piece) {
    const Buffer<SortKey> rows = keys.keys_of_piece(band_, range, piece);
    if (rows.empty()) return;
    const size_t left_here = count_left({rows.data(), rows.size()});
    const std::lock_guard lock(mutex_);
    left += left_here;
    bucket.first = std::min(bucket.first, row_of(rows[0]));
    if (left_here < rows.size()) bucket.right = std::min(bucket.right, row_of(rows[left_here]));
  });
  if (pairs_of(left, range.rows) == 0) return;
  chain(bucket, left, range.rows);
  pool.parallel(rows_.pieces(), [&](int worker, size_t piece) {
    const Buffer<SortKey> rows = keys.keys_of_piece(band_, range, piece);
    visit_chained(bucket, {rows.data(), rows.size()}, worker, pool.stop());
  });
}

// Notes a chained bucket with `all` rows, `left` of them left ones.
void LshBuckets::chain(const Chained &bucket, size_t left, size_t all) {
  const uint64_t pairs = pairs_of(left, all);
  comparisons_.fetch_add(pairs, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  new_chained_.push_back(bucket);
  ++chained_stats_.chained_buckets;
  chained_stats_.note_size({all, pairs});
}

// Visits the pairs of some rows of a chained bucket with its first ones.
void LshBuckets::visit_chained(const Chained &bucket, std::span<const SortKey> rows, int worker,
                               const StopFlag &stop) {
  const SortKey first = {bucket.first, bucket.hash}, right = {bucket.right, bucket.hash};
  const size_t itself = !rows.empty() && row_of(rows[0]) == bucket.first ? 1 : 0;
  if (self_join_) return visit_pairs({&first, 1}, rows.subspan(itself), worker, stop);
  const size_t left = count_left(rows);
  visit_pairs({&first, 1}, rows.subspan(left), worker, stop);
  visit_pairs(rows.first(left).subspan(itself), {&right, 1}, worker, stop);
}

// Visits the pairs of left rows with right ones.
void LshBuckets::visit_pairs(std::span<const SortKey> left, std::span<const SortKey> right, int worker,
                             const StopFlag &stop) {
  if (left.empty() || right.empty()) return;
  LshLoader &l_rows = workers_[static_cast<size_t>(worker)].left;
  LshLoader &r_rows = workers_[static_cast<size_t>(worker)].right;
  std::unique_lock lock(large_, std::defer_lock);
  if (l_rows.any_large(left) || r_rows.any_large(right)) lock.lock();
  while (!left.empty()) {
    left = left.subspan(l_rows.load(left));
    for (std::span<const SortKey> rest = right; !rest.empty();) {
      rest = rest.subspan(r_rows.load(rest));
      visit_loaded(l_rows.rows(), r_rows.rows(), worker, stop);
    }
  }
  l_rows.forget_large();
  r_rows.forget_large();
}

// Visits the pairs of left rows with right ones, or, where they are the same, among themselves.
void LshBuckets::visit_loaded(std::span<const LshRow> left, std::span<const LshRow> right, int worker,
                              const StopFlag &stop) {
  LshFilter *const filter = workers_[static_cast<size_t>(worker)].filter.get();
  const bool same = left.data() == right.data();
  for (size_t begin = 0; begin < right.size(); begin += LshFilter::most_rows) {
    const std::span<const LshRow> tile =
        right.subspan(begin, std::min(LshFilter::most_rows, right.size() - begin));
    if (filter != nullptr) filter->load(tile);
    for (size_t l = 0; l < (same ? begin + tile.size() : left.size()); ++l) {
      stop.check();
      const size_t first = same && l >= begin ? l + 1 - begin : 0;
      if (filter != nullptr) {
        for (const uint32_t r : filter->near(left[l], first)) visit_pair(worker, left[l], tile[r]);
      } else {
        for (size_t r = first; r < tile.size(); ++r) visit_pair(worker, left[l], tile[r]);
      }
    }
  }
}

// Visits the pairs of rows among themselves.
void LshBuckets::visit_among(std::span<const SortKey> rows, int worker, const StopFlag &stop) {
  LshLoader &loader = workers_[static_cast<size_t>(worker)].left;
  while (!rows.empty()) {
    std::unique_lock lock(large_, std::defer_lock);
    if (loader.any_large(rows)) lock.lock();
    const size_t count = loader.load(rows);
    visit_loaded(loader.rows(), loader.rows(), worker, stop);
    visit_pairs(rows.first(count), rows.subspan(count), worker, stop);
    loader.forget_large();
    rows = rows.subspan(count);
  }
}

// Returns whether an earlier band has visited the pair. That is so if the rows shared a bucket of it that was
// not chained, or if one of them was the representative of a chained one.
bool LshBuckets::visited_before(const LshRow &l, const LshRow &r) const {
  for (uint32_t band = 0; band < band_; ++band) {
    if (l.hashes[band] != r.hashes[band]) continue;
    const Chained *const begin = chained_.begin() + (band == 0 ? 0 : chained_ends_[band - 1]);
    const Chained *const end = chained_.begin() + chained_ends_[band];
    const Chained *const bucket =
        std::lower_bound(begin, end, l.hashes[band],
                         [](const Chained &chained, uint64_t hash) { return chained.hash < hash; });
    if (bucket == end || bucket->hash != l.hashes[band]) return true;
    if (l.number == bucket->first || r.number == bucket->right) return true;
  }
  return false;
}

LshStats &LshStats::operator+=(const LshStats &other) {
  comparisons += other.comparisons;
  candidates += other.candidates;
  left_out += other.left_out;
  output += other.output;
  chained_buckets += other.chained_buckets;
  for (const ChainedBucket &bucket : other.largest) note_size(bucket);
  return *this;
}

void LshStats::note_size(const ChainedBucket &bucket) {
  ChainedBucket smaller = bucket;
  for (ChainedBucket &known : largest)
    if (smaller > known) std::swap(smaller, known);
}

LshStats LshBuckets::stats() const {
  LshStats stats = chained_stats_;
  stats.comparisons = comparisons_;
  return stats;
}

}  // namespace simjoin
