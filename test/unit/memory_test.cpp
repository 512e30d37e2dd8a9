// The memory of joins is within the bounds that the engine promises, on collections of published shapes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "bench/collections.hpp"
#include "core/base/memory.hpp"
#include "core/rounds/beyond_memory/round_memory.hpp"
#include "unit/drive.hpp"
#include "unit/process.hpp"
#include "unit/random_sets.hpp"
#include "unit/typed_tokens.hpp"

namespace simjoin::test {
namespace {

constexpr int threads = 2;
// The engine's bounds for a join in memory, without results.
constexpr size_t bytes_per_token = 12;
constexpr size_t bytes_per_set = 64;

struct ShapeCase {
  const char *profile;
  double sets;
};
// Long sets and short ones, few distinct tokens and many.
constexpr ShapeCase shape_cases[] = {
    {"dblp", 6'000}, {"kosarak", 80'000}, {"enron", 5'000}, {"livejournal", 20'000}, {"aol", 100'000}};

Input<int32_t> collection_of(const ShapeCase &shape) {
  const bench::Profile &profile = *bench::find_profile(shape.profile);
  bench::GenerateOptions options;
  options.scale = shape.sets / profile.sets;
  const bench::Collection collection = bench::generate(profile, options);
  Input<int32_t> input;
  input.self_join = true;
  for (size_t i = 0; i < collection.size(); ++i) {
    input.left.emplace_back(collection.set(i).begin(), collection.set(i).end());
  }
  return input;
}

// A large array that grows is remapped, and never copied.
TEST(Buffers, GrowWithoutACopy) {
  constexpr size_t piece = size_t{1} << 17, mapped = huge_page / sizeof(uint64_t),
                   most = size_t{1} << 24;  // elements
  const size_t before = resident_bytes();
  reset_peak_resident();
  MemoryCounter memory;
  Buffer<uint64_t> buffer(memory);
  buffer.reserve(mapped);
  while (buffer.size() < most) std::fill_n(buffer.extend(piece), piece, buffer.size());
  EXPECT_LE(peak_resident_bytes() - before, memory.peak() + memory.peak() / 8);
}

// Large arrays begin at a border of huge pages, wherever they have grown to and whatever lies beside them.
// What they hold goes with them.
TEST(Buffers, BeginAtBordersOfHugePages) {
  MemoryCounter memory;
  std::vector<Buffer<uint32_t>> buffers;
  for (int i = 0; i < 3; ++i) buffers.emplace_back(memory);
  uint32_t next = 0;
  for (size_t size = 1'000; size < (size_t{1} << 22); size = size * 3 / 2 + 1) {
    for (Buffer<uint32_t> &buffer : buffers) {
      while (buffer.size() < size) buffer.push_back(next++);
      if (size * sizeof(uint32_t) < huge_page) continue;
      EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % huge_page, 0u);
    }
  }
  for (Buffer<uint32_t> &buffer : buffers) buffer.shrink();
  const size_t resident = resident_bytes(), counted = memory.current();
  for (const size_t size : {3 * huge_page, huge_page / 2}) {
    for (Buffer<uint32_t> &buffer : buffers) {
      buffer.resize(size / sizeof(uint32_t));
      buffer.shrink();
    }
    EXPECT_LE(resident_bytes() + (counted - memory.current()), resident + huge_page);
  }
  // The first 1,000 elements of each came together, and so did those that one step after the other added.
  for (size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_EQ(buffers[i][999], i * 1'000 + 999);
    for (size_t at = 1; at < 1'000; ++at) EXPECT_EQ(buffers[i][at], buffers[i][at - 1] + 1);
  }
  buffers.clear();
  EXPECT_EQ(memory.current(), 0u);
}

class MemoryTest : public testing::TestWithParam<ShapeCase> {
 protected:
  void SetUp() override {
    input_ = collection_of(GetParam());
    for (const IntSet &set : input_.left) {
      tokens_ += set.size();
      for (const int32_t token : set) largest_ = std::max(largest_, token);
    }
  }
  size_t data() const { return tokens_ * sizeof(int32_t); }
  // The memory of a join whatever its limit: the sizes of the sets, a part of the table of ranks, and the
  // memory of its threads.
  size_t floor() const {
    const auto values = static_cast<size_t>(largest_);
    return input_.left.size() * sizeof(uint16_t) +
           std::max(values / 16, std::min(values, size_t{1} << 16)) * sizeof(uint32_t) +
           threads * bytes_per_worker;
  }

  Input<int32_t> input_;
  size_t tokens_ = 0;
  int32_t largest_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Every, MemoryTest, testing::ValuesIn(shape_cases),
                         [](const auto &info) { return std::string(info.param.profile); });

TEST_P(MemoryTest, InMemoryIsBoundedByTokensAndSets) {
  for (const double threshold : {0.9, 0.8, 0.7, 0.5}) {
    JoinStats stats;
    run(make_spec(Algorithm::automatic, Measure::jaccard, threshold, threads), input_, &stats);
    EXPECT_EQ(stats.partitions, 0u);
    EXPECT_LE(stats.memory_peak, bytes_per_token * tokens_ + bytes_per_set * input_.left.size())
        << "at " << threshold << " by " << stats.algorithm;
  }
}

// Titles of 6 to 14 words, which are Zipf-distributed. Most words are in other titles, too.
Input<int32_t> titles(size_t count, int32_t words) {
  RandomSets random(44);
  constexpr uint64_t digits = 1'000'000;
  Input<int32_t> input;
  input.self_join = true;
  while (input.left.size() < count) {
    IntSet set;
    for (uint64_t k = random.between(6, 14); k > 0; --k) {
      const double part = static_cast<double>(random.between(0, digits - 1)) / static_cast<double>(digits);
      set.push_back(static_cast<int32_t>(std::exp(part * std::log(words))));
    }
    std::sort(set.begin(), set.end());
    set.erase(std::unique(set.begin(), set.end()), set.end());
    input.left.push_back(std::move(set));
  }
  return input;
}

size_t tokens_of(const Input<int32_t> &input) {
  size_t tokens = 0;
  for (const IntSet &set : input.left) tokens += set.size();
  return tokens;
}

// The limit that is told to need no file is at least the peak without one. For sets as short as titles, whose
// tokens others have, too, it is hardly more, for few threads and many.
TEST(EstimateOfThePeak, IsCloseToThePeak) {
  const auto expect_close = [](const Input<int32_t> &input, double threshold, int workers, double least) {
    JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, threshold, workers);
    JoinStats whole, parts;
    run(spec, input, &whole);
    spec.memory_limit = tokens_of(input) * sizeof(int32_t) / 4;
    run(spec, input, &parts);
    ASSERT_GT(parts.partitions, 0u);
    const std::string figures =
        std::to_string(whole.memory_peak) + " of " + std::to_string(parts.one_part_limit);
    EXPECT_GE(parts.one_part_limit, whole.memory_peak) << threshold << ", " << workers;
    EXPECT_GE(static_cast<double>(whole.memory_peak), least * static_cast<double>(parts.one_part_limit))
        << figures << " at " << threshold << " with " << workers << " threads";
  };
  const Input<int32_t> many = titles(100'000, 2'000);
  expect_close(many, 0.8, 2, 0.8);
  expect_close(many, 0.7, 16, 0.8);
  expect_close(collection_of({"bms", 100'000}), 0.8, 2, 0.6);
  expect_close(collection_of({"kosarak", 100'000}), 0.8, 2, 0.6);
  expect_close(collection_of({"dblp", 15'000}), 0.8, 2, 0.6);
}

// A hundred million titles are to fit into 24 GB, of which the engine has half.
TEST(MemoryOfTitles, IsLittle) {
  constexpr size_t a_token = 8, a_set = 20, room = 9 * huge_page;
  const Input<int32_t> input = titles(1'000'000, 20'000);
  const size_t before = resident_bytes();
  reset_peak_resident();
  JoinStats stats;
  run(make_spec(Algorithm::automatic, Measure::jaccard, 0.8, threads), input, &stats);
  EXPECT_EQ(stats.partitions, 0u);
  EXPECT_LE(stats.memory_peak, a_token * tokens_of(input) + a_set * input.left.size() + room);
  // The array of ranks is not touched before blocks of ids are given back.
  EXPECT_LE(peak_resident_bytes() - before, stats.memory_peak + stats.memory_peak / 8);
}

TEST_P(MemoryTest, LimitsHold) {
  for (const double threshold : {0.8, 0.5}) {
    const std::vector<Pair> expected =
        run(make_spec(Algorithm::automatic, Measure::jaccard, threshold, threads), input_);
    for (const size_t part : {3, 10}) {
      for (const Algorithm algorithm : {Algorithm::automatic, Algorithm::ppjoin, Algorithm::bitmap}) {
        JoinSpec spec = make_spec(algorithm, Measure::jaccard, threshold, threads);
        spec.memory_limit = data() / part;
        JoinStats stats;
        SCOPED_TRACE(name_of(algorithm) + " at " + std::to_string(threshold) + " within a part of " +
                     std::to_string(part));
        EXPECT_EQ(difference(expected, run(spec, input_, &stats)), "");
        EXPECT_GT(stats.partitions, 1u);
        // A round of the join always has half of the limit.
        EXPECT_LE(stats.memory_peak, std::max(spec.memory_limit, floor() + spec.memory_limit / 2));
      }
    }
  }
}

// Each thread may have a block of sets in memory, and a part of the numbers of tokens.
TEST(MemoryOfThreads, KeepsToTheLimit) {
  RandomSets random(84);
  Input<int32_t> input;
  input.self_join = true;
  for (size_t i = 0; i < 60'000; ++i) input.left.push_back(random.set(200, 2'000'000));
  JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.9, 32);
  spec.memory_limit = size_t{16} << 20;
  const auto expect_within = [&](const auto &sets) {
    JoinStats stats;
    run(spec, sets, &stats);
    EXPECT_GT(stats.partitions, 1u);
    EXPECT_LE(stats.memory_peak, spec.memory_limit);
  };
  expect_within(input);
  expect_within(with_tokens<int64_t>(input));
}

// ---- A limit of a tenth of the data, if that is more than the floor ----

class TenthTest : public testing::TestWithParam<ShapeCase> {};

// All shapes of the benchmark, with 12 to 20 MB of tokens each.
constexpr ShapeCase tenth_cases[] = {{"dblp", 40'000},   {"kosarak", 300'000},     {"enron", 30'000},
                                     {"bms", 400'000},   {"livejournal", 125'000}, {"twitter", 50'000},
                                     {"aol", 1'300'000}, {"orkut", 45'000}};

INSTANTIATE_TEST_SUITE_P(Every, TenthTest, testing::ValuesIn(tenth_cases),
                         [](const auto &info) { return std::string(info.param.profile); });

// Returns the bytes of the sets as PostgreSQL stores them.
size_t stored_bytes(const Input<int32_t> &input) {
  constexpr size_t header = 24;
  size_t bytes = input.left.size() * header;
  for (const IntSet &set : input.left) bytes += set.size() * sizeof(int32_t);
  return bytes;
}

// Counts the causes of slow joins beyond the limit: parts, each of which reads the sets again, and written
// bytes.
TEST_P(TenthTest, PartsAreFewAndTheLimitHolds) {
  const Input<int32_t> input = collection_of(GetParam());
  const size_t data = stored_bytes(input);
  for (const double threshold : {0.9, 0.7}) {
    const std::vector<Pair> expected =
        run(make_spec(Algorithm::automatic, Measure::jaccard, threshold, threads), input);
    for (const size_t part : {4, 10}) {
      JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, threshold, threads);
      spec.memory_limit = data / part;
      JoinStats stats;
      SCOPED_TRACE("at " + std::to_string(threshold) + " within a part of " + std::to_string(part));
      EXPECT_EQ(difference(expected, run(spec, input, &stats)), "");
      EXPECT_LE(stats.memory_peak, spec.memory_limit);
      EXPECT_GT(stats.partitions, 1u);
      EXPECT_LE(stats.partitions, 11 * part / 2);
      EXPECT_LE(stats.spilled_bytes, 3 * data);
    }
  }
}

}  // namespace
}  // namespace simjoin::test
