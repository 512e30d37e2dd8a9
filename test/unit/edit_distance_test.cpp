// Edit distances against the plain table of distances.
#include "core/text/edit_distance.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <vector>

#include "core/base/interruption.hpp"
#include "core/base/thread_clock.hpp"
#include "core/base/worker_pool.hpp"
#include "core/text/damerau_distance.hpp"
#include "unit/edit_texts.hpp"

namespace simjoin {
namespace {

template <typename Character>
void expect_distances(const std::vector<Character> &a, const std::vector<Character> &b, int64_t expected,
                      TextDraws *draws) {
  const std::span<const Character> first(a), second(b);
  ASSERT_EQ(edit_distance(first, second), expected);
  ASSERT_EQ(edit_distance(second, first), expected);
  const auto longest = static_cast<int64_t>(std::max(a.size(), b.size()));
  for (int64_t most : {int64_t{0}, expected - 1, expected, expected + 1, longest, longest * 3,
                       int64_t{1} << 40, static_cast<int64_t>(draws->number(0, a.size() + b.size()))}) {
    if (most < 0) continue;
    ASSERT_EQ(edit_distance_up_to(first, second, most), std::min(expected, most + 1)) << most;
  }
}

void expect_distances(const Text &a, const Text &b, TextDraws *draws) {
  const int64_t expected = distance_by_table(a, b);
  expect_distances<uint32_t>(a, b, expected, draws);
  const auto is_byte = [](uint32_t character) { return character < 256; };
  if (!std::all_of(a.begin(), a.end(), is_byte) || !std::all_of(b.begin(), b.end(), is_byte)) return;
  expect_distances<uint8_t>(std::vector<uint8_t>(a.begin(), a.end()),
                            std::vector<uint8_t>(b.begin(), b.end()), expected, draws);
}

TEST(EditDistance, IsThatOfTheTableForShortTexts) {
  TextDraws draws(1);
  for (int i = 0; i < 4000; ++i) {
    const Text &alphabet = alphabets[draws.number(0, alphabets.size() - 1)];
    const Text a = draws.text(alphabet, draws.number(0, 12));
    expect_distances(a, draws.text(alphabet, draws.number(0, 12)), &draws);
    expect_distances(a, draws.edited(a, alphabet, draws.number(0, 4)), &draws);
  }
}

TEST(EditDistance, IsThatOfTheTableForTextsOfSeveralBlocks) {
  TextDraws draws(2);
  for (int i = 0; i < 250; ++i) {
    const Text &alphabet = alphabets[draws.number(0, alphabets.size() - 1)];
    const Text a = draws.text(alphabet, draws.number(1, 300));
    expect_distances(a, draws.text(alphabet, draws.number(1, 300)), &draws);
    expect_distances(a, draws.edited(a, alphabet, draws.number(0, 60)), &draws);
  }
  for (const size_t length : {63U, 64U, 65U, 127U, 128U, 129U, 1000U, 1500U}) {
    const Text a = draws.text(alphabets[1], length);
    expect_distances(a, draws.edited(a, alphabets[1], draws.number(0, length / 3)), &draws);
    expect_distances(a, draws.text(alphabets[1], length + 70), &draws);
  }
}

TEST(EditDistance, TakesTimeByTheDistanceOfLongTexts) {
  TextDraws draws(3);
  const Text a = draws.text(alphabets[1], 3'000'000);
  Text b = draws.edited(a, alphabets[1], 20);
  b.front() = 'x';  // so that not all of the text is left out at once
  b.back() = 'y';
  const int64_t distance = edit_distance<uint32_t>(a, b);
  EXPECT_GT(distance, 2);
  EXPECT_LE(distance, 22);
  EXPECT_EQ(edit_distance_up_to<uint32_t>(a, b, distance - 1), distance);
}

void expect_damerau_distances(const Text &a, const Text &b) {
  const int64_t expected = damerau_by_table(a, b);
  ASSERT_EQ(damerau_distance<uint32_t>(a, b), expected);
  ASSERT_EQ(damerau_distance<uint32_t>(b, a), expected);
  for (const int64_t most : {int64_t{0}, expected - 1, expected, expected + 1, int64_t{1} << 40}) {
    if (most < 0) continue;
    ASSERT_EQ(damerau_distance_up_to<uint32_t>(a, b, most), std::min(expected, most + 1)) << most;
  }
}

TEST(DamerauDistance, IsThatOfTheTable) {
  TextDraws draws(11);
  for (int i = 0; i < 6000; ++i) {
    const Text &alphabet = alphabets[draws.number(0, alphabets.size() - 1)];
    const Text a = draws.text(alphabet, draws.number(0, i % 40 == 0 ? 150 : 12));
    expect_damerau_distances(a, draws.text(alphabet, draws.number(0, 12)));
    expect_damerau_distances(a, edited_and_exchanged(a, alphabet, draws.number(0, 5), &draws));
  }
  // Nothing is changed between two neighbours that are exchanged.
  EXPECT_EQ(damerau_distance<uint32_t>(Text{'c', 'a'}, Text{'a', 'b', 'c'}), 3);
}

// The most that is looked at of the table of long texts is not made ready at once.
TEST(DamerauDistance, IsGivenUpSoon) {
  const std::vector<uint8_t> a(30'000'000, 'a'), b(30'000'000, 'b');
  set_interruption([] { return true; });
  const ThreadClock::time_point begin = ThreadClock::now();
  EXPECT_THROW(damerau_distance_up_to<uint8_t>(a, b, 30'000'000), Cancelled);
  EXPECT_LT(ThreadClock::now() - begin, std::chrono::milliseconds(50));
  set_interruption(nullptr);
}

TEST(DamerauDistance, TakesTimeByTheDistanceOfLongTexts) {
  TextDraws draws(12);
  const Text a = draws.text(alphabets[1], 1'000'000);
  Text b = edited_and_exchanged(a, alphabets[1], 10, &draws);
  b.front() = 'x';
  b.back() = 'y';
  const int64_t distance = damerau_distance<uint32_t>(a, b);
  EXPECT_GT(distance, 2);
  EXPECT_LE(distance, 12);
}

}  // namespace
}  // namespace simjoin
