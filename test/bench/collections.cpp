#include "bench/collections.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "bench/random.hpp"

namespace simjoin::bench {

namespace {

using enum SizeDistribution;
using enum TokenDistribution;

// name, sets, average size, universe, largest size, sizes, spread, tokens, exponent, shift, near-duplicates
constexpr Profile all_profiles[] = {
    {"aol", 1.0e7, 3.0, 3900000, 245, power_law, 0, zipf, 0.85, 5, 0.10},
    {"bms", 5.1e5, 6.5, 1657, 164, power_law, 0, zipf, 0.85, 5, 0.10},
    {"dblp", 1.0e5, 88.0, 7205, 869, log_normal, 0.33, titles, 0, 0, 0.20},
    {"dblp2", 2.0e5, 88.0, 8817, 869, log_normal, 0.33, titles, 0, 0, 0.20},
    {"dblp3", 3.0e5, 88.0, 10000, 869, log_normal, 0.33, titles, 0, 0, 0.20},
    {"dblp1m", 1.0e6, 88.0, 15000, 869, log_normal, 0.33, titles, 0, 0, 0.20},
    {"dblp6m", 6.1e6, 88.0, 27000, 869, log_normal, 0.33, titles, 0, 0, 0.20},
    {"enron", 2.5e5, 135.0, 1100000, 3162, log_normal, 0.80, zipf, 1.00, 20, 0.25},
    {"kosarak", 1.0e6, 8.0, 41000, 2498, power_law, 0, zipf, 1.30, 2, 0.10},
    {"livejournal", 3.1e6, 36.5, 7500000, 300, power_law, 0, zipf, 0.75, 5, 0.05},
    {"orkut", 2.7e6, 120.0, 8700000, 40425, power_law, 0, zipf, 0.70, 5, 0.05},
    {"twitter", 1.6e6, 75.0, 37000, 4998, power_law, 0, zipf, 0.90, 5, 0.05},
};

// Share of the sets that hold the token of a rank: character 2-grams of 18,000 bibliographic titles.
struct TitleFrequency {
  double rank, share;
};
constexpr TitleFrequency title_frequencies[] = {
    {1, .983},      {2, .730},      {5, .648},      {10, .555},     {20, .451},    {50, .301},
    {100, .179},    {200, .0982},   {300, .0638},   {500, .0308},   {700, .0172},  {1000, .0065},
    {1500, .00289}, {2000, .00156}, {3000, .00056}, {5000, .00011}, {7097, .00004}};
constexpr double title_ranks = 7097;

// Returns the weight of the token of this rank in the draw, for which the share of sets with the token is as
// measured.
double title_weight(double rank) {
  size_t k = 1;
  while (k + 1 < std::size(title_frequencies) && title_frequencies[k].rank < rank) ++k;
  const double x0 = std::log(title_frequencies[k - 1].rank), x1 = std::log(title_frequencies[k].rank);
  const double y0 = std::log(title_frequencies[k - 1].share), y1 = std::log(title_frequencies[k].share);
  const double share = std::exp(y0 + (y1 - y0) * (std::log(rank) - x0) / (x1 - x0));
  return -std::log(1 - std::min(share, .99));
}

std::vector<double> token_weights(const Profile &profile) {
  std::vector<double> weights(profile.universe);
  for (uint32_t i = 0; i < profile.universe; ++i) {
    weights[i] = profile.tokens == zipf ? std::pow(i + 1 + profile.shift, -profile.exponent)
                                        : title_weight(1 + i * ((title_ranks - 1) / (profile.universe - 1)));
  }
  return weights;
}

double power_law_mean(double exponent, uint32_t largest) {
  double weights = 0, weighted = 0;
  for (uint32_t k = 1; k <= largest; ++k) {
    const double weight = std::pow(static_cast<double>(k), -exponent);
    weights += weight;
    weighted += weight * k;
  }
  return weighted / weights;
}

// Returns the weights of the sizes 1 .. largest under the power law that has the profile's average, by
// bisection.
std::vector<double> power_law_weights(const Profile &profile) {
  double low = -3, high = 6;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (power_law_mean(middle, profile.largest_size) > profile.average_size ? low : high) = middle;
  }
  std::vector<double> weights(profile.largest_size);
  for (uint32_t k = 1; k <= profile.largest_size; ++k)
    weights[k - 1] = std::pow(static_cast<double>(k), -low);
  return weights;
}

// Draws the sizes of sets.
class Sizes {
 public:
  explicit Sizes(const Profile &profile)
      : profile_(profile),
        index_(profile.sizes == power_law ? power_law_weights(profile) : std::vector<double>()),
        mean_of_log_(std::log(profile.average_size) - profile.spread * profile.spread / 2) {}

