// Sizes of a join's launches. The tests need no device.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "core/base/error.hpp"
#include "cuda/base/launch_size.hpp"
#include "cuda/filters/bitmap/bitmap_filter.hpp"

namespace simjoin::test {
namespace {

using gpu::FinishedLaunch;
using gpu::next_items;
using gpu::next_window;

constexpr uint64_t room = uint64_t{8} << 20;

TEST(Launches, NextIsAsLongAsALaunchIsToBe) {
  EXPECT_DOUBLE_EQ(next_items({1000, 2 * gpu::launch_ms}, room), 500);
  EXPECT_DOUBLE_EQ(next_items({1000, gpu::launch_ms / 4}, room), 4000);
  EXPECT_DOUBLE_EQ(next_items({1000, 0}, room), 1000 * gpu::most_growth);
}

TEST(Launches, NextLeavesNoMoreThanThereIsRoomFor) {
  EXPECT_DOUBLE_EQ(next_items({1000, gpu::launch_ms, room}, room), 500);
  EXPECT_DOUBLE_EQ(next_items({1000, gpu::launch_ms, 4 * room}, room), 125);
  EXPECT_DOUBLE_EQ(next_items({1000, gpu::launch_ms, room / 64}, room), 1000);
}

TEST(Launches, ThereIsAlwaysOneItem) {
  EXPECT_DOUBLE_EQ(next_items({1, 1000, 100 * room}, room), 1);
  EXPECT_DOUBLE_EQ(gpu::first_items(1e-9, 1), 1);
}

TEST(Launches, FewCandidatesTellNothingUnlessTheyTakeLong) {
  EXPECT_DOUBLE_EQ(next_window({10, 0.01}, 1e6), 1e6);
  EXPECT_DOUBLE_EQ(next_window({10, 10 * gpu::launch_ms}, 1e6), 1);
  EXPECT_DOUBLE_EQ(next_window({1e6, gpu::launch_ms / 2}, 1e6), 2e6);
}

// Devices up to a hundred times slower than the first launch assumes, and items that become up to fifty times
// slower. No launch takes 100 ms, and a fast device needs few launches.
TEST(Launches, NoneTakesLongOnAnyDevice) {
  constexpr double items = 1e6;
  for (const double estimate : {1e3, 1e5, 1e7}) {        // items per millisecond
    for (const double error : {0.01, 0.1, 1.0, 10.0}) {  // of the true rate
      double next = gpu::first_items(estimate, 132), sum = 0, begin = 0;
      EXPECT_DOUBLE_EQ(next, estimate * gpu::first_launch_ms);
      int launches = 0;
      while (begin < items) {
        const double used = std::min(std::floor(next), items - begin);
        const double middle = (begin + used / 2) / items;
        const double ms = used * (1 + 49 * middle) / (50 * estimate * error);
        EXPECT_LT(ms, 100) << estimate << " items a ms at " << error << ", from item " << begin;
        next = next_items({used, ms}, room);
        begin += used;
        sum += ms;
        ++launches;
      }
      EXPECT_LE(launches, 5 + 2 * sum / gpu::launch_ms) << estimate << " items a ms at " << error;
    }
  }
}

// More items than 32 bits can number, as in a join of hundreds of millions of sets of one size.
TEST(Launches, TooManyItemsAreAnError) {
  const Bounds bounds(Measure::jaccard, 0.5);
  const auto plan = [&](uint32_t sets) {
    gpu::DeviceSide side;
    side.sets = sets;
    side.classes = {{10, 0}, {UINT32_MAX, sets}};
    return gpu::plan_tiles(bounds, side, side, true, {0, sets, 0, sets, 0}, 1, 1, 132, room);
  };
  const gpu::TilePlan fits = plan(50'000'000);
  EXPECT_GT(fits.pairs, 1.2e15);
  EXPECT_GE(static_cast<double>(fits.items) * fits.pairs_per_item(), 1.2e15);
  EXPECT_EQ(fits.tiles.back().first_item + 1, fits.items);
  EXPECT_THROW(plan(200'000'000), Error);
}

// Wide signatures take long, so an item has few pairs, and few sets are items for many multiprocessors.
TEST(Launches, WideSignaturesHaveSmallItems) {
  const Bounds bounds(Measure::jaccard, 0.5);
  gpu::DeviceSide side;
  side.sets = 4096;
  side.classes = {{20'000, 0}, {UINT32_MAX, side.sets}};
  const auto plan = [&](uint32_t steps) {
    return gpu::plan_tiles(bounds, side, side, true, {0, side.sets, 0, side.sets, 0}, steps, 1, 132, room);
  };
  EXPECT_EQ(plan(gpu::widest_tile_steps).segment, gpu::least_segment);
  EXPECT_EQ(plan(1024).segment, gpu::least_wide_segment);
  EXPECT_GE(plan(1024).items, 132u);
}

}  // namespace
}  // namespace simjoin::test
