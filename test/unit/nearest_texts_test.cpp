// Right rows by ascending edit distance or by descending similarity of characters, for one left row after the
// other.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "core/nearest/text_search.hpp"
#include "core/set_slices.hpp"
#include "core/text/jaro.hpp"
#include "edit_texts.hpp"
#include "times_asked.hpp"

namespace simjoin::test {
namespace {

// A row with its key, or one that is in no pair.
struct TextRow {
  uint64_t key;
  std::optional<Text> text;
};

void add_text_row(TextSearch &search, Side side, const TextRow &row) {
  std::vector<int32_t> numbers;
  if (row.text) {
    numbers = {static_cast<int32_t>(row.key >> 32), static_cast<int32_t>(row.key)};
    numbers.insert(numbers.end(), row.text->begin(), row.text->end());
  }
  const auto count = static_cast<uint32_t>(numbers.size());
  search.add(side, row_of(std::span<const int32_t>(numbers), count));
}

double score_by_table(const TextOrder &order, const Text &probe, const Text &text) {
  const Text &first = order.probe_first ? probe : text, &second = order.probe_first ? text : probe;
  const std::span<const uint32_t> a(first), b(second);
  if (order.measure == TextMeasure::jaro) return jaro_similarity(a, b);
  if (order.measure == TextMeasure::jaro_winkler) return jaro_winkler_similarity(a, b);
  const auto distance = static_cast<double>(
      order.measure == TextMeasure::edits ? distance_by_table(probe, text) : damerau_by_table(probe, text));
  const size_t longer = std::max({probe.size(), text.size(), size_t{1}});
  return order.share ? -(distance / static_cast<double>(longer)) : -distance;
}

using ScoredRows = std::vector<std::pair<double, uint32_t>>;

ScoredRows scored_rows(const TextOrder &order, const TextRow &probe, const std::vector<TextRow> &rows) {
  ScoredRows scored;
  for (uint32_t row = 0; row < rows.size(); ++row) {
    if (!rows[row].text || rows[row].key != probe.key) continue;
    if (!order.empty_pairs && rows[row].text->empty() && probe.text->empty()) continue;
    scored.emplace_back(score_by_table(order, *probe.text, *rows[row].text), row);
  }
  std::stable_sort(scored.begin(), scored.end(),
                   [](const auto &a, const auto &b) { return a.first > b.first; });
  return scored;
}

// Compares all rows, and the first ones alone, above some score.
void compare_texts(const TextOrder &order, const std::vector<TextRow> &rows,
                   const std::vector<TextRow> &probes) {
  TextSearch search(order);
  for (const TextRow &row : rows) add_text_row(search, Side::right, row);
  const size_t bytes = search.bytes_to_index();
  search.index(StopFlag());
  constexpr size_t of_buckets = size_t{1} << 20;
  EXPECT_LE(search.stats().memory_peak, bytes + of_buckets);
  uint32_t pairs = 0;
  for (const TextRow &probe : probes) {
    pairs = pairs % 5 + 1;
    const ScoredRows expected = scored_rows(order, probe, rows);
    const bool bounded = pairs == 2 && !expected.empty();
    const double least = bounded ? expected[expected.size() / 3].first : order.least_score();
    add_text_row(search, Side::left, probe);
    search.limit(pairs, least);
    std::vector<uint32_t> found;
    Batch batch;
    size_t batches = 0;
    while (batches++ < (pairs == 1 ? SIZE_MAX : 2) && search.step({}, batch) == StepResult::batch)
      found.insert(found.end(), batch.right.begin(), batch.right.end());
    std::vector<uint32_t> wanted;
    for (const auto &[score, row] : expected)
      if (score >= least) wanted.push_back(row);
    if (pairs > 1) wanted.resize(std::min(wanted.size(), size_t{pairs} * 5));
    ASSERT_EQ(found, wanted) << static_cast<int>(order.measure) << order.share << " pairs " << pairs;
  }
}

// Random texts and edits of them: many, so that they are looked up, or few. Some are long, some rows are in
// no pair.
std::vector<TextRow> random_rows(TextDraws *draws, size_t count, size_t most_keys) {
  std::vector<TextRow> rows;
  while (rows.size() < count) {
    const Text &alphabet = alphabets[draws->number(0, alphabets.size() - 1)];
    const size_t length = draws->number(0, 9) == 0 ? draws->number(0, 90) : draws->number(3, 14);
    TextRow row = {draws->number(1, most_keys) << 31, draws->text(alphabet, length)};
    for (size_t i = draws->number(0, 3); i-- > 0;) {
      rows.push_back(row);
      row.text = edited_and_exchanged(*row.text, alphabet, draws->number(0, 3), draws);
    }
    if (draws->number(0, 19) == 0) row.text.reset();
    rows.push_back(row);
  }
  return rows;
}

void compare_orders(const std::vector<TextRow> &rows, const std::vector<TextRow> &probes) {
  for (const TextMeasure measure : {TextMeasure::edits, TextMeasure::damerau})
    for (const bool share : {false, true}) compare_texts({measure, share, true, !share}, rows, probes);
  for (const TextMeasure measure : {TextMeasure::jaro, TextMeasure::jaro_winkler})
    for (const bool probe_first : {false, true}) compare_texts({measure, false, probe_first}, rows, probes);
}

TEST(NearestTexts, RowsComeInOrder) {
  TextDraws draws(1);
  const std::vector<TextRow> rows = random_rows(&draws, 300, 1);
  std::vector<TextRow> probes = random_rows(&draws, 30, 2);
  for (size_t i = 0; i < rows.size(); i += 17) probes.push_back(rows[i]);
  std::erase_if(probes, [](const TextRow &row) { return !row.text; });
  compare_orders(rows, probes);
  compare_orders({}, {probes[0]});
}

TEST(NearestTexts, ManyRowsAreLookedUp) {
  TextDraws draws(2);
  const std::vector<TextRow> rows = random_rows(&draws, 6000, 2);
  std::vector<TextRow> probes;
  for (size_t i = 0; i < 24; ++i) {
    TextRow row = rows[draws.number(0, rows.size() - 1)];
    if (row.text) probes.push_back({row.key, edited_and_exchanged(*row.text, alphabets[1], i % 4, &draws)});
  }
  compare_orders(rows, probes);
}

// More characters than bytes have numbers, and a text that differs by more than a count holds.
TEST(NearestTexts, ManyCharacters) {
  TextDraws draws(3);
  Text alphabet;
  for (uint32_t i = 0; i < 400; ++i) alphabet.push_back(0x4E00 + i);
  std::vector<TextRow> rows, probes;
  for (size_t i = 0; i < 300; ++i) rows.push_back({7, draws.text(alphabet, draws.number(0, 20))});
  rows.push_back({7, draws.text(alphabet, 700)});
  for (size_t i = 0; i < 5; ++i) probes.push_back({7, draws.edited(*rows[i].text, alphabet, 2)});
  probes.push_back({7, draws.text(alphabet, 600)});
  probes.push_back({7, Text(300, 'x')});
  compare_orders(rows, probes);
}

TEST(NearestTexts, InterruptionsAreAskedForBetweenDistances) {
  constexpr size_t rows = 2000, asked_within = 32;
  TextDraws draws(4);
  TextSearch search({TextMeasure::damerau});
  for (size_t i = 0; i < rows; ++i) add_text_row(search, Side::right, {1, draws.text(alphabets[1], 40)});
  search.index(StopFlag());
  add_text_row(search, Side::left, {1, draws.text(alphabets[1], 40)});
  Batch batch;
  const int asked = times_asked([&] { search.step({}, batch); });
  EXPECT_GE(static_cast<uint64_t>(asked), search.stats().verified / asked_within);
  EXPECT_GT(search.stats().verified, asked_within);
}

}  // namespace
}  // namespace simjoin::test