  uint32_t draw(Random &random) const {
    if (profile_.sizes == power_law) return index_.draw(random) + 1;
    const double size = std::floor(std::exp(mean_of_log_ + profile_.spread * random.normal()) + 0.5);
    return static_cast<uint32_t>(std::clamp(size, 1.0, static_cast<double>(profile_.largest_size)));
  }

 private:
  const Profile &profile_;
  WeightedIndex index_;
  double mean_of_log_;
};

// A table of 64-bit fingerprints of the sets made so far.
class SeenSets {
 public:
  explicit SeenSets(size_t sets) {
    size_t capacity = 1;
    while (capacity < sets * 2 + 16) capacity <<= 1;
    slots_.resize(capacity, 0);
  }

  // Records the set. Returns whether it is new.
  bool insert(const std::vector<uint32_t> &set) {
    const uint64_t hash = fingerprint(set);
    const size_t mask = slots_.size() - 1;
    size_t i = (hash * 0xD6E8FEB86659FD93ull) >> 20 & mask;
    for (; slots_[i] != 0; i = (i + 1) & mask) {
      if (slots_[i] == hash) return false;
    }
    slots_[i] = hash;
    return true;
  }

 private:
  // Independent of the order of the tokens, and never zero, which marks a free slot.
  static uint64_t fingerprint(const std::vector<uint32_t> &set) {
    uint64_t hash = set.size() * 0x9E3779B97F4A7C15ull + 1;
    for (uint32_t token : set) {
      uint64_t state = token + 0x1234567ull;
      hash += split_mix(state);
    }
    return hash != 0 ? hash : 1;
  }

  std::vector<uint64_t> slots_;
};

// Makes the sets of a collection one after another. Tokens are numbered by nominal rank.
class Generator {
 public:
  Generator(const Profile &profile, const GenerateOptions &options, size_t sets)
      : profile_(profile),
        random_(options.seed * 1000003u + 0x5e75),
        token_(token_weights(profile)),
        sizes_(profile),
        seen_(options.keep_equal_sets ? 0 : sets),
        keep_equal_sets_(options.keep_equal_sets),
        near_duplicates_(options.near_duplicates.value_or(profile.near_duplicates)),
        stamps_(profile.universe, 0) {}

  Collection make(size_t sets) {
    Collection collection;
    collection.tokens.reserve(static_cast<size_t>(static_cast<double>(sets) * profile_.average_size * 1.05) +
                              64);
    collection.offsets.reserve(sets + 1);
    while (collection.size() < sets) add_set(collection);
    return collection;
  }

 private:
  static constexpr int retries_per_copy = 64, copies_of_one_source = 8;
  static constexpr int draws_of_one_size = 16, most_retries = 5000;

  void add_set(Collection &collection) {
    bool copy = collection.size() > 0 && random_.fraction() < near_duplicates_;
    uint32_t size = 0;
    size_t source = 0;
    for (int retry = 0;;) {
      begin_set();
      if (copy) {
        if (retry % copies_of_one_source == 0) source = random_.below(collection.size());
        edit(collection.set(source));
      } else {
        if (retry == 0) {
          size = sizes_.draw(random_);
        } else if (retry % draws_of_one_size == 0) {
          ++size;
        }
        grow(size);
      }
      if (keep_equal_sets_ || seen_.insert(set_)) break;
      if (++retry == retries_per_copy && copy) {
        copy = false;
        retry = 0;
      }
      if (retry > most_retries) throw std::runtime_error("the profile has too few different sets");
    }
    collection.near_duplicates += copy;
    collection.append(set_);
  }

  void begin_set() {
    set_.clear();
    ++stamp_;
  }

  // Adds tokens until the set has `size` tokens. Frequent tokens run out in large sets, which then get any
  // tokens.
  void grow(uint32_t size) {
    size = std::min(size, profile_.universe);
    const uint64_t weighted_draws = 64ull * size + 1000;
    for (uint64_t draws = 0; set_.size() < size; ++draws) {
      const uint32_t token = draws < weighted_draws ? token_.draw(random_)
                                                    : static_cast<uint32_t>(random_.below(profile_.universe));
      if (stamps_[token] == stamp_) continue;
      stamps_[token] = stamp_;
      set_.push_back(token);
    }
  }

