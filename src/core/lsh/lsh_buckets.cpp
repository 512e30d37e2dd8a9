#include "core/lsh/lsh_buckets.hpp"

#include <algorithm>
#include <utility>

namespace simjoin {
namespace {

constexpr size_t keys_a_piece = 4096;
constexpr uint32_t no_row = UINT32_MAX;

uint32_t row_of(const SortKey &key) {
  return static_cast<uint32_t>(key.lo);
}

}  // namespace

LshBuckets::LshBuckets(uint32_t rows, uint32_t left_rows, const LshSpec &spec, MemoryCounter &memory)
    : left_rows_(left_rows),
      self_join_(spec.self_join),
      bands_(spec.plan.bands),
      max_bucket_size_(std::max<uint32_t>(spec.max_bucket_size, 1)),
      first_of_(memory, size_t{rows} * spec.plan.bands),
      chained_(spec.plan.bands) {}

void LshBuckets::next_band(std::span<const SortKey> keys, WorkerPool &pool, const Visit &visit) {
  const size_t n = keys.size();
  const auto begins_bucket = [&](size_t i) { return i == 0 || keys[i].hi != keys[i - 1].hi; };
  pool.parallel((n + keys_a_piece - 1) / keys_a_piece, [&](int worker, size_t piece) {
    const size_t piece_end = std::min(n, (piece + 1) * keys_a_piece);
    size_t begin = piece * keys_a_piece;
    // A bucket belongs to the piece in which it begins.
    while (begin < piece_end && !begins_bucket(begin)) ++begin;
    while (begin < piece_end) {
      size_t end = begin + 1;
      while (end < n && !begins_bucket(end)) ++end;
      visit_bucket(keys.subspan(begin, end - begin), worker, pool, visit);
      begin = end;
    }
  });
  std::sort(chained_[band_].begin(), chained_[band_].end(),
            [](const Chained &a, const Chained &b) { return a.first < b.first; });
  ++band_;
}

// Returns how many pairs a bucket of so many rows, of which so many are left ones, has.
uint64_t LshBuckets::pairs_of(size_t left, size_t all) const {
  return self_join_ ? uint64_t{all} * (all - 1) / 2 : uint64_t{left} * (all - left);
}

void LshBuckets::visit_bucket(std::span<const SortKey> bucket, int worker, const WorkerPool &pool,
                              const Visit &visit) {
  pool.stop().check();
  for (const SortKey &key : bucket) first_of_[row_of(key) * bands_ + band_] = row_of(bucket[0]);
  const size_t left =
      static_cast<size_t>(std::partition_point(bucket.begin(), bucket.end(),
                                               [&](const SortKey &key) { return row_of(key) < left_rows_; }) -
                          bucket.begin());
  const uint64_t pairs = pairs_of(left, bucket.size());
  if (pairs == 0) return;
  comparisons_.fetch_add(pairs, std::memory_order_relaxed);
  if (bucket.size() > max_bucket_size_) return visit_chained(bucket, left, worker, pool, visit);
  for (size_t l = 0; l < left; ++l) {
    for (size_t r = self_join_ ? l + 1 : left; r < bucket.size(); ++r) {
      pool.stop().check();
      visit_pair(worker, row_of(bucket[l]), row_of(bucket[r]), visit);
    }
  }
}

void LshBuckets::visit_chained(std::span<const SortKey> bucket, size_t left, int worker,
                               const WorkerPool &pool, const Visit &visit) {
  const uint32_t first = row_of(bucket[0]), right = self_join_ ? no_row : row_of(bucket[left]);
  {
    const std::lock_guard lock(mutex_);
    chained_[band_].push_back({first, right});
    ++chained_stats_.chained_buckets;
    chained_stats_.note_size({bucket.size(), pairs_of(left, bucket.size())});
  }
  for (size_t r = self_join_ ? 1 : left; r < bucket.size(); ++r) {
    pool.stop().check();
    visit_pair(worker, first, row_of(bucket[r]), visit);
  }
  if (self_join_) return;
  for (size_t l = 1; l < left; ++l) {
    pool.stop().check();
    visit_pair(worker, row_of(bucket[l]), right, visit);
  }
}

void LshBuckets::visit_pair(int worker, uint32_t l, uint32_t r, const Visit &visit) const {
  if (!visited_before(l, r)) visit(worker, l, r);
}

// Returns whether an earlier band has visited the pair: they shared one of its buckets and, where that was
// chained, one of them was its representative.
bool LshBuckets::visited_before(uint32_t l, uint32_t r) const {
  const uint32_t *first_of_l = first_of_.data() + l * bands_, *first_of_r = first_of_.data() + r * bands_;
  for (size_t band = 0; band < band_; ++band) {
    if (first_of_l[band] != first_of_r[band]) continue;
    const std::vector<Chained> &chained = chained_[band];
    const auto bucket =
        std::lower_bound(chained.begin(), chained.end(), first_of_l[band],
                         [](const Chained &bucket, uint32_t first) { return bucket.first < first; });
    if (bucket == chained.end() || bucket->first != first_of_l[band]) return true;
    if (l == bucket->first || r == bucket->right) return true;
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
