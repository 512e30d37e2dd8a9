// Random collections of the shapes that break set-similarity joins.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "unit/oracle.hpp"

namespace simjoin::test {

// A seeded source of sets. The same seed gives the same sets on every machine.
class RandomSets {
 public:
  explicit RandomSets(uint64_t seed) : generator_(seed) {}

  int32_t between(int32_t low, int32_t high) {
    const uint64_t span = static_cast<uint64_t>(int64_t{high} - low) + 1;
    return static_cast<int32_t>(low + static_cast<int64_t>(generator_() % span));
  }

  // Returns `size` distinct tokens below `universe`, in random order. Skew 1 is uniform; more makes small
  // tokens more frequent (a token is universe * u^skew for u uniform in [0, 1)).
  IntSet set(int32_t size, int32_t universe, double skew = 1.0) {
    std::set<int32_t> seen;
    IntSet tokens;
    for (int tries = 0; static_cast<int32_t>(tokens.size()) < std::min(size, universe); ++tries) {
      const double u = static_cast<double>(generator_() >> 11) * 0x1.0p-53;
      const int32_t token =
          tries < 40 * size ? static_cast<int32_t>(universe * std::pow(u, skew)) : between(0, universe - 1);
      if (seen.insert(token).second) tokens.push_back(token);
    }
    return tokens;
  }

  // Returns a copy with about `edits` of its tokens replaced by others below `universe`.
  IntSet edited(const IntSet &set, int32_t edits, int32_t universe) {
    IntSet copy = set;
    for (int32_t i = 0; i < edits && !copy.empty(); ++i) {
      const size_t victim = static_cast<size_t>(between(0, static_cast<int32_t>(copy.size()) - 1));
      if (between(0, 2) == 0) {
        copy.erase(copy.begin() + static_cast<ptrdiff_t>(victim));
      } else {
        const int32_t token = between(0, universe - 1);
        if (std::find(copy.begin(), copy.end(), token) == copy.end()) copy[victim] = token;
      }
    }
    return copy;
  }

  template <class T>
  void shuffle(std::vector<T> &values) {
    for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[generator_() % i]);
  }

 private:
  std::mt19937_64 generator_;
};

using ShapeFunction = IntSets (*)(RandomSets &random, size_t rows);

// A named function that makes a collection of a given number of rows.
struct Shape {
  const char *name;
  size_t rows;
  ShapeFunction make;
};

inline void PrintTo(const Shape &shape, std::ostream *out) {
  *out << shape.name;
}