  // Makes the set an edited copy of the source. The number of deleted and inserted tokens follows from a
  // Jaccard similarity drawn from [0.5, 1). A deleted token is not inserted again.
  void edit(std::span<const uint32_t> source) {
    const auto size = static_cast<uint32_t>(source.size());
    const double wanted = 0.5 + 0.5 * random_.fraction();
    const double expected_edits = size * (1 - wanted) / (1 + wanted) * 2;
    const uint32_t edits = std::max(static_cast<uint32_t>(expected_edits + random_.fraction()), 1u);
    uint32_t deletions = 0;
    for (uint32_t k = 0; k < edits; ++k) deletions += static_cast<uint32_t>(random_.bits() >> 63);
    deletions = std::min(deletions, size / 2);
    const uint32_t insertions = edits - std::min(edits, deletions);
    set_.assign(source.begin(), source.end());
    for (uint32_t token : set_) stamps_[token] = stamp_;
    for (uint32_t k = 0; k < deletions; ++k) {
      const size_t victim = random_.below(set_.size());
      set_[victim] = set_.back();
      set_.pop_back();
    }
    grow(static_cast<uint32_t>(set_.size()) + insertions);
  }

  const Profile &profile_;
  Random random_;
  WeightedIndex token_;
  Sizes sizes_;
  SeenSets seen_;
  bool keep_equal_sets_;
  double near_duplicates_;
  std::vector<uint32_t> set_;
  std::vector<uint32_t> stamps_;  // the last set that each token was put into
  uint32_t stamp_ = 0;
};

// Numbers the tokens by ascending frequency, from 1. Of equally frequent tokens, the nominally rarer one
// comes first.
void rank_tokens(Collection &collection, uint32_t universe) {
  std::vector<uint32_t> count(universe, 0);
  for (uint32_t token : collection.tokens) ++count[token];
  std::vector<uint32_t> order;
  for (uint32_t token = 0; token < universe; ++token) {
    if (count[token] != 0) order.push_back(token);
  }
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return count[a] != count[b] ? count[a] < count[b] : a > b; });
  std::vector<uint32_t> rank(universe, 0);
  for (size_t i = 0; i < order.size(); ++i) rank[order[i]] = static_cast<uint32_t>(i) + 1;
  for (uint32_t &token : collection.tokens) token = rank[token];
}

// Returns the collection with each set ascending and the sets by size, then by their tokens.
Collection sorted(Collection collection) {
  for (size_t i = 0; i < collection.size(); ++i) {
    std::sort(collection.tokens.begin() + static_cast<ptrdiff_t>(collection.offsets[i]),
              collection.tokens.begin() + static_cast<ptrdiff_t>(collection.offsets[i + 1]));
  }
  std::vector<uint32_t> order(collection.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const auto x = collection.set(a), y = collection.set(b);
    if (x.size() != y.size()) return x.size() < y.size();
    const auto [i, j] = std::mismatch(x.begin(), x.end(), y.begin());
    return i == x.end() ? a < b : *i < *j;
  });
  Collection result;
  result.near_duplicates = collection.near_duplicates;
  result.tokens.reserve(collection.tokens.size());
  result.offsets.reserve(collection.offsets.size());
  for (uint32_t i : order) result.append(collection.set(i));
  return result;
}

}  // namespace

std::span<const Profile> profiles() {
  return all_profiles;
}

const Profile *find_profile(std::string_view name) {
  const auto found = std::find_if(std::begin(all_profiles), std::end(all_profiles),
                                  [&](const Profile &profile) { return profile.name == name; });
  return found == std::end(all_profiles) ? nullptr : found;
}

Collection generate(const Profile &profile, const GenerateOptions &options) {
  const auto sets = static_cast<size_t>(std::max(0ll, std::llround(profile.sets * options.scale)));
  Collection collection = Generator(profile, options, sets).make(sets);
  rank_tokens(collection, profile.universe);
  return sorted(std::move(collection));
}

Collection shuffled(const Collection &collection, uint64_t seed) {
  Random random(seed);
  const auto numbers = [&](size_t count) {
    std::vector<uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0u);
    for (size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    return order;
  };
  const uint32_t largest =
      collection.tokens.empty() ? 0 : *std::max_element(collection.tokens.begin(), collection.tokens.end());
  const std::vector<uint32_t> token = numbers(size_t{largest} + 1), order = numbers(collection.size());
  Collection result;
  result.near_duplicates = collection.near_duplicates;
  std::vector<uint32_t> set;
  for (const uint32_t i : order) {
    set.clear();
    for (const uint32_t number : collection.set(i)) set.push_back(token[number] + 1);
    std::sort(set.begin(), set.end());
    result.append(set);
  }
  return result;
}

}  // namespace simjoin::bench
