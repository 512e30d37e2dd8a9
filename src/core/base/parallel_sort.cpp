#include "core/base/parallel_sort.hpp"

#include <hwy/contrib/sort/vqsort.h>
#include <hwy/targets.h>

#include <algorithm>
#include <vector>

namespace simjoin {
namespace {

constexpr size_t bucket_target = size_t{1} << 15;  // keys per bucket, which are sorted within a millisecond
constexpr size_t max_buckets = size_t{1} << 15;    // bucket numbers are kept in 16 bits
constexpr size_t oversampling = 16;                // sampled keys per bucket
constexpr size_t chunk_target = size_t{1} << 16;   // keys per chunk of the distribution passes

bool less(const SortKey &a, const SortKey &b) {
  return a.hi != b.hi ? a.hi < b.hi : a.lo < b.lo;
}

void sort_run(SortKey *keys, size_t count) {
  // VQSort aborts the process if no vector instructions are available for these keys.
  if ((hwy::SupportedTargets() & ~int64_t{HWY_SCALAR | HWY_EMU128}) == 0) {
    std::sort(keys, keys + count, less);
    return;
  }
  const hwy::Sorter sorter;
  sorter(keys, count, hwy::SortAscending());
}

// Returns `buckets - 1` keys that cut the array into buckets of about equal size.
std::vector<SortKey> choose_splitters(const Buffer<SortKey> &keys, size_t buckets) {
  const size_t samples = buckets * oversampling;
  std::vector<SortKey> sample(samples);
  for (size_t i = 0; i < samples; ++i) sample[i] = keys[(i * 2 + 1) * keys.size() / (samples * 2)];
  std::sort(sample.begin(), sample.end(), less);
  std::vector<SortKey> splitters;
  for (size_t b = 1; b < buckets; ++b) splitters.push_back(sample[b * oversampling]);
  return splitters;
}

}  // namespace

void sort_keys(Buffer<SortKey> &keys, WorkerPool &pool, MemoryCounter &memory) {
  const size_t n = keys.size();
  if (n < 2) return;
  if (n <= 2 * bucket_target) return sort_run(keys.data(), n);
  const size_t buckets = std::min(max_buckets, n / bucket_target + 1);
  const std::vector<SortKey> splitters = choose_splitters(keys, buckets);
  const size_t chunks = std::min<size_t>((n + chunk_target - 1) / chunk_target, size_t{16} * pool.workers());
  const auto chunk_begin = [&](size_t chunk) { return chunk * n / chunks; };

  Buffer<uint16_t> bucket_of(memory, n);
  Buffer<uint64_t> cursors(memory, chunks * buckets,
                           0);  // the count of keys by chunk and bucket, then their places
  pool.parallel(chunks, [&](int, size_t chunk) {
    uint64_t *counts = cursors.data() + chunk * buckets;
    for (size_t i = chunk_begin(chunk); i < chunk_begin(chunk + 1); ++i) {
      if (i % bucket_target == 0) pool.stop().check();
      const auto bucket =
          std::upper_bound(splitters.begin(), splitters.end(), keys[i], less) - splitters.begin();
      bucket_of[i] = static_cast<uint16_t>(bucket);
      ++counts[bucket];
    }
  });
  std::vector<uint64_t> starts(buckets + 1, 0);
  uint64_t place = 0;
  for (size_t b = 0; b < buckets; ++b) {
    starts[b] = place;
    for (size_t chunk = 0; chunk < chunks; ++chunk) {
      place += std::exchange(cursors[chunk * buckets + b], place);
    }
  }
  starts[buckets] = n;

  Buffer<SortKey> sorted(memory, n);
  pool.parallel(chunks, [&](int, size_t chunk) {
    uint64_t *places = cursors.data() + chunk * buckets;
    for (size_t i = chunk_begin(chunk); i < chunk_begin(chunk + 1); ++i) {
      if (i % bucket_target == 0) pool.stop().check();
      sorted[places[bucket_of[i]]++] = keys[i];
    }
  });
  pool.parallel(buckets,
                [&](int, size_t b) { sort_run(sorted.data() + starts[b], starts[b + 1] - starts[b]); });
  keys = std::move(sorted);
}

}  // namespace simjoin
