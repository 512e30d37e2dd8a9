#include "core/sets/numbered_sets.hpp"

#include <algorithm>
#include <utility>

#include "core/base/interruption.hpp"

namespace simjoin {
namespace {

// Only the engine's caller numbers so many texts in one call of number_texts().
constexpr size_t texts_between_checks = size_t{1} << 16;

}  // namespace

char *TextRows::add(size_t row_bytes, size_t row_texts) {
  char *const to = bytes.extend(PackedTextReader::padded(row_bytes));
  counts.push_back(static_cast<uint32_t>(row_texts));
  ends.push_back(bytes.size());
  texts += row_texts;
  return to;
}

void number_texts(TextNumbers &texts, std::span<const std::string_view> tokens, TextStore::Piece &piece,
                  uint32_t *numbers) {
  for (size_t begin = 0; begin < tokens.size(); begin += TextNumbers::at_a_time) {
    if ((begin + TextNumbers::at_a_time) % texts_between_checks == 0) check_interruption();
    const size_t count = std::min(TextNumbers::at_a_time, tokens.size() - begin);
    texts.number(tokens.subspan(begin, count), piece, numbers + begin);
  }
}

// Texts of several rows are looked up together.
void number_rows(TextRows &rows, const NumberedForm &form, TextNumbers &texts, const StopFlag *stop,
                 NumberedSets &numbered) {
  numbered.side = rows.side;
  numbered.numbers.resize(rows.texts);
  if (form.hash != nullptr) numbered.hashes.resize(rows.texts);
  TextStore::Piece piece = texts.take_piece();
  std::string_view together[TextNumbers::at_a_time];
  size_t read = 0, looked_up = 0, begin = 0;
  uint32_t *to = numbered.numbers.data(), *hash = numbered.hashes.data();
  const auto check = [&] { stop != nullptr ? stop->check() : check_interruption(); };
  const auto look_up = [&] {
    looked_up += read;
    if (looked_up % texts_between_checks == 0) check();
    texts.number({together, read}, piece, to);
    to += read;
    for (size_t i = 0; form.hash != nullptr && i < read; ++i) *hash++ = form.hash(together[i]);
    read = 0;
  };
  for (size_t row = 0; row < rows.counts.size(); begin = rows.ends[row++]) {
    PackedTextReader reader({rows.bytes.data() + begin, rows.ends[row] - begin, rows.counts[row]});
    for (uint32_t i = 0; i < rows.counts[row]; ++i) {
      together[read++] = reader.next();
      if (read == TextNumbers::at_a_time) look_up();
    }
  }
  look_up();
  texts.give_back(piece);
  if (form.in_order) {
    numbered.sizes = std::move(rows.counts);
    return;
  }
  numbered.sizes.resize(rows.counts.size());
  DistinctNumbers distinct;
  uint32_t *from = numbered.numbers.data(), *kept = from;
  for (size_t row = 0; row < rows.counts.size(); from += rows.counts[row++]) {
    const uint32_t size = distinct(from, rows.counts[row], check);
    if (kept != from) std::copy_n(from, size, kept);
    kept += size;
    numbered.sizes[row] = size;
  }
  numbered.numbers.resize(static_cast<size_t>(kept - numbered.numbers.data()));
  numbered.numbers.shrink();
  if (form.hash != nullptr) numbered.counts = std::move(rows.counts);
}

}  // namespace simjoin