namespace shapes {

inline IntSets uniform(RandomSets &random, size_t rows) {
  IntSets sets;
  while (sets.size() < rows) sets.push_back(random.set(random.between(1, 12), 40));
  return sets;
}

inline IntSets skewed(RandomSets &random, size_t rows) {
  IntSets sets;
  while (sets.size() < rows) {
    if (!sets.empty() && random.between(0, 3) == 0) {
      sets.push_back(random.edited(sets[sets.size() / 2], random.between(0, 3), 3000));
    } else {
      sets.push_back(random.set(random.between(1, 30), 3000, 5.0));
    }
  }
  return sets;
}

// So few tokens that one bit per token makes a bitmap exact.
inline IntSets tiny_universe(RandomSets &random, size_t rows) {
  IntSets sets;
  while (sets.size() < rows) sets.push_back(random.set(random.between(1, 20), 24));
  return sets;
}

inline IntSets near_duplicates(RandomSets &random, size_t rows) {
  IntSets sets;
  while (sets.size() < rows) {
    if (sets.empty() || random.between(0, 3) == 0) {
      sets.push_back(random.set(random.between(10, 80), 5000));
    } else {
      const IntSet source =
          sets[static_cast<size_t>(random.between(0, static_cast<int32_t>(sets.size()) - 1))];
      sets.push_back(random.edited(source, random.between(0, static_cast<int32_t>(source.size()) / 4), 5000));
    }
  }
  return sets;
}

inline IntSets equal_sets(RandomSets &random, size_t rows) {
  IntSets originals;
  for (int32_t size : {1, 2, 7, 19, 20, 64}) originals.push_back(random.set(size, 100));
  IntSets sets;
  while (sets.size() < rows) {
    sets.push_back(originals[static_cast<size_t>(random.between(0, 5))]);
    random.shuffle(sets.back());
  }
  return sets;
}

inline IntSets with_empty_sets(RandomSets &random, size_t rows) {
  IntSets sets;
  while (sets.size() < rows) {
    sets.push_back(random.between(0, 2) == 0 ? IntSet{} : random.set(random.between(1, 6), 12));
  }
  return sets;
}

inline IntSets repeated_tokens(RandomSets &random, size_t rows) {
  IntSets sets = near_duplicates(random, rows);
  for (IntSet &set : sets) {
    const size_t distinct = set.size();
    for (int32_t i = random.between(0, 40); i > 0 && distinct > 0; --i) {
      set.push_back(set[static_cast<size_t>(random.between(0, static_cast<int32_t>(distinct) - 1))]);
    }
    random.shuffle(set);
  }
  return sets;
}

// Sizes about the widths of machine words, vectors and bitmaps, each with variants one or two edits away.
inline IntSets block_sizes(RandomSets &random, size_t rows) {
  constexpr int32_t sizes[] = {0,  1,  2,  3,  7,  8,   9,   15,  16,  17,  31,
                               32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257};
  IntSets sets;
  while (sets.size() < rows) {
    for (int32_t size : sizes) {
      sets.push_back(random.set(size, 1000, 2.0));
      sets.push_back(random.edited(sets.back(), 1, 1000));
      sets.push_back(random.edited(sets.back(), 2, 1000));
    }
  }
  sets.resize(rows);
  return sets;
}

// A few sets of thousands of tokens, their near-duplicates, and many of one to three.
inline IntSets huge_beside_tiny(RandomSets &random, size_t rows) {
  IntSets sets;
  for (int32_t size : {1500, 2500, 4097}) {
    sets.push_back(random.set(size, 20000, 1.5));
    sets.push_back(random.edited(sets.back(), size / 50, 20000));
    sets.push_back(random.edited(sets.back(), size / 8, 20000));
  }
  while (sets.size() < rows) sets.push_back(random.set(random.between(1, 3), 30));
  return sets;
}

// Sets that hold a large part of a small universe, where a prefix filters little.
inline IntSets dense(RandomSets &random, size_t rows) {
  IntSets sets;
  while (sets.size() < rows) {
    if (sets.empty() || random.between(0, 2) != 0) {
      sets.push_back(random.set(random.between(60, 140), 600, 2.5));
    } else {
      sets.push_back(random.edited(sets[sets.size() / 2], random.between(0, 20), 600));
    }
  }
  return sets;
}

// Pairs exactly on k/n, and one token to either side of it, for the sizes at which rounded formulas go wrong.
// For Jaccard these are an overlap of 9k in a union of 10k, e.g. 18 of 19 + 19.
inline IntSets on_threshold(RandomSets &, size_t rows) {
  constexpr struct {
    int32_t shared, only_left, only_right;
  } pairs[] = {{18, 1, 1}, {18, 2, 0},  {9, 1, 0},  {27, 1, 2},   {36, 2, 2},   {8, 1, 1},   {16, 2, 2},
               {4, 1, 0},  {11, 5, 4},  {22, 9, 9}, {13, 4, 3},   {26, 7, 7},   {14, 3, 3},  {7, 2, 1},
               {21, 5, 4}, {9, 1, 1},   {19, 1, 1}, {17, 3, 3},   {6, 5, 2},    {12, 4, 15}, {45, 5, 5},
               {90, 5, 5}, {90, 0, 10}, {72, 9, 9}, {55, 23, 22}, {65, 18, 17}, {1, 1, 0},   {1, 1, 1}};
  IntSets sets;
  int32_t next = 0;
  while (sets.size() < rows) {
    for (const auto &pair : pairs) {
      IntSet left, right;
      for (int32_t i = 0; i < pair.shared; ++i, ++next) left.push_back(next), right.push_back(next);
      for (int32_t i = 0; i < pair.only_left; ++i) left.push_back(next++);
      for (int32_t i = 0; i < pair.only_right; ++i) right.push_back(next++);
      sets.push_back(left);
      sets.push_back(right);
    }
  }
  sets.resize(rows);
  return sets;
}

}  // namespace shapes

