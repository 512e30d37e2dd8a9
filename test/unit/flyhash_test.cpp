// FlyHash against its definition, on every instruction set, the quality of its neighbours, and many vectors
// at a time.
#include "core/flyhash/flyhash.hpp"

#include <gtest/gtest.h>

#include <cfloat>
#include <chrono>
#include <iterator>
#include <optional>

#include "core/flyhash/flyhash_bulk.hpp"
#include "unit/cpu_devices.hpp"
#include "unit/fake_gpu.hpp"
#include "unit/fly_oracle.hpp"
#include "unit/on_target.hpp"
#include "unit/process.hpp"

namespace simjoin::test {
namespace {

std::vector<uint16_t> levels_of(const std::vector<float> &vector) {
  std::vector<uint16_t> levels(vector.size());
  fly_levels(vector.data(), vector.size(), levels.data());
  return levels;
}

// Returns the winners of up to 32 vectors, with `rows_per_step` rows in a step.
std::vector<std::vector<uint32_t>> hash_block(FlyBlock &block, const FlyShape &shape, const Vectors &vectors,
                                              uint32_t rows_per_step = 1000) {
  std::vector<uint16_t> levels;
  for (const auto &vector : vectors) {
    const std::vector<uint16_t> own = levels_of(vector);
    levels.insert(levels.end(), own.begin(), own.end());
  }
  block.start(levels.data(), vectors.size());
  while (!block.step(rows_per_step)) {
  }
  std::vector<std::vector<uint32_t>> result;
  for (size_t i = 0; i < vectors.size(); ++i) {
    result.emplace_back(shape.winners);
    block.write(i, result.back().data());
  }
  return result;
}

class FlyHashTest : public testing::TestWithParam<int64_t> {
 protected:
  FlyHashTest() : target_(GetParam()) {}

