#include "core/sort/parallel_sort.hpp"

#include <hwy/contrib/sort/vqsort.h>
#include <hwy/targets.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/sort/distribute.hpp"

namespace simjoin {
namespace {

constexpr size_t bucket_target = size_t{1} << 15;  // keys per bucket, which are sorted within a millisecond
constexpr size_t max_buckets = size_t{1} << 15;    // bucket numbers are kept in 16 bits
constexpr size_t oversampling = 16;                // sampled keys per bucket
constexpr size_t chunk_target = size_t{1} << 16;   // keys per chunk of the distribution passes

bool less(const SortKey &a, const SortKey &b) {
  return a.hi != b.hi ? a.hi < b.hi : a.lo < b.lo;
}

// Returns whether VQSort can sort keys here. Without vector instructions for them, it aborts the process. The
// answer takes some microseconds, and 27 on a virtual machine.
bool has_vectors() {
  return (hwy::SupportedTargets() & ~int64_t{HWY_SCALAR | HWY_EMU128}) != 0;
}

void sort_run(SortKey *keys, size_t count, bool by_vectors) {
  if (!by_vectors) {
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

// Sorts the keys into buckets, whose keys are not sorted yet. Returns the places of the buckets.
Distribution<uint64_t> sort_into_buckets(Buffer<SortKey> &keys, Buffer<SortKey> &sorted, size_t buckets,
                                         WorkerPool &pool, MemoryCounter &memory) {
  const size_t n = keys.size();
  const std::vector<SortKey> splitters = choose_splitters(keys, buckets);
  const size_t chunks = std::min<size_t>((n + chunk_target - 1) / chunk_target, size_t{16} * pool.workers());
  const auto visit = [&](size_t chunk, auto &&body) {
    for (size_t i = chunk * n / chunks; i < (chunk + 1) * n / chunks; ++i) {
      if (i % bucket_target == 0) pool.stop().check();
      body(i);
    }
  };
  Buffer<uint16_t> bucket_of(memory, n);
  Distribution<uint64_t> places(chunks, buckets, pool, memory);
  places.count([&](size_t chunk, uint64_t *counts) {
    visit(chunk, [&](size_t i) {
      const auto bucket =
          std::upper_bound(splitters.begin(), splitters.end(), keys[i], less) - splitters.begin();
      bucket_of[i] = static_cast<uint16_t>(bucket);
      ++counts[bucket];
    });
  });
  sorted.resize(n);
  places.place([&](size_t chunk, uint64_t *next) {
    visit(chunk, [&](size_t i) { sorted[next[bucket_of[i]]++] = keys[i]; });
  });
  std::swap(keys, sorted);
  return places;
}

}  // namespace

void sort_keys(Buffer<SortKey> &keys, Buffer<SortKey> &scratch, WorkerPool &pool, MemoryCounter &memory) {
  if (keys.size() < 2) return;
  const bool by_vectors = has_vectors();
  if (keys.size() <= 2 * bucket_target) return sort_run(keys.data(), keys.size(), by_vectors);
  const size_t buckets = std::min(max_buckets, keys.size() / bucket_target + 1);
  const Distribution<uint64_t> places = sort_into_buckets(keys, scratch, buckets, pool, memory);
  pool.parallel(buckets, [&](int, size_t bucket) {
    sort_run(keys.data() + places.begin(bucket), places.begin(bucket + 1) - places.begin(bucket), by_vectors);
  });
}

}  // namespace simjoin