inline constexpr Shape all_shapes[] = {
    {"uniform", 160, shapes::uniform},
    {"skewed", 200, shapes::skewed},
    {"tiny_universe", 160, shapes::tiny_universe},
    {"near_duplicates", 160, shapes::near_duplicates},
    {"equal_sets", 120, shapes::equal_sets},
    {"with_empty_sets", 130, shapes::with_empty_sets},
    {"repeated_tokens", 120, shapes::repeated_tokens},
    {"block_sizes", 132, shapes::block_sizes},
    {"huge_beside_tiny", 80, shapes::huge_beside_tiny},
    {"dense", 150, shapes::dense},
    {"on_threshold", 112, shapes::on_threshold},
};

// Returns the input with further rows of tokens that occur nowhere else. They add no pair at a threshold
// above zero, but enough tokens that the engine uses several threads.
inline Input<int32_t> with_unrelated_rows(Input<int32_t> input) {
  constexpr int32_t rows = 18, tokens_per_row = 2'000;
  int32_t token = 1'000'000;
  for (int32_t row = 0; row < rows; ++row) {
    IntSet set;
    for (int32_t i = 0; i < tokens_per_row; ++i) set.push_back(token++);
    input.left.push_back(std::move(set));
  }
  return input;
}

// Returns a self-join's input of the shape, its rows in random order.
inline Input<int32_t> self_input(const Shape &shape, uint64_t seed) {
  RandomSets random(seed);
  Input<int32_t> input;
  input.left = shape.make(random, shape.rows);
  random.shuffle(input.left);
  input.self_join = true;
  return input;
}

// Returns an input with two sides: one collection is divided between them, unevenly, with some rows on both.
inline Input<int32_t> two_sided_input(const Shape &shape, uint64_t seed) {
  RandomSets random(seed);
  Input<int32_t> input;
  for (const IntSet &set : shape.make(random, shape.rows)) {
    const int32_t side = random.between(0, 9);
    if (side < 7) input.left.push_back(set);
    if (side > 5) input.right.push_back(set);
  }
  random.shuffle(input.left);
  random.shuffle(input.right);
  return input;
}

// Numbers the tokens anew, from `first` on, by ascending frequency and those that no two sets can share
// first: as a dictionary does that was ordered by frequency.
inline void number_by_frequency(Input<int32_t> &input, int32_t first) {
  std::map<int32_t, std::array<size_t, 2>> sets;  // with a token, by side
  IntSets *const sides[] = {&input.left, &input.right};
  for (const size_t side : {0, 1}) {
    for (const IntSet &set : *sides[side]) {
      for (const int32_t token : std::set<int32_t>(set.begin(), set.end())) ++sets[token][side];
    }
  }
  std::vector<std::pair<size_t, int32_t>> order;
  for (const auto &[token, count] : sets) {
    const bool shared = input.self_join ? count[0] > 1 : count[0] > 0 && count[1] > 0;
    order.emplace_back(shared ? count[0] + count[1] : 0, token);
  }
  std::sort(order.begin(), order.end());
  std::map<int32_t, int32_t> numbers;
  for (const auto &[frequency, token] : order) numbers[token] = first++;
  for (IntSets *side : sides) {
    for (IntSet &set : *side) {
      for (int32_t &token : set) token = numbers[token];
    }
  }
}

}  // namespace simjoin::test
