// Distribution of items into buckets, sorting by it, and sets as bits with ranks.
#include "core/sort/distribute.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "core/base/ranked_bits.hpp"
#include "core/sort/parallel_sort.hpp"

namespace simjoin::test {
namespace {

TEST(Distribution, KeepsTheOrderOfItemsWithinABucket) {
  StopFlag stop;
  MemoryCounter memory;
  for (const int workers : {1, 3})
    for (const size_t items : {0u, 1u, 100u, 5'000u}) {
      WorkerPool pool(workers, stop);
      std::mt19937 random(static_cast<uint32_t>(items));
      std::vector<uint32_t> bucket_of(items), expected(items), found(items);
      for (uint32_t i = 0; i < items; ++i) {
        bucket_of[i] = static_cast<uint32_t>(random() % 37);
        expected[i] = i;
      }
      std::stable_sort(expected.begin(), expected.end(),
                       [&](uint32_t a, uint32_t b) { return bucket_of[a] < bucket_of[b]; });
      Distribution<uint32_t> places(7, 37, pool, memory);
      const auto visit = [&](size_t part, auto &&body) {
        for (size_t i = part * items / 7; i < (part + 1) * items / 7; ++i) body(i);
      };
      places.count(
          [&](size_t part, uint32_t *counts) { visit(part, [&](size_t i) { ++counts[bucket_of[i]]; }); });
      ASSERT_EQ(places.items(), items);
      // Half of the buckets, then the other half.
      for (const bool odd : {false, true})
        places.place([&](size_t part, uint32_t *next) {
          visit(part, [&](size_t i) {
            if (bucket_of[i] % 2 == odd) found[next[bucket_of[i]]++] = static_cast<uint32_t>(i);
          });
        });
      EXPECT_EQ(found, expected);
      for (uint32_t bucket = 0; bucket < 37; ++bucket)
        EXPECT_EQ(static_cast<std::ptrdiff_t>(places.begin(bucket + 1) - places.begin(bucket)),
                  std::count(bucket_of.begin(), bucket_of.end(), bucket));
    }
}

TEST(SortKeys, SortsManyEqualAndFewDifferentKeys) {
  StopFlag stop;
  MemoryCounter memory;
  WorkerPool pool(3, stop);
  for (const size_t count : {size_t{0}, size_t{1}, size_t{1'000}, size_t{300'000}})
    for (const uint64_t values : {uint64_t{1}, uint64_t{5}, UINT64_MAX}) {
      std::mt19937_64 random(count);
      Buffer<SortKey> keys(memory, count);
      for (SortKey &key : keys) {
        key.hi = random() % values;
        key.lo = random() % values;
      }
      std::vector<SortKey> expected(keys.begin(), keys.end());
      std::sort(expected.begin(), expected.end(),
                [](const SortKey &a, const SortKey &b) { return a.hi != b.hi ? a.hi < b.hi : a.lo < b.lo; });
      sort_keys(keys, pool, memory);
      ASSERT_TRUE(
          std::equal(keys.begin(), keys.end(), expected.begin(), expected.end(),
                     [](const SortKey &a, const SortKey &b) { return a.hi == b.hi && a.lo == b.lo; }));
    }
}

TEST(RankedBits, RankIsTheNumberOfSmallerMarkedOnes) {
  StopFlag stop;
  MemoryCounter memory;
  WorkerPool pool(2, stop);
  for (const uint32_t size : {1u, 63u, 64u, 65u, 20'000u}) {
    RankedBits bits(memory);
    size % 2 == 0 ? bits.resize(size, pool) : bits.resize(size);
    std::vector<bool> marked(size, false);
    std::mt19937 random(size);
    for (uint32_t i = 0; i < size / 3 + 1; ++i) {
      const uint32_t one = random() % size;
      EXPECT_EQ(bits.mark(one), !marked[one]);
      EXPECT_TRUE(bits.marked(one));
      marked[one] = true;
    }
    const auto count = static_cast<uint64_t>(std::count(marked.begin(), marked.end(), true));
    EXPECT_EQ(bits.rank(stop), count);
    uint32_t rank = 0;
    std::vector<uint32_t> expected, found;
    for (uint32_t i = 0; i < size; ++i) {
      ASSERT_EQ(bits.rank_of(i), rank) << i;
      ASSERT_EQ(bits.has(i), marked[i]) << i;
      if (!marked[i]) continue;
      expected.push_back(i);
      ++rank;
    }
    bits.visit(0, bits.words(), [&](size_t i, uint32_t at) {
      EXPECT_EQ(at, found.size());
      found.push_back(static_cast<uint32_t>(i));
    });
    EXPECT_EQ(found, expected);
  }
}

TEST(SharedBits, OneThreadOnlyMarksAnInteger) {
  StopFlag stop;
  MemoryCounter memory;
  WorkerPool pool(4, stop);
  SharedBits bits(memory);
  bits.resize(1'000);
  std::atomic<uint32_t> first = 0;
  pool.parallel(64, [&](int, size_t) {
    for (size_t i = 0; i < 1'000; ++i) first += bits.mark(i);
  });
  EXPECT_EQ(first, 1'000u);
}

}  // namespace
}  // namespace simjoin::test
