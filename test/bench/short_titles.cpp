// Writes titles of 6 to 14 words as sets of numbers, without keeping any of them: part of a collection of any
// size.
//
//   short_titles COUNT FIRST LAST > rows
//
// COUNT is the number of titles of the collection; those from FIRST to before LAST are written, as COPY reads
// them: an id and an array. Words are Zipf-distributed over 2,000,000. One title in 20 is a copy of another
// one with a word changed. A title depends on COUNT and its number only, so parts may be written side by
// side.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

int word(uint64_t random) {
  static const double log_of_words = std::log(2000000.0);
  return static_cast<int>(std::exp(static_cast<double>(random >> 11) * 0x1.0p-53 * log_of_words));
}

void sort_words(std::vector<int> *title) {
  std::sort(title->begin(), title->end());
  title->erase(std::unique(title->begin(), title->end()), title->end());
}

std::vector<int> original(uint64_t number) {
  const uint64_t seed = mixed(1000003 + number);
  std::vector<int> title;
  for (uint64_t k = 1; k <= 6 + seed % 9; ++k) title.push_back(word(mixed(seed + k)));
  sort_words(&title);
  return title;
}

std::vector<int> title_of(uint64_t number, uint64_t count) {
  const uint64_t random = mixed(number ^ 0x5bd1e995);
  if (random % 20 != 0) return original(number);
  std::vector<int> title = original(mixed(random) % count);
  title[mixed(random + 1) % title.size()] = word(mixed(random + 2));
  sort_words(&title);
  return title;
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: short_titles COUNT FIRST LAST\n");
    return 2;
  }
  const uint64_t count = std::strtoull(argv[1], nullptr, 10), last = std::strtoull(argv[3], nullptr, 10);
  std::string line;
  for (uint64_t number = std::strtoull(argv[2], nullptr, 10); number < last; ++number) {
    line = std::to_string(number) + "\t{";
    for (const int token : title_of(number, count)) line += std::to_string(token) + ',';
    line.back() = '}';
    line += '\n';
    if (std::fwrite(line.data(), 1, line.size(), stdout) != line.size()) return 1;
  }
  return std::fflush(stdout) == 0 ? 0 : 1;
}
