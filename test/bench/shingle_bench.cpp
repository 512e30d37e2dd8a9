// Times how texts become sets of shingles, of q-grams, and of runs of letters and digits, on one thread:
//   simjoin_shingle_bench
// Prints nanoseconds of CPU time a token, the best of several runs.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "core/base/thread_clock.hpp"
#include "core/text/fold_kernels.hpp"
#include "core/text/shingles.hpp"

namespace simjoin::bench {
namespace {

constexpr int repeats = 15;
constexpr size_t characters_in_all = 4'000'000;

// Returns texts of so many characters: words whose letters are drawn from the alphabet.
std::vector<std::string> texts_of(const std::vector<std::string> &alphabet, size_t length) {
  std::mt19937 random(1);
  std::vector<std::string> texts(characters_in_all / length);
  for (std::string &text : texts) {
    size_t until_space = 1;
    for (size_t i = 0; i < length; ++i) {
      const bool space = until_space-- == 0;
      text += space ? " " : alphabet[random() % alphabet.size()];
      if (space) until_space = 1 + random() % 10;
    }
  }
  return texts;
}

template <typename Value>
void time_sets(const char *name, const std::vector<std::string> &texts, ShingleUnit unit, uint32_t size) {
  static Letters letters;
  std::fill_n(letters.page, Letters::pages, Letters::unchanged);
  Shingler<Value> shingler;
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repeats; ++i) {
    size_t shingles = 0;
    const auto begin = ThreadClock::now();
    for (const std::string &text : texts) {
      shingler.begin(unit, size);
      if (known_letters(letters, text) != text.size()) return;
      shingler.feed(text, &letters);
      while (shingler.step(SIZE_MAX)) {
      }
      shingler.finish();
      shingles += shingler.set().size();
    }
    const std::chrono::duration<double, std::nano> time = ThreadClock::now() - begin;
    best = std::min(best, time.count() / static_cast<double>(shingles));
  }
  std::printf("%-36s %6.2f ns a token\n", name, best);
}

}  // namespace
}  // namespace simjoin::bench

int main() {
  using namespace simjoin;
  using namespace simjoin::bench;
  std::vector<std::string> ascii, accents, cjk;
  for (char c = 'a'; c <= 'z'; ++c) ascii.emplace_back(1, c);
  for (int i = 0; i < 5; ++i) accents.insert(accents.end(), ascii.begin(), ascii.end());
  for (const char *accent : {"é", "è", "ö", "ü", "ß", "Å", "ñ"}) accents.emplace_back(accent);
  for (int i = 0; i < 3000; ++i) {
    const int point = 0x4E00 + 7 * i;
    cjk.push_back({static_cast<char>(0xE0 | point >> 12), static_cast<char>(0x80 | (point >> 6 & 63)),
                   static_cast<char>(0x80 | (point & 63))});
  }
  const auto character = ShingleUnit::character, word = ShingleUnit::word;
  const auto titles = texts_of(ascii, 64), texts = texts_of(ascii, 210), documents = texts_of(ascii, 2000);
  time_sets<int32_t>("ASCII, 64 characters", titles, character, 5);
  time_sets<int32_t>("ASCII, 210 characters", texts, character, 5);
  time_sets<int32_t>("ASCII, 2,000 characters", documents, character, 5);
  time_sets<int32_t>("accents, 210 characters", texts_of(accents, 210), character, 5);
  time_sets<int32_t>("CJK, 210 characters", texts_of(cjk, 210), character, 5);
  time_sets<int64_t>("ASCII, 210 characters, 64 bits", texts, character, 5);
  time_sets<int32_t>("ASCII, 210 characters, by 3 words", texts, word, 3);
  time_sets<int32_t>("ASCII, 210 characters, 3-grams", texts, ShingleUnit::gram, 3);
  time_sets<int32_t>("accents, 210 characters, 3-grams", texts_of(accents, 210), ShingleUnit::gram, 3);
  time_sets<int32_t>("ASCII, 210 characters, words", texts, word, 1);
  time_sets<int32_t>("ASCII, 210 characters, runs", texts, ShingleUnit::run, 1);
  time_sets<int32_t>("accents, 210 characters, runs", texts_of(accents, 210), ShingleUnit::run, 1);
}
