// Collections of unusual shapes: very long sets, long runs of rows, and ranks without tokens. Also indexes of
// a part of the sets.
#include <algorithm>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <numeric>
#include <set>

#include "cuda/filters/prefix_join.hpp"
#include "cuda/sets/collection.hpp"
#include "gpu/gpu_drive.hpp"
#include "unit/random_sets.hpp"

namespace simjoin::test {
namespace {

class GpuBuilds : public OnDevice<testing::Test> {
 protected:
  // Checks the pairs of all strategies against the CPU's.
  static void check_all(const Input<int32_t> &input, double threshold) {
    JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, threshold);
    spec.device = Device::cpu;
    const std::vector<Pair> expected = run(spec, input);
    EXPECT_FALSE(expected.empty());
    using Strategy = GpuOptions::Strategy;
    for (const Strategy strategy : {Strategy::automatic, Strategy::bitmap, Strategy::prefix, Strategy::mixed,
                                    Strategy::gssjoin, Strategy::fgssjoin}) {
      GpuOptions options;
      options.strategy = strategy;
      EXPECT_EQ(difference(expected, run_on_gpu(spec, input, options)), "") << static_cast<int>(strategy);
    }
  }

  static IntSet run_of(int32_t first, int32_t count) {
    IntSet set(static_cast<size_t>(count));
    std::iota(set.begin(), set.end(), first);
    return set;
  }
};

// Sizes around the one from which a block replaces a warp. The sets share all tokens but a few.
TEST_F(GpuBuilds, SetsAboutAsLongAsAWarpDoes) {
  Input<int32_t> input;
  input.self_join = true;
  for (int32_t size = (1 << 14) - 3; size <= (1 << 14) + 3; ++size) {
    for (int32_t first : {0, 7, 5000, 16000}) input.left.push_back(run_of(first, size));
    input.left.push_back({size, 1, 2});
  }
  check_all(input, 0.5);
  input.self_join = false;
  input.right = {input.left.begin() + 3, input.left.begin() + 20};
  check_all(input, 0.9);
}

// A few long sets among very many rows without any token, at both ends and in between.
TEST_F(GpuBuilds, LongRunsOfEmptyRows) {
  Input<int32_t> input;
  input.self_join = true;
  for (int32_t set = 0; set < 6; ++set) {
    input.left.resize(input.left.size() + 700'000);
    input.left.push_back(run_of(100 * set, 20'000));
  }
  input.left.resize(input.left.size() + 700'000);
  check_all(input, 0.95);
}

// Sets of the sizes around those from which larger kernels sort the rows, between sets of few tokens and
// empty ones. Many tokens repeat one of the set.
IntSets sets_about_as_long_as_kernels_take(RandomSets &random) {
  IntSets sets(40);
  const auto add = [&](int32_t size, int32_t universe) {
    IntSet set(static_cast<size_t>(size));
    for (int32_t &token : set) token = random.between(1, universe);
    for (size_t i = 0; i < set.size(); i += 3) set[i] = set[static_cast<size_t>(random.between(0, size - 1))];
    sets.push_back(std::move(set));
  };
  int32_t unused = 2'000'000;
  for (const int32_t limit : {32, 512, 4096, 16384}) {
    for (int32_t size = limit - 2; size <= limit + 2; ++size) {
      add(size, 1 << 20);
      add(size, 200);
      sets.push_back(IntSet(static_cast<size_t>(size), 7));  // one token
      IntSet own(static_cast<size_t>(size));                 // tokens of no other set
      for (int32_t &token : own) token = unused++;
      sets.push_back(std::move(own));
      for (int32_t few = 0; few < 70; ++few) add(few % 9, 5000);
    }
  }
  sets.resize(sets.size() + 5000);
  for (int32_t i = 0; i < 3000; ++i) add(i % 40, i % 3 == 0 ? 30 : 1 << 20);
  return sets;
}

// Each set of a collection has its distinct tokens, and of them those in ascending order that occur twice.
TEST_F(GpuBuilds, SortsRowsOfAnyLength) {
  RandomSets random(21);
  const IntSets sets = sets_about_as_long_as_kernels_take(random);
  std::map<int32_t, size_t> occurrences;
  for (const IntSet &set : sets) {
    for (const int32_t token : set) ++occurrences[token];
  }
  gpu::use_device(0);
  gpu::Device device(0, 0);
  const gpu::DeviceCollection collection =
      gpu::build_collection(device, uploaded(device, sets).get(), nullptr, {70}, StopFlag());
  std::vector<gpu::SetRecord> records(sets.size());
  std::vector<uint32_t> ranks(collection.ranks.size());
  gpu::copy_to_host(device, records.data(), collection.sides[0].records.data(), records.size());
  gpu::copy_to_host(device, ranks.data(), collection.ranks.data(), ranks.size());
  device.synchronize();
  std::map<int32_t, uint32_t> rank_of;
  size_t stored = 0, tokens = 0;
  for (const gpu::SetRecord &record : records) {
    const std::set<int32_t> expected(sets[record.row].begin(), sets[record.row].end());
    std::vector<int32_t> shared;
    std::copy_if(expected.begin(), expected.end(), std::back_inserter(shared),
                 [&](int32_t token) { return occurrences[token] > 1; });
    const auto begin = ranks.begin() + static_cast<ptrdiff_t>(record.start), end = begin + record.stored;
    ASSERT_EQ(record.size, expected.size()) << record.row;
    ASSERT_EQ(record.stored, shared.size()) << record.row;
    ASSERT_EQ(std::adjacent_find(begin, end, std::greater_equal<>()), end) << record.row;
    // Sets with one such token tell its rank, which all other sets must agree with.
    if (shared.size() == 1) {
      ASSERT_EQ(rank_of.emplace(shared[0], *begin).first->second, *begin);
    }
    stored += record.stored;
    tokens += record.size;
  }
  for (const gpu::SetRecord &record : records) {
    const auto begin = ranks.begin() + static_cast<ptrdiff_t>(record.start), end = begin + record.stored;
    for (const int32_t token : sets[record.row]) {
      const auto rank = rank_of.find(token);
      if (rank != rank_of.end()) {
        ASSERT_TRUE(std::binary_search(begin, end, rank->second)) << record.row;
      }
    }
  }
  EXPECT_GT(rank_of.size(), 50u);
  EXPECT_EQ(collection.stored_tokens, stored);
  EXPECT_EQ(collection.tokens[0], tokens);
}

// So many ranks that keys of a usual size have no bits for the rows of a tile, and for few of the longest
// rows.
TEST_F(GpuBuilds, NineMillionRanks) {
  Input<int32_t> input;
  input.self_join = true;
  std::vector<Pair> expected;
  const auto add_twice = [&](int32_t first, int32_t count) {
    const auto row = static_cast<uint32_t>(input.left.size());
    for (int i = 0; i < 2; ++i) input.left.push_back(run_of(first, count));
    std::reverse(input.left.back().begin(), input.left.back().end());
    expected.push_back({row, row + 1, static_cast<uint32_t>(count)});
  };
  for (int32_t first = 0; first < 9'000'000; first += 400) add_twice(first, 400);
  for (int32_t first = 0; first < 5'000'000; first += 16'500) add_twice(first, 16'500);
  const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.95);
  EXPECT_EQ(difference(expected, run_on_gpu(spec, input)), "");
}

// Tokens of probes that no partner has are ranks without a list, in one long run and in many short ones.
TEST_F(GpuBuilds, LongRunsOfUnusedRanks) {
  Input<int32_t> input;
  for (int32_t i = 0; i < 400; ++i) {
    input.left.push_back(run_of(i / 2 * 5'000, 5'000));  // each token twice, so that it has a rank
    if (i % 50 == 0) input.right.push_back(run_of(i / 2 * 5'000 + 100, 4'900));
  }
  check_all(input, 0.9);
}

// An index up to a border has the entries that the whole index has for the probes before it.
TEST_F(GpuBuilds, AnIndexEndsAtABorder) {
  RandomSets random(9);
  const IntSets left = shapes::skewed(random, 1500), right = shapes::skewed(random, 1000);
  gpu::use_device(0);
  gpu::Device device(0, 0);
  const StopFlag running;
  for (const bool self_join : {true, false}) {
    const auto partners = self_join ? nullptr : uploaded(device, right);
    const gpu::DeviceCollection collection =
        gpu::build_collection(device, uploaded(device, left).get(), partners.get(), {70}, running);
    const gpu::DeviceSide &probes = collection.sides[0];
    for (const double threshold : {0.4, 0.8}) {
      const Bounds bounds(Measure::jaccard, threshold);
      const gpu::DevicePrefixIndex whole(device, bounds, collection, self_join, probes.sets, running);
      EXPECT_EQ(whole.end_partner(), collection.sides[self_join ? 0 : 1].sets);
      EXPECT_GT(whole.entries(), 0u);
      for (size_t i = 1; i < probes.classes.size(); ++i) {
        const uint32_t border = probes.classes[i].begin;
        const gpu::DevicePrefixIndex index(device, bounds, collection, self_join, border, running);
        const std::vector<uint64_t> &found = index.class_entries();
        EXPECT_EQ(index.entries(), whole.entries_before(device, border)) << border;
        EXPECT_EQ(index.entries(), index.entries_before(device, border)) << border;
        EXPECT_TRUE(std::equal(found.begin(), found.begin() + static_cast<ptrdiff_t>(i),
                               whole.class_entries().begin()))
            << border;
        EXPECT_LE(index.end_partner(), whole.end_partner());
      }
    }
  }
}

// Sets of 10 tokens share 9 at 0.8, so the first that they share is the first or the second of each. The
// third of some is the second of others, and is looked up only for partners of 8 tokens.
TEST_F(GpuBuilds, ListsEndWhereTooFewTokensAreLeft) {
  constexpr int32_t couples = 10, shared = 1000, common = 2000, rare = 10000;
  IntSets sets;
  for (int32_t i = 0; i < 2 * couples; ++i) {
    IntSet set = {i / 2, shared};
    for (int32_t token = 0; token < 8; ++token) set.push_back(common + token);
    sets.push_back(set);
  }
  for (int32_t i = 0; i < 2 * couples; ++i) {
    IntSet set = {100 + i / 2, 200 + i / 2, shared};
    for (int32_t token = 0; token < 7; ++token) set.push_back(common + token);
    sets.push_back(set);
  }
  // These make the other tokens more frequent, and have tokens of their own to look up.
  for (int32_t i = 0; i < 50; ++i) {
    IntSet set;
    for (int32_t token = 0; token < 8; ++token) set.push_back(common + token);
    for (int32_t token = 0; token < 42; ++token) set.push_back(rare + 42 * i + token);
    sets.push_back(set);
  }
  gpu::use_device(0);
  gpu::Device device(0, 0);
  const StopFlag running;
  const gpu::DeviceCollection collection =
      gpu::build_collection(device, uploaded(device, sets).get(), nullptr, {70}, running);
  const Bounds bounds(Measure::jaccard, 0.8);
  const gpu::DevicePrefixIndex index(device, bounds, collection, true, collection.sides[0].sets, running);
  EXPECT_EQ(index.entries(), uint64_t{couples} + couples * (2 * couples - 1) + 2 * couples);
}

// One warp took 0.1 to 0.2 s per launch for such sets. The test prints the figure.
TEST_F(GpuBuilds, SetsOfTenMillionTokens) {
  Input<int32_t> input;
  input.self_join = true;
  input.left = {run_of(0, 10'000'000), run_of(500'000, 10'000'000), run_of(5'000'000, 10'000'000), {1, 2, 3}};
  JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.9);
  GpuOptions options;
  options.strategy = GpuOptions::Strategy::bitmap;
  GpuFigures figures;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(difference({{0, 1, 9'500'000}}, run_on_gpu(spec, input, options, &figures)), "");
  }
  std::cout << "built in " << figures.build_ms << " ms, filtered in " << figures.filter_ms << " ms\n";
}

}  // namespace
}  // namespace simjoin::test
