// The choice between prefix index and bitmap filter on a device. The tests need no GPU.
#include "cuda/engine/gpu_choice.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <utility>
#include <vector>

#include "cuda/engine/compared_sets.hpp"

namespace simjoin::gpu {
namespace {

// Returns a side with `sets_per_size` sets of each size.
DeviceSide sides_of(const std::vector<uint32_t> &sizes, uint32_t sets_per_size) {
  DeviceSide side;
  for (const uint32_t size : sizes) {
    side.classes.push_back({size, side.sets});
    side.sets += sets_per_size;
  }
  side.classes.push_back({UINT32_MAX, side.sets});
  return side;
}

double total(const std::vector<double> &costs) {
  return std::accumulate(costs.begin(), costs.end(), 0.0);
}

SignatureWidths widths_from(uint32_t base) {
  SignatureWidths widths;
  widths.base = base;
  return widths;
}

TEST(GpuCosts, BitmapsCostMoreForMorePairsSlowerKernelsAndLowerThresholds) {
  const DeviceSide few = sides_of({40, 60, 80}, 10'000), many = sides_of({40, 60, 80}, 100'000);
  const SignatureWidths widths = widths_from(140);
  const Bounds high(Measure::jaccard, 0.8), low(Measure::jaccard, 0.5);
  const auto cost = [&](const Bounds &bounds, const DeviceSide &side, BitmapKernel kernel) {
    return total(bitmap_costs(bounds, side, side, true, widths, kernel));
  };
  const double usual = cost(high, few, BitmapKernel::warpgroup);
  EXPECT_GT(usual, 0);
  EXPECT_GT(cost(high, many, BitmapKernel::warpgroup), 50 * usual);
  EXPECT_GT(cost(low, few, BitmapKernel::warpgroup), usual);
  EXPECT_GT(cost(high, few, BitmapKernel::warp), usual);
  EXPECT_GT(cost(high, few, BitmapKernel::popcount), cost(high, few, BitmapKernel::warp));
  // Two sides have every pair, a self-join has half of them.
  EXPECT_NEAR(total(bitmap_costs(high, few, few, false, widths, BitmapKernel::warp)),
              2 * cost(high, few, BitmapKernel::warp), 0.2 * usual);
}

TEST(GpuCosts, WiderSignaturesCostMoreAndSetsWithoutPartnersNothing) {
  const Bounds bounds(Measure::jaccard, 0.9);
  const DeviceSide side = sides_of({100}, 10'000), longer = sides_of({1'000}, 10'000);
  EXPECT_GT(total(bitmap_costs(bounds, side, side, true, widths_from(30), BitmapKernel::warp)),
            total(bitmap_costs(bounds, side, side, true, widths_from(300), BitmapKernel::warp)));
  EXPECT_EQ(total(bitmap_costs(bounds, side, longer, false, widths_from(300), BitmapKernel::warp)), 0);
}

TEST(GpuCosts, RangesAreCutWhereThereIsWorkAndSizesGrow) {
  const Bounds bounds(Measure::jaccard, 0.9);
  const DeviceSide side = sides_of({10, 100, 101, 102, 110, 120, 500}, 1'000);
  const ComparedSets sets{bounds, side, side, true};
  const auto cut = [&](uint32_t begin, uint32_t end, double least, uint32_t border = 0) {
    std::vector<uint32_t> ends;
    double pairs = 0;
    for (const RangePart &part : cut_range(sets, range_of(sets, begin, end, border), least, 1.05)) {
      EXPECT_EQ(part.begin, ends.empty() ? begin : ends.back());
      ends.push_back(part.end);
      pairs += part.pairs;
    }
    return std::pair(ends, pairs);
  };
  const double all = static_cast<double>(compatible_pairs(sets));
  EXPECT_NEAR(cut(0, 7'000, 1).second, all, 0.01 * all);
  EXPECT_EQ(cut(0, 7'000, 1).first, (std::vector<uint32_t>{1'000, 4'000, 5'000, 6'000, 7'000}));
  EXPECT_EQ(cut(0, 7'000, 1e6).first, (std::vector<uint32_t>{2'000, 4'000, 5'000, 7'000}));
  EXPECT_EQ(cut(1'500, 4'500, 1e12).first, (std::vector<uint32_t>{4'500}));
  // Partners before the border are of no account.
  EXPECT_EQ(cut(0, 7'000, 1, 7'000).second, 0);
  EXPECT_LT(cut(0, 7'000, 1, 6'000).second, 0.5 * all);
}

TEST(GpuCosts, FewLongSetsWithManyPartnersHaveNarrowerSignatures) {
  const Bounds bounds(Measure::overlap, 50);
  const DeviceSide few = sides_of({20'000}, 10), many = sides_of({60, 20'000}, 1'000'000);
  const auto steps = [&](const DeviceSide &partners, double most_bytes) {
    const ComparedSets sets{bounds, few, partners, false};
    const std::vector<BitmapRange> ranges = bitmap_ranges(sets, widths_from(70), 0, most_bytes);
    return ranges.size() == 1 ? ranges[0].steps : 0;
  };
  EXPECT_EQ(steps(few, 1e9), 1024u);
  EXPECT_EQ(steps(few, 50e6), 256u);  // tables have room for 1024 sets or more
  EXPECT_EQ(steps(many, 1e12), 1024u);
  EXPECT_EQ(steps(many, 20e9), 256u);
  EXPECT_EQ(steps(many, 1), 64u);
}

TEST(GpuCosts, EntriesCostMoreForLongerSetsAndAnIndexForMoreTokens) {
  EXPECT_GT(entries_ms(1e6, 200), entries_ms(1e6, 20));
  EXPECT_DOUBLE_EQ(entries_ms(2e6, 20), 2 * entries_ms(1e6, 20));
  EXPECT_GT(index_cost(1e8), index_cost(1e6));
  EXPECT_GT(index_cost(0), 0);
}

TEST(GpuCosts, AnIndexCostsMoreForTheClassesItHas) {
  const DeviceSide side = sides_of({10, 50, 90}, 1'000);
  const std::vector<double> entries{1e6, 2e6, 3e6};
  const std::vector<double> visits = prefix_costs(side, entries, {});
  EXPECT_DOUBLE_EQ(visits[2], entries_ms(3e6, 90));
  const std::vector<double> built = prefix_costs(side, entries, {1e7, 2e7, 3e7});
  EXPECT_DOUBLE_EQ(built[0], visits[0] + index_cost(1e7));
  EXPECT_DOUBLE_EQ(total(built), total(visits) + index_cost(6e7));
}

TEST(GpuCosts, TheBorderFollowsTheCheaperWay) {
  const DeviceSide side = sides_of({10, 50, 90}, 1'000);
  const std::vector<double> bitmap_ms{10, 10, 10};
  EXPECT_EQ(choose_border(side, {1, 1, 1}, bitmap_ms).border, 3u);
  EXPECT_EQ(choose_border(side, {100, 1, 1}, bitmap_ms).border, 0u) << "the index costs more than it saves";
  EXPECT_EQ(choose_border(side, {11, 1, 1}, bitmap_ms).border, 3u) << "later classes repay the first";
  EXPECT_EQ(choose_border(side, {1, 100, 100}, bitmap_ms).border, 1u);
  EXPECT_EQ(choose_border(side, {1, 1, 100}, bitmap_ms).border, 2u);
  // An index of the first class or two leaves the others to bitmaps.
  EXPECT_EQ(choose_border(side, {1, 1}, bitmap_ms).border, 2u);
  EXPECT_EQ(choose_border(side, {1}, bitmap_ms).border, 1u);
  EXPECT_EQ(choose_border(side, {11}, bitmap_ms).border, 0u);
  // A higher cost moves the border down, once.
  size_t before = 3;
  for (double cost = 1; cost < 100; cost *= 2) {
    const size_t border = choose_border(side, {cost, 2 * cost, 3 * cost}, bitmap_ms).border;
    EXPECT_LE(border, before) << cost;
    before = border;
  }
  EXPECT_EQ(before, 0u);
}

}  // namespace
}  // namespace simjoin::gpu
