// The vectorised kernels against plain loops, on every instruction set of this machine.
#include "core/candidates/intersect_kernels.hpp"
#include "core/candidates/signature_kernels.hpp"
#include "core/dedup/hash_kernels.hpp"
#include "core/sets/value_kernels.hpp"
#include "core/sets/value_numbers.hpp"
#include "core/sort/short_sort.hpp"
#include "core/sort/sort_kernels.hpp"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>
#include <numeric>
#include <random>
#include <set>

#include "unit/drive.hpp"
#include "unit/on_target.hpp"
#include "unit/random_sets.hpp"

namespace simjoin::test {
namespace {

class KernelTest : public testing::TestWithParam<int64_t> {
 protected:
  KernelTest() : target_(GetParam()) {}
  uint64_t bits() { return random_(); }
  // Words with few, half or most of their bits set, so that bounds fall on either side of the required
  // overlap.
  uint64_t word() {
    const uint64_t kind = random_() % 4;
    if (kind == 0) return bits() & bits() & bits();
    if (kind == 1) return ~(bits() & bits());
    return bits();
  }

 private:
  OnTarget target_;
  std::mt19937_64 random_{51};
};

INSTANTIATE_TEST_SUITE_P(Every, KernelTest, testing::ValuesIn(all_targets()),
                         [](const auto &info) { return std::string(hwy::TargetName(info.param)); });

TEST_P(KernelTest, FilterRowFindsTheColumnsThatReachTheBound) {
  for (size_t words : {1, 2, 4, 8, 16, 32, 256}) {
    for (size_t blocks : {0, 1, 2, 5, 33}) {
      const size_t columns = blocks * signature_block;
      // 64-byte aligned, as the signature table's blocks are.
      std::vector<uint64_t> storage(columns * words + 8);
      uint64_t *const table =
          storage.data() + (8 - reinterpret_cast<uintptr_t>(storage.data()) / sizeof(uint64_t) % 8) % 8;
      std::vector<uint64_t> row(words);
      for (uint64_t &w : row) w = word();
      for (size_t i = 0; i < columns * words; ++i) table[i] = word();
      const int64_t row_excess = static_cast<int64_t>(bits() % 30);
      std::vector<int64_t> excess(columns), required(columns);
      std::vector<uint32_t> expected;
      for (size_t column = 0; column < columns; ++column) {
        int64_t bound = 0;
        for (size_t w = 0; w < words; ++w) {
          const size_t at =
              (column / signature_block * words + w) * signature_block + column % signature_block;
          bound += std::popcount(table[at] & row[w]);
        }
        excess[column] = static_cast<int64_t>(bits() % 30);
        bound += std::min(row_excess, excess[column]);
        required[column] = bound + static_cast<int64_t>(bits() % 3) - 1;
        if (bits() % 10 == 0) required[column] = int64_t{1} << 40;
        if (bound >= required[column]) expected.push_back(static_cast<uint32_t>(column));
      }
      std::vector<uint32_t> hits(columns + signature_block);
      const SignatureRow comparison{row.data(), row_excess, table, excess.data(), required.data(), blocks};
      hits.resize(filter_row(comparison, words, hits.data()));
      EXPECT_EQ(hits, expected) << words << " words, " << blocks << " blocks";
    }
  }
}

TEST_P(KernelTest, SelectNearKeepsTheNearOnesInOrder) {
  for (size_t count : {0, 1, 2, 3, 7, 8, 9, 31, 32, 33, 1000}) {
    const uint64_t probe = word();
    std::vector<uint64_t> signatures(count), values(count);
    for (size_t i = 0; i < count; ++i) {
      signatures[i] = bits() % 2 == 0 ? word() : probe ^ (bits() & bits() & bits());
      values[i] = bits();
    }
    for (uint32_t limit : {0u, 1u, 8u, 25u, 32u, 63u, 64u}) {
      std::vector<uint64_t> expected;
      for (size_t i = 0; i < count; ++i) {
        if (static_cast<uint32_t>(std::popcount(signatures[i] ^ probe)) <= limit)
          expected.push_back(values[i]);
      }
      std::vector<uint64_t> kept(count + signature_padding);
      kept.resize(select_near(signatures.data(), values.data(), count, probe, limit, kept.data()));
      EXPECT_EQ(kept, expected) << count << " values, limit " << limit;
    }
  }
}

TEST_P(KernelTest, SelectSharingTellsTheSignaturesThatShareBits) {
  for (size_t count : {0, 1, 2, 3, 7, 8, 9, 31, 32, 33, 63, 64}) {
    const uint64_t probe = word();
    std::vector<uint64_t> signatures(count + signature_vector, ~uint64_t{0});
    for (size_t i = 0; i < count; ++i) signatures[i] = word();
    for (uint32_t least : {0u, 1u, 2u, 8u, 25u, 32u, 63u, 64u, 65u}) {
      uint64_t expected = 0;
      for (size_t i = 0; i < count; ++i)
        if (static_cast<uint32_t>(std::popcount(signatures[i] & probe)) >= least)
          expected |= uint64_t{1} << i;
      EXPECT_EQ(select_sharing(signatures.data(), count, probe, least), expected)
          << count << " signatures, at least " << least;
    }
  }
}

// Ascending ranks below a universe, `step` apart or more.
template <typename Rank>
std::vector<Rank> ranks_of(std::mt19937_64 &random, uint32_t size, uint32_t universe, Rank step) {
  std::set<Rank> ranks;
  while (ranks.size() < std::min(size, universe)) ranks.insert(random() % universe * step);
  return {ranks.begin(), ranks.end()};
}

template <typename Rank>
void expect_exact_or_too_small(const std::vector<Rank> &r, const std::vector<Rank> &s) {
  std::vector<Rank> both;
  std::set_intersection(r.begin(), r.end(), s.begin(), s.end(), std::back_inserter(both));
  const auto shared = static_cast<uint32_t>(both.size());
  const auto r_count = static_cast<uint32_t>(r.size()), s_count = static_cast<uint32_t>(s.size());
  for (uint32_t required = 0; required <= shared + 3; ++required) {
    for (const uint32_t found :
         {intersect_vectors(r.data(), r_count, s.data(), s_count, 2, required + 2),
          intersect_galloping(r.data(), r_count, s.data(), s_count, 2, required + 2)}) {
      if (shared >= required) {
        ASSERT_EQ(found, shared + 2) << r_count << " of " << s_count << ", required " << required;
      } else {
        ASSERT_LT(found, required + 2) << r_count << " of " << s_count << ", required " << required;
      }
    }
  }
}

// Numbers of 64 bits agree in their lower halves.
TEST_P(KernelTest, IntersectionsAreExactOrTooSmall) {
  std::mt19937_64 random(54);
  for (uint32_t universe : {70u, 400u, 5000u, 100000u}) {
    for (uint32_t r_size : {0u, 1u, 7u, 8u, 9u, 15u, 16u, 17u, 33u, 64u}) {
      for (uint32_t s_size : {0u, 1u, 7u, 8u, 15u, 16u, 31u, 64u, 65u, 300u, 2000u}) {
        const uint32_t longer = std::max(r_size, s_size);
        expect_exact_or_too_small(ranks_of(random, r_size, universe, 1u),
                                  ranks_of(random, longer, universe, 1u));
        constexpr uint64_t apart = uint64_t{1} << 32;
        expect_exact_or_too_small(ranks_of(random, r_size, universe, apart),
                                  ranks_of(random, longer, universe, apart));
      }
    }
  }
}

// Whole joins on each instruction set: the algorithms and other vectorised code that they use.
TEST_P(KernelTest, JoinsEqualOracle) {
  for (const Shape &shape : {all_shapes[3], all_shapes[7], all_shapes[9]}) {
    for (const Input<int32_t> &input : {self_input(shape, 52), two_sided_input(shape, 53)}) {
      const Oracle<int32_t> oracle(input);
      for (Algorithm algorithm : all_algorithms) {
        for (double threshold : {0.5, 0.8}) {
          EXPECT_EQ(difference(oracle.join(Measure::jaccard, threshold),
                               run(make_spec(algorithm, Measure::jaccard, threshold), input)),
                    "")
              << shape.name << ", " << name_of(algorithm) << " at " << threshold;
        }
      }
    }
  }
}

TEST_P(KernelTest, SampleHashesAreThoseBelowTheBound) {
  for (const size_t count : {0, 1, 15, 16, 17, 31, 64, 500}) {
    for (const uint32_t greatest : {UINT32_MAX, UINT32_MAX >> 1, UINT32_MAX >> 4, UINT32_MAX >> 12, 0u}) {
      std::vector<uint32_t> values(count), hashes(count + sample_padding), expected;
      for (uint32_t &value : values) {
        value = static_cast<uint32_t>(bits());
        if (sample_hash(value) <= greatest) expected.push_back(sample_hash(value));
      }
      hashes.resize(sample_hashes(values.data(), count, greatest, hashes.data()));
      EXPECT_EQ(hashes, expected) << count << " " << greatest;
    }
  }
}

TEST_P(KernelTest, HashesOfTokensAreSummedInAnyOrder) {
  for (size_t count = 0; count < 100; ++count) {
    std::vector<int32_t> tokens(count);
    for (int32_t &token : tokens) token = static_cast<int32_t>(bits());
    HashSums expected;
    for (const int32_t token : tokens) expected += hash_sums(&token, 1);
    EXPECT_EQ(hash_sums(tokens.data(), count), expected) << count;
    std::reverse(tokens.begin(), tokens.end());
    EXPECT_EQ(hash_sums(tokens.data(), count), expected) << count;
  }
  std::set<uint32_t> one, other;
  constexpr int32_t different = 10'000;
  for (int32_t token = 0; token < different; ++token) {
    const HashSums hashes = hash_sums(&token, 1);
    one.insert(hashes.one);
    other.insert(hashes.other);
  }
  EXPECT_EQ(one.size(), size_t{different});
  EXPECT_EQ(other.size(), size_t{different});
}

// Looks at sets of every size, in order or with two neighbours that are not, and at what lies around the
// numbers.
template <typename Value, typename Random>
void expect_numbers(Random &&random) {
  using Number = std::make_unsigned_t<Value>;
  constexpr Number guard = 0x5A5A5A5A;
  for (size_t count = 0; count < 70; ++count) {
    std::set<Value> drawn = {std::numeric_limits<Value>::min(), std::numeric_limits<Value>::max()};
    while (drawn.size() < count) drawn.insert(static_cast<Value>(random()));
    std::vector<Value> values(drawn.begin(), drawn.end());
    values.resize(count);
    for (size_t swapped = 0; swapped <= count; ++swapped) {  // 0: none
      const bool ascending = swapped == 0 || swapped == count;
      if (!ascending) std::swap(values[swapped - 1], values[swapped]);
      std::vector<Number> numbers(count + 2, guard), expected(count + 2, guard);
      std::transform(values.begin(), values.end(), expected.begin() + 1, number_of<Value>);
      EXPECT_EQ(write_and_count_descents(values.data(), count, numbers.data() + 1), ascending ? 0 : 1)
          << count << " " << swapped;
      EXPECT_EQ(numbers, expected) << count;
      if (!ascending) std::swap(values[swapped - 1], values[swapped]);
    }
    if (count < 2) continue;
    values[count / 2] = values[count / 2 - 1];
    std::vector<Number> numbers(count);
    EXPECT_EQ(write_and_count_descents(values.data(), count, numbers.data()), 1) << count;
    std::reverse(values.begin(), values.end());
    EXPECT_EQ(write_and_count_descents(values.data(), count, numbers.data()), count - 1);
  }
}

TEST_P(KernelTest, NumbersAreWrittenAndCompared) {
  expect_numbers<int32_t>([this] { return bits(); });
  expect_numbers<int64_t>([this] { return bits(); });
}

// Sorts runs of every size to another place and in their own, and looks at what lies around them.
template <typename Number, typename Random>
void expect_sorted_runs(const std::vector<size_t> &counts, Random &&random) {
  constexpr Number guard = 0x5A5A5A5A;
  const ShortSort sort;
  for (const size_t count : counts) {
    for (const int bits : {1, 9, 17, static_cast<int>(8 * sizeof(Number))}) {
      std::vector<Number> from(count + 1), to(count + 2, guard);
      for (Number &number : from) number = static_cast<Number>(random() >> (64 - bits));
      if (count > 2) from[count / 2] = std::numeric_limits<Number>::max();
      from[count] = guard;
      const std::vector<Number> before = from;
      std::vector<Number> expected(from.begin(), from.end() - 1);
      std::sort(expected.begin(), expected.end());
      sort(from.data(), count, to.data() + 1);
      EXPECT_EQ(from, before) << count;
      EXPECT_EQ(to.front(), guard);
      EXPECT_EQ(to.back(), guard);
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), to.begin() + 1)) << count << " " << bits;
      sort(from.data(), count);
      EXPECT_EQ(from.back(), guard);
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), from.begin())) << count << " " << bits;
    }
  }
}

TEST_P(KernelTest, SortsRunsOfEverySize) {
  std::vector<size_t> counts(301);
  std::iota(counts.begin(), counts.end(), size_t{0});
  for (const size_t count : {511, 2047, 2048, 4099, 65535, 65536}) counts.push_back(count);
  const auto random = [this] { return bits(); };
  expect_sorted_runs<uint32_t>(counts, random);
  expect_sorted_runs<uint64_t>(counts, random);
}

TEST_P(KernelTest, LeavesRunsThatFitNoRegistersAsTheyAre) {
  std::vector<uint32_t> numbers(257);
  for (uint32_t i = 0; i < numbers.size(); ++i) numbers[i] = 1000 - i;
  const std::vector<uint32_t> before = numbers;
  EXPECT_FALSE(sort_in_registers(numbers.data(), numbers.size(), numbers.data()));
  EXPECT_EQ(numbers, before);
}

}  // namespace
}  // namespace simjoin::test
