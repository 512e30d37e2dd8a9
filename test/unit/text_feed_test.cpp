// Texts become numbers on many threads: equal ones the same, others not, in rows that keep their order.
#include "core/sets/text_feed.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <thread>

#include "core/base/error.hpp"
#include "core/base/thread_budget.hpp"
#include "core/sets/numbered_sets.hpp"
#include "core/sets/text_numbers.hpp"
#include "unit/drive.hpp"
#include "unit/random_sets.hpp"
#include "unit/typed_tokens.hpp"

namespace simjoin::test {
namespace {

std::vector<std::string_view> views_of(const Texts &texts) {
  return {texts.begin(), texts.end()};
}

// Texts of all lengths from 0 to 40 bytes, among them zero bytes, one the beginning or the end of another.
Texts awkward_texts() {
  Texts texts;
  for (size_t size = 0; size <= 40; ++size) {
    texts.push_back(std::string(size, '\0'));
    texts.push_back(std::string(size, 'x'));
    texts.push_back(std::string(size, '\xff'));
    if (size == 0) continue;
    texts.push_back(std::string(size - 1, 'x') + '\0');
    texts.push_back('\0' + std::string(size - 1, 'x'));
    texts.push_back(std::string(size - 1, 'x') + 'y');
    texts.push_back('y' + std::string(size - 1, 'x'));
  }
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  return texts;
}

TEST(PackedTexts, AreReadAsTheyWerePacked) {
  const Texts texts = awkward_texts();
  const TextPacker packer = packed(texts);
  PackedTextReader reader(packer.texts());
  for (const std::string &text : texts) EXPECT_EQ(reader.next(), text);
  EXPECT_THROW(reader.next(), Error);
}

// PostgreSQL's short headers, also at the end of the bytes.
TEST(PackedTexts, MayHaveHeadersOfOneByte) {
  const std::string bytes(
      "\x07"
      "ab\0"
      "\x03\0\0\0"
      "\x18\0\0\0cd\0\0"
      "\x09"
      "efg",
      20);
  PackedTextReader reader({bytes.data(), bytes.size(), 4});
  for (const char *text : {"ab", "", "cd", "efg"}) EXPECT_EQ(reader.next(), text);
  EXPECT_THROW(reader.next(), Error);
}

TEST(PackedTexts, NeverEndBehindTheirBytes) {
  for (const std::string &bytes :
       {std::string("\x14\0\0\0", 4), std::string("\x0c\0\0\0", 4), std::string("\x0b\0\0\0", 4),
        std::string("\x01\0\0\0", 4), std::string("\xfc\xff\xff\xff", 4), std::string("\x07", 1)}) {
    PackedTextReader reader({bytes.data(), bytes.size(), 1});
    EXPECT_THROW(reader.next(), Error) << bytes.size() << ' ' << int{bytes[0]};
  }
}

TEST(TextNumbersTest, TellTextsApart) {
  const Texts texts = awkward_texts();
  MemoryCounter memory;
  TextNumbers numbers(memory);
  TextStore::Piece piece = numbers.take_piece();
  std::vector<uint32_t> first(texts.size()), again(texts.size());
  number_texts(numbers, views_of(texts), piece, first.data());
  number_texts(numbers, views_of(texts), piece, again.data());
  EXPECT_EQ(numbers.size(), texts.size());
  EXPECT_EQ(first, again);
  for (uint32_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(first[i], i);
    EXPECT_EQ(numbers.text(i), texts[i]);
  }
}

// Several threads look up the same texts while the tables grow many times.
TEST(TextNumbersTest, AreTheSameForAllThreads) {
  constexpr size_t threads = 4, texts = 60'000, together = 512;
  MemoryCounter memory;
  TextNumbers numbers(memory);
  std::vector<uint32_t> found[threads];
  std::vector<std::thread> running;
  const auto text_of = [](size_t i) { return std::string(i % 3 == 0 ? 12 : 1, '.') + std::to_string(i); };
  for (size_t thread = 0; thread < threads; ++thread) {
    running.emplace_back([&, thread] {
      found[thread].resize(texts);
      for (size_t begin = 0; begin < texts; begin += together) {
        numbers.begin_work();
        TextStore::Piece piece = numbers.take_piece();
        const size_t end = std::min(begin + together, texts);
        Texts own;
        for (size_t i = begin; i < end; ++i) own.push_back(text_of(i));
        number_texts(numbers, views_of(own), piece, found[thread].data() + begin);
        numbers.give_back(piece);
        numbers.end_work();
      }
    });
  }
  for (std::thread &thread : running) thread.join();
  EXPECT_EQ(numbers.size(), texts);
  for (size_t thread = 1; thread < threads; ++thread) EXPECT_EQ(found[thread], found[0]);
  for (size_t i = 0; i < texts; ++i) ASSERT_EQ(numbers.text(found[0][i]), text_of(i));
}

// Arrays that one piece of work may still read stay until that has ended.
TEST(TextNumbersTest, KeepWhatOthersMayRead) {
  MemoryCounter memory;
  TextNumbers numbers(memory);
  const uint64_t first = numbers.begin_work();
  numbers.begin_work();
  TextStore::Piece piece = numbers.take_piece();
  uint32_t number;
  for (int i = 0; i < 10'000; ++i) {
    const std::string text = std::to_string(i);
    const std::string_view view = text;
    numbers.number({&view, 1}, piece, &number);
  }
  const size_t kept = memory.current();
  numbers.release_unused(first);
  EXPECT_EQ(memory.current(), kept);
  numbers.end_work();
  numbers.release_unused(first + 1);
  EXPECT_LT(memory.current(), kept);
}

// Few and many numbers, with few and many repetitions, and with few and many that have the same mark.
template <typename Number>
void expect_each_number_once(Number factor) {
  RandomSets random(70);
  DistinctNumbers distinct;
  for (int times = 0; times < 2000; ++times) {
    std::vector<Number> numbers(static_cast<size_t>(random.between(0, times % 7 == 0 ? 1300 : 200)));
    const int32_t most = times % 2 == 0 ? 50'000'000 : 300, step = times % 3 == 0 ? 65536 : 1;
    for (Number &number : numbers)
      number = static_cast<Number>(random.between(0, most / step) * step) * factor;
    if (times % 5 == 0 && numbers.size() > 2) numbers.back() = numbers[numbers.size() / 2];
    const std::set<Number> expected(numbers.begin(), numbers.end());
    numbers.resize(distinct(numbers.data(), numbers.size(), [] {}));
    EXPECT_EQ(numbers.size(), expected.size());
    EXPECT_EQ(std::set<Number>(numbers.begin(), numbers.end()), expected);
  }
}

TEST(DistinctNumbersTest, LeavesEachNumberOnce) {
  expect_each_number_once<uint32_t>(1);
  expect_each_number_once<uint64_t>(1);
  expect_each_number_once<uint64_t>(0x5851F42D4C957F2D);
}

// Rows of both sides in turns come back in their order, each with the numbers of its different texts.
TEST(TextFeedTest, KeepsTheOrderOfRows) {
  RandomSets random(71);
  std::vector<std::pair<Side, Texts>> rows;
  for (int i = 0; i < 5000; ++i) {
    Texts set;
    for (int32_t n = random.between(0, 30); n > 0; --n) {
      const std::string text = std::to_string(random.between(0, 2000));
      set.push_back(n % 4 == 0 ? "a text of more bytes " + text : text);
    }
    if (i == 2500) set.assign(20'000, "the same text");  // larger than a block
    rows.emplace_back(random.between(0, 3) == 0 ? Side::right : Side::left, set);
  }
  for (const int threads : {1, 2, 5}) {
    MemoryCounter memory;
    TextNumbers numbers(memory);
    TextFeed feed(threads, size_t{1} << 20, memory);
    std::vector<Texts> expected[2], found[2];
    const auto take = [&](TextFeed::Time until) {
      while (const auto sets = feed.take(until)) {
        const uint32_t *number = sets->numbers.data();
        for (const uint32_t size : sets->sizes) {
          Texts &set = found[static_cast<int>(sets->side)].emplace_back();
          for (uint32_t i = 0; i < size; ++i) set.emplace_back(numbers.text(*number++));
          std::sort(set.begin(), set.end());
        }
      }
    };
    for (const auto &[side, set] : rows) {
      feed.add(side, packed(set).texts());
      Texts &distinct = expected[static_cast<int>(side)].emplace_back(set);
      std::sort(distinct.begin(), distinct.end());
      distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
      if (!feed.full()) continue;
      feed.submit(numbers);
      take(TextFeed::at_once);
    }
    feed.submit(numbers);
    take(TextFeed::ever);
    EXPECT_EQ(feed.pending_texts(), 0u);
    for (int side = 0; side < 2; ++side) EXPECT_EQ(found[side], expected[side]) << threads;
  }
}

// Hashes are of all texts, and the numbers of distinct texts may keep their order, however many they are.
TEST(TextFeedTest, GivesHashesAndNumbersInOrder) {
  const auto hash = [](std::string_view text) {
    return static_cast<uint32_t>(std::hash<std::string_view>()(text));
  };
  for (const bool in_order : {false, true}) {
    MemoryCounter memory;
    TextNumbers numbers(memory);
    TextFeed feed(3, size_t{1} << 20, memory, in_order ? NumberedForm{true} : NumberedForm{false, hash});
    std::vector<Texts> expected, found;
    std::vector<std::vector<uint32_t>> expected_hashes, found_hashes;
    const auto take = [&](TextFeed::Time until) {
      while (const auto sets = feed.take(until)) {
        const uint32_t *number = sets->numbers.data(), *value = sets->hashes.data();
        for (size_t row = 0; row < sets->sizes.size(); ++row) {
          Texts &set = found.emplace_back();
          for (uint32_t i = 0; i < sets->sizes[row]; ++i) set.emplace_back(numbers.text(*number++));
          if (in_order) continue;
          std::sort(set.begin(), set.end());
          found_hashes.emplace_back(value, value + sets->counts[row]);
          value += sets->counts[row];
        }
      }
    };
    for (int row = 0; row < 1000; ++row) {
      Texts set;
      for (int i = 0; i < (row % 100 == 0 ? 3000 : row % 7); ++i)
        set.push_back(std::to_string((i + row) * 65'536 / 7));
      Texts &distinct = expected.emplace_back(set);
      if (!in_order) {
        std::sort(distinct.begin(), distinct.end());
        if (!set.empty()) set.insert(set.end(), 2, set.front());
        std::vector<uint32_t> &hashes = expected_hashes.emplace_back();
        for (const std::string &text : set) hashes.push_back(hash(text));
      }
      feed.add(Side::left, packed(set).texts());
      if (!feed.full()) continue;
      feed.submit(numbers);
      take(TextFeed::at_once);
    }
    feed.submit(numbers);
    take(TextFeed::ever);
    EXPECT_EQ(found, expected) << in_order;
    EXPECT_EQ(found_hashes, expected_hashes) << in_order;
  }
}

// Few long rows wait at a time, and what their repeated texts took is given back.
TEST(TextFeedTest, BoundsTheBytesOfLongRows) {
  constexpr size_t row_bytes = size_t{1} << 20, rows = 200;
  const TextPacker row_of_texts = packed(Texts(row_bytes / 8, "same"));
  ASSERT_EQ(row_of_texts.texts().size, row_bytes);
  MemoryCounter memory;
  TextNumbers numbers(memory);
  TextFeed feed(2, size_t{1} << 30, memory);
  std::vector<std::unique_ptr<NumberedSets>> taken;
  const auto take = [&](TextFeed::Time until) {
    while (auto sets = feed.take(until)) taken.push_back(std::move(sets));
  };
  for (size_t row = 0; row < rows; ++row) {
    feed.add(Side::left, row_of_texts.texts());
    feed.submit(numbers);
    take(TextFeed::at_once);
  }
  take(TextFeed::ever);
  EXPECT_EQ(taken.size(), rows);
  // Those that wait, and two that are numbered, each with its numbers.
  EXPECT_LE(memory.peak(), (size_t{4} << 20) + 4 * row_bytes);
  EXPECT_LE(memory.current(), row_bytes);
}

// A caller waits no longer than it says, however long a row is.
// Rows that are done wait for a long one before them.
TEST(TextFeedTest, BoundsTheRowsBehindALongOne) {
  constexpr uint32_t long_row = 2'000'000, rows = 50'000, row_texts = 8;
  Texts many;
  for (uint32_t i = 0; i < long_row; ++i) many.push_back(std::to_string(i));
  const TextPacker long_texts = packed(many), texts = packed(Texts(row_texts, "same"));
  MemoryCounter memory;
  TextNumbers numbers(memory);
  TextFeed feed(4, size_t{1} << 20, memory);
  size_t taken = 0;
  const auto take = [&](TextFeed::Time until) {
    while (const auto sets = feed.take(until)) taken += sets->sizes.size();
  };
  feed.add(Side::left, long_texts.texts());
  feed.submit(numbers);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));  // a thread takes it
  for (uint32_t row = 0; row < rows; ++row) {
    feed.add(Side::left, texts.texts());
    if (!feed.full()) continue;
    feed.submit(numbers);
    take(TextFeed::at_once);
    ASSERT_LE(feed.pending_texts(), long_row + rows * row_texts / 20);
  }
  feed.submit(numbers);
  take(TextFeed::ever);
  EXPECT_EQ(taken, 1 + rows);
}

TEST(TextFeedTest, WaitsUntilATime) {
  using Clock = std::chrono::steady_clock;
  Texts set;
  for (int i = 0; i < 1'000'000; ++i) set.push_back(std::to_string(i));
  const TextPacker texts = packed(set);
  MemoryCounter memory;
  TextNumbers numbers(memory);
  TextFeed feed(2, size_t{1} << 30, memory);
  feed.add(Side::left, texts.texts());
  feed.submit(numbers);
  size_t waits = 0;
  std::unique_ptr<NumberedSets> sets;
  for (; !feed.all_taken(); ++waits) sets = feed.take(Clock::now() + std::chrono::milliseconds(2));
  EXPECT_GT(waits, 1u);
  ASSERT_TRUE(sets);
  EXPECT_EQ(sets->numbers.size(), set.size());
  EXPECT_FALSE(feed.take(TextFeed::ever));
}

TEST(TextFeedTest, ReportsSetsThatEndTooSoon) {
  for (const int threads : {1, 3}) {
    MemoryCounter memory;
    TextNumbers numbers(memory);
    TextFeed feed(threads, size_t{1} << 20, memory);
    feed.add(Side::left, PackedTexts{"\x14\0\0\0", 4, 1});
    feed.submit(numbers);
    EXPECT_THROW(feed.take(TextFeed::ever), Error);
  }
}

// The threads of a feed that is given up in the middle end, and are counted no more.
TEST(TextFeedTest, EndsItsThreads) {
  std::atomic<int> count = 0;
  set_thread_count(&count);
  for (int times = 0; times < 20; ++times) {
    MemoryCounter memory;
    TextNumbers numbers(memory);
    TextFeed feed(4, size_t{1} << 20, memory);
    const Texts set = {"some", "texts", "that fill a block " + std::to_string(times)};
    for (int row = 0; row < 3000; ++row) {
      feed.add(Side::left, packed(set).texts());
      if (feed.full()) feed.submit(numbers);
    }
    EXPECT_LE(count, 3);
  }
  EXPECT_EQ(count, 0);
  set_thread_count(nullptr);
}

// Enough texts for many blocks, with and without a file, by any number of threads.
TEST(TextFeedTest, JoinsGiveTheSamePairs) {
  RandomSets random(72);
  Input<std::string> input;
  input.self_join = true;
  std::vector<Pair> expected;
  for (uint32_t row = 0; row < 6000; ++row) {
    const std::string own = std::to_string(row / 2);
    input.left.push_back(
        {"a" + own, "the long text " + own, own, "any " + std::to_string(random.between(0, 50))});
    if (row % 2 == 1) expected.push_back({row - 1, row, input.left[row] == input.left[row - 1] ? 4u : 3u});
  }
  for (const size_t limit : {size_t{1}, size_t{1} << 20, size_t{1} << 30}) {
    for (const int threads : {1, 2, 6}) {
      JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.6, threads);
      spec.memory_limit = limit;
      JoinStats stats;
      EXPECT_EQ(difference(expected, run(spec, input, &stats)), "") << limit << ' ' << threads;
      EXPECT_EQ(stats.tokens[0], 24'000u);
    }
  }
}

}  // namespace
}  // namespace simjoin::test