 private:
  OnTarget target_;
};

INSTANTIATE_TEST_SUITE_P(Every, FlyHashTest, testing::ValuesIn(all_targets()),
                         [](const auto &info) { return std::string(hwy::TargetName(info.param)); });

constexpr FlyShape shapes[] = {{1, 1, 1, 1, 1},        {1, 100, 7, 1, 2},       {2, 33, 33, 2, 3},
                               {31, 64, 1, 5, 4},      {32, 500, 25, 2, 5},     {33, 1000, 999, 33, 6},
                               {100, 4096, 205, 5, 7}, {784, 5000, 250, 39, 8}, {300, 9000, 4000, 1, 9},
                               {70, 20000, 10, 4, 10}, {1500, 300, 15, 700, 11}};

TEST_P(FlyHashTest, AgreesWithTheDefinition) {
  uint64_t seed = 0;
  for (const FlyShape &shape : shapes) {
    const NaiveFlyHash naive(shape);
    FlyProjection projection(shape);
    projection.draw(0, shape.hash_length);
    FlyBlock block(projection);
    for (const size_t count : {1, 32, 5}) {
      const Vectors vectors = mixed_vectors(shape.dimension, count, ++seed);
      const auto hashes = hash_block(block, shape, vectors, seed % 2 == 0 ? 777 : 1000000);
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(hashes[i], naive.hash(vectors[i]))
            << "vector " << i << " of " << count << ", dimension " << shape.dimension;
      }
    }
  }
}

TEST_P(FlyHashTest, LevelsAreRoundedMultiplesOfAPowerOfTwo) {
  for (const uint32_t dimension : {1, 7, 8, 15, 16, 17, 100}) {
    for (const std::vector<float> &vector : mixed_vectors(dimension, 14, dimension)) {
      for (const float scale : {1.0f, 0x1p-140f, 0x1p100f}) {
        std::vector<float> scaled = vector;
        for (float &value : scaled) value *= scale;
        const std::vector<int64_t> expected = naive_steps(scaled);
        const std::vector<uint16_t> levels = levels_of(scaled);
        for (size_t i = 0; i < dimension; ++i) ASSERT_EQ(levels[i], expected[i] + 16384) << scaled[i];
      }
    }
  }
  // The largest and the least numbers, halves, and what rounds up to one more than fits.
  EXPECT_EQ(levels_of({FLT_MAX, -FLT_MAX, FLT_TRUE_MIN, 0.0f, -0.0f}),
            (std::vector<uint16_t>{32767, 1, 16384, 16384, 16384}));
  EXPECT_EQ(levels_of({FLT_TRUE_MIN, -FLT_TRUE_MIN, 3 * FLT_TRUE_MIN}),
            (std::vector<uint16_t>{16384 + 4096, 16384 - 4096, 16384 + 12288}));
  EXPECT_EQ(levels_of({8192.0f, 0.5f, 1.5f, -0.5f, -2.5f, 16383.75f}),
            (std::vector<uint16_t>{16384 + 8192, 16384, 16386, 16384, 16382, 32767}));
}

// Vectors whose first rows have larger activations than the others, so that the sample misleads.
TEST_P(FlyHashTest, ASampleThatMisleadsDoesNotChangeTheWinners) {
  const FlyShape shape{2000, 25000, 12500, 2, 12};
  const NaiveFlyHash naive(shape);
  std::vector<float> vector(shape.dimension, -1);
  for (size_t row = 0; row < 1024; ++row) {
    for (const uint32_t position : naive.rows()[row]) vector[position] = 1;
  }
  const std::vector<uint32_t> expected = naive.hash(vector);
  FlyProjection projection(shape);
  projection.draw(0, shape.hash_length);
  FlyBlock block(projection);
  const Vectors vectors = {mixed_vectors(shape.dimension, 1, 1)[0], vector};
  EXPECT_EQ(hash_block(block, shape, vectors)[1], expected);
  // Later vectors of the same block are not affected.
  EXPECT_EQ(hash_block(block, shape, {vectors[0]})[0], naive.hash(vectors[0]));
}

TEST(FlyHash, DefaultSharesAreATwentiethRounded) {
  for (uint32_t count = 1; count < 100000; count += count < 100 ? 1 : 37) {
    ASSERT_EQ(fly_share(count), std::max(1.0, std::floor(count / 20.0 + 0.5))) << count;
  }
}

// Stored hashes depend on these values, so they must never change.
TEST(FlyHash, GoldenValues) {
  const FlyShape shape{20, 40, 5, 4, 1};
  FlyProjection projection(shape);
  projection.draw(0, shape.hash_length);
  EXPECT_EQ(std::vector<uint16_t>(projection.positions(), projection.positions() + 12),
            (std::vector<uint16_t>{6, 7, 12, 15, 1, 10, 11, 14, 0, 8, 9, 13}));
  std::vector<float> vector(20);
  for (size_t i = 0; i < vector.size(); ++i) vector[i] = static_cast<float>(i * i % 7) - 2.5f;
  FlyBlock block(projection);
  EXPECT_EQ(hash_block(block, shape, {vector})[0], (std::vector<uint32_t>{16, 27, 31, 34, 36}));
}

TEST(FlyHash, RowsAreUniformSamplesWithoutRepetition) {
  const FlyShape shape{50, 20000, 1, 10, 77};
  FlyProjection projection(shape);
  projection.draw(10000, 20000);  // in two ranges, the later one first
  projection.draw(0, 10000);
  std::vector<int> counts(shape.dimension);
  std::vector<int> pairs(size_t{shape.dimension} * shape.dimension);
  for (uint32_t row = 0; row < shape.hash_length; ++row) {
    const uint16_t *positions = projection.positions() + size_t{row} * shape.projection;
    for (uint32_t i = 0; i < shape.projection; ++i) {
      ASSERT_LT(positions[i], shape.dimension);
      if (i > 0) {
        ASSERT_LT(positions[i - 1], positions[i]);
      }
      ++counts[positions[i]];
      for (uint32_t j = 0; j < i; ++j) ++pairs[positions[j] * shape.dimension + positions[i]];
    }
  }
  // Each position is in a row with a probability of 1/5, each pair with 10 * 9 / (50 * 49).
  for (const int count : counts) EXPECT_NEAR(count, 4000, 5 * std::sqrt(4000 * 0.8));
  for (uint32_t a = 0; a < shape.dimension; ++a) {
    for (uint32_t b = a + 1; b < shape.dimension; ++b) {
      EXPECT_NEAR(pairs[a * shape.dimension + b], 734.7, 6 * std::sqrt(734.7));
    }
  }
}

TEST(FlyHash, OtherSeedsAreOtherHashes) {
  const FlyShape shape{100, 2000, 100, 5, 1};
  FlyShape other = shape;
  other.seed = uint64_t{1} << 40 | 1;
  const std::vector<float> vector = mixed_vectors(100, 1, 3)[0];
  EXPECT_NE(NaiveFlyHash(shape).hash(vector), NaiveFlyHash(other).hash(vector));
}

size_t shared(const std::vector<uint32_t> &a, const std::vector<uint32_t> &b) {
  std::vector<uint32_t> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both.size();
}

// Rounding to levels changes almost no winners of vectors without outliers, and only few if one value is a
// thousand times larger than the others.
TEST(FlyHash, RoundingHardlyChangesTheWinners) {
  const FlyShape shape{400, 8000, 400, 20, 5};
  const NaiveFlyHash naive(shape);
  std::mt19937_64 random(9);
  std::normal_distribution<float> normal;
  size_t same = 0, same_with_outlier = 0;
  for (int i = 0; i < 10; ++i) {
    std::vector<float> vector(shape.dimension);
    for (float &value : vector) value = normal(random);
    same += shared(naive.hash(vector), naive.hash_unrounded(vector));
    vector[0] = -1000;
    same_with_outlier += shared(naive.hash(vector), naive.hash_unrounded(vector));
  }
  EXPECT_GE(same, 3990u);
  EXPECT_GE(same_with_outlier, 3900u);
}

// The nearest neighbours of clustered vectors by hash are the nearest by distance far more often than at
// random.
TEST(FlyHash, NeighboursByHashAreNeighbours) {
  constexpr size_t clusters = 30, a_cluster = 20, wanted = 10;
  const FlyShape shape{64, 64 * 32, 102, 3, 1};
  std::mt19937_64 random(4);
  std::normal_distribution<float> normal;
  Vectors vectors;
  for (size_t cluster = 0; cluster < clusters; ++cluster) {
    std::vector<float> centre(shape.dimension);
    for (float &value : centre) value = normal(random);
    for (size_t i = 0; i < a_cluster; ++i) {
      vectors.push_back(centre);
      for (float &value : vectors.back()) value += 0.5f * normal(random);
    }
  }
  BulkFlyHasher hasher(shape, Device::cpu, 0, 2);
  for (const auto &vector : vectors) hasher.add(vector.data());
  while (!hasher.step(std::chrono::milliseconds(1))) {
  }
  std::vector<std::vector<uint32_t>> hashes;
  for (size_t i = 0; i < vectors.size(); ++i) {
    hashes.emplace_back(hasher.winners(i).begin(), hasher.winners(i).end());
  }
  const auto nearest = [&](const auto &distance) {
    std::vector<std::pair<double, uint32_t>> all;
    for (uint32_t i = 0; i < vectors.size(); ++i) all.emplace_back(distance(i), i);
    std::sort(all.begin(), all.end());
    std::vector<uint32_t> found;
    for (size_t i = 1; i <= wanted; ++i) found.push_back(all[i].second);  // the first is the vector itself
    std::sort(found.begin(), found.end());
    return found;
  };
  size_t right = 0;
  for (size_t query = 0; query < vectors.size(); ++query) {
    const auto exact = nearest([&](uint32_t i) {
      double sum = 0;
      for (uint32_t d = 0; d < shape.dimension; ++d) sum += std::pow(vectors[query][d] - vectors[i][d], 2);
      return sum;
    });
    const auto by_hash =
        nearest([&](uint32_t i) { return -static_cast<double>(shared(hashes[query], hashes[i])); });
    right += shared(exact, by_hash);
  }
  const double precision = static_cast<double>(right) / static_cast<double>(vectors.size() * wanted);
  RecordProperty("precision", std::to_string(precision));
  EXPECT_GT(precision, 0.6);  // of any ten others: 0.017; of ten of the same cluster: 0.53
}

// Rounds on several threads give the hashes of single blocks, whatever the number of vectors.
TEST(BulkFlyHash, IsThatOfSingleVectors) {
  const FlyShape shape{90, 6000, 300, 5, 3};
  FlyProjection projection(shape);
  projection.draw(0, shape.hash_length);
  FlyBlock block(projection);
  BulkFlyHasher hasher(shape, Device::automatic, 0, 3);
  for (const size_t count : {0, 1, 31, 32, 33, 100}) {
    const Vectors vectors = mixed_vectors(shape.dimension, count, count);
    for (const auto &vector : vectors) hasher.add(vector.data());
    ASSERT_EQ(hasher.vectors(), count);
    while (!hasher.step(std::chrono::milliseconds(1))) {
    }
    for (size_t i = 0; i < count; ++i) {
      const auto winners = hasher.winners(i);
      ASSERT_EQ(std::vector<uint32_t>(winners.begin(), winners.end()),
                hash_block(block, shape, {vectors[i]})[0]);
    }
    EXPECT_EQ(hasher.take_notice(), nullptr);
    hasher.clear();
  }
}

TEST(BulkFlyHash, ARoundIsBounded) {
  BulkFlyHasher hasher({1000, 100000, 100000, 1, 1}, Device::cpu, 0, 1);
  const std::vector<float> vector(1000, 1);
  size_t count = 0;
  while (!hasher.full()) {
    hasher.add(vector.data());
    ++count;
  }
  EXPECT_EQ(count, 168u);  // 64 MB of winners
}

// Computes on the CPU, and fails on demand.
class FakeFlyGpu final : public FakeGpu, public CpuFlyHash {
 public:
  class Work final : public CpuFlyHash::Work {
   public:
    Work(const FlyShape &shape, FakeFlyGpu &gpu)
        : CpuFlyHash::Work(shape), winners_(shape.winners), gpu_(gpu) {}
    void hash(const uint16_t *levels, size_t vectors, uint32_t *winners, WorkerPool &pool) override {
      ++gpu_.rounds;
      std::fill_n(winners, vectors * winners_, 0xDEADu);
      if (gpu_.fault) fail_as(*gpu_.fault);
      CpuFlyHash::Work::hash(levels, vectors, winners, pool);
    }

   private:
    const uint32_t winners_;
    FakeFlyGpu &gpu_;
  };

  FlyHashDevice *flyhash() override { return this; }
  std::unique_ptr<FlyHashWork> open(const FlyShape &shape, size_t) override {
    return std::make_unique<Work>(shape, *this);
  }

  std::optional<ErrorKind> fault;
  int rounds = 0;
};

// Hashes the vectors in a round of their own and checks the winners.
void check_round(BulkFlyHasher &hasher, const NaiveFlyHash &naive, const Vectors &vectors) {
  hasher.clear();
  for (const auto &vector : vectors) hasher.add(vector.data());
  while (!hasher.step(std::chrono::milliseconds(1))) {
  }
  for (size_t i = 0; i < vectors.size(); ++i) {
    const auto winners = hasher.winners(i);
    ASSERT_EQ(std::vector<uint32_t>(winners.begin(), winners.end()), naive.hash(vectors[i]));
  }
}

constexpr FlyShape small_shape{40, 3000, 150, 4, 1};

TEST(BulkFlyHash, AGpuThatFailsIsReplacedByTheCpu) {
  const NaiveFlyHash naive(small_shape);
  for (const ErrorKind kind :
       {ErrorKind::device_failure, ErrorKind::device_unavailable, ErrorKind::limit_exceeded}) {
    FakeFlyGpu gpu;
    BulkFlyHasher hasher(small_shape, Device::automatic, 0, 1);
    check_round(hasher, naive, mixed_vectors(40, 600, 1));
    EXPECT_EQ(gpu.rounds, 1);
    EXPECT_EQ(hasher.take_notice(), nullptr);
    gpu.fault = kind;
    check_round(hasher, naive, mixed_vectors(40, 600, 2));
    EXPECT_EQ(gpu.rounds, 2);
    const std::unique_ptr<Notice> notice = hasher.take_notice();
    ASSERT_NE(notice, nullptr);
    EXPECT_EQ(notice->cause, cause_of(kind));
    EXPECT_EQ(notice->message, "injected");
    check_round(hasher, naive, mixed_vectors(40, 600, 3));
    EXPECT_EQ(gpu.rounds, 2) << "a second try";
    EXPECT_EQ(hasher.take_notice(), nullptr);
  }
}

TEST(BulkFlyHash, AGpuThatIsDemandedMayNotFail) {
  FakeFlyGpu gpu;
  gpu.fault = ErrorKind::limit_exceeded;
  BulkFlyHasher hasher(small_shape, Device::gpu, 0, 1);
  EXPECT_THROW(check_round(hasher, NaiveFlyHash(small_shape), mixed_vectors(40, 3, 1)), Error);
}

// Rounds that are each too small to pay for the setup of the GPU pay for it together.
TEST(BulkFlyHash, ManyRoundsPayForTheStartOfAGpu) {
  FakeFlyGpu gpu;
  gpu.is_started = false;
  const FlyShape shape{1000, 30000, 5, 100, 1};
  BulkFlyHasher hasher(shape, Device::automatic, 0, 1);
  const std::vector<float> vector(1000, 1);
  int rounds = 0;
  for (; gpu.rounds == 0 && rounds < 50; ++rounds) {
    hasher.clear();
    for (int i = 0; i < 640; ++i) hasher.add(vector.data());
    while (!hasher.step(std::chrono::milliseconds(1))) {
    }
  }
  EXPECT_GT(rounds, 3);
  EXPECT_LT(rounds, 50);
}

// If very many positions win, fewer vectors are hashed together.
TEST(BulkFlyHash, ManyWinnersTakeSmallerBlocks) {
  const FlyShape shape{3, 500000, 300000, 1, 3};
  FlyProjection projection(shape);
  projection.draw(0, shape.hash_length);
  EXPECT_EQ(FlyBlock(projection).most_vectors(), 8u);
  EXPECT_EQ(FlyBlock(FlyProjection({3, 5000, 300, 1, 3})).most_vectors(), fly_block_vectors);
  const NaiveFlyHash naive(shape);
  BulkFlyHasher hasher(shape, Device::cpu, 0, 2);
  check_round(hasher, naive, mixed_vectors(shape.dimension, 9, 3));
}

// A computation that is abandoned in the middle of a round ends soon.
TEST(BulkFlyHash, AbandonedRoundsEndSoon) {
  const FlyShape shape{20000, 20000, 1000, 1000, 1};
  const std::vector<float> vector(shape.dimension, 1);
  for (const int steps : {0, 1, 10}) {
    auto hasher = std::make_unique<BulkFlyHasher>(shape, Device::cpu, 0, 2);
    for (int i = 0; i < 2000; ++i) hasher->add(vector.data());
    for (int i = 0; i < steps; ++i) hasher->step(std::chrono::milliseconds(20));
    const auto begin = processor_time();
    hasher.reset();
    EXPECT_LT(processor_time() - begin, std::chrono::seconds(1)) << steps << " steps";
  }
}

}  // namespace
}  // namespace simjoin::test
