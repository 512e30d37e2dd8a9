// Synthetic collections with the cardinality, set sizes, universe and token frequencies of the data sets on
// which set-similarity joins are published.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace simjoin::bench {

// How the sizes of a profile's sets are distributed.
enum class SizeDistribution : uint8_t {
  log_normal,  // with standard deviation `spread` of the logarithm
  power_law,   // on [1, largest], its exponent solved for the average
};

// How often a profile's tokens occur, by rank.
enum class TokenDistribution : uint8_t {
  titles,  // as the character 2-grams of bibliographic titles do, stretched to the universe
  zipf,    // proportional to (rank + shift)^-exponent
};

// The shape of a collection.
struct Profile {
  const char *name;
  double sets;
  double average_size;
  uint32_t universe;
  uint32_t largest_size;
  SizeDistribution sizes;
  double spread;
  TokenDistribution tokens;
  double exponent;
  double shift;
  double near_duplicates;  // share of the sets that are an edited copy of an earlier one
};

// Returns all profiles.
std::span<const Profile> profiles();

// Returns the profile of this name, or nothing.
const Profile *find_profile(std::string_view name);

// Sets of token numbers in one array. Tokens are numbered from 1 by ascending frequency. Each set is
// ascending and without repeats. Sets are ordered by size, then by their tokens.
struct Collection {
  std::vector<uint32_t> tokens;
  std::vector<uint64_t> offsets{0};
  size_t near_duplicates = 0;  // number of sets that are edited copies

  size_t size() const { return offsets.size() - 1; }
  std::span<const uint32_t> set(size_t i) const {
    return std::span(tokens).subspan(offsets[i], offsets[i + 1] - offsets[i]);
  }
  void append(std::span<const uint32_t> set) {
    tokens.insert(tokens.end(), set.begin(), set.end());
    offsets.push_back(tokens.size());
  }
  // Returns `sets` of the sets, evenly spread over all of them, or all if there are no more.
  Collection spread(size_t sets) const {
    sets = std::min(sets, size());
    Collection result;
    for (size_t i = 0; i < sets; ++i) result.append(set(i * size() / sets));
    return result;
  }
};

struct GenerateOptions {
  double scale = 1;  // multiplies the number of sets
  uint64_t seed = 1;
  std::optional<double> near_duplicates;  // in place of the profile's own share
  bool keep_equal_sets = false;           // otherwise all sets differ
};

// Returns the collection. The same profile and options give the same collection on every machine.
// Throws std::runtime_error if the profile has fewer different sets than requested.
Collection generate(const Profile &profile, const GenerateOptions &options);

// Returns the collection with its tokens numbered, and its sets ordered, at random. Each set is ascending.
Collection shuffled(const Collection &collection, uint64_t seed);

}  // namespace simjoin::bench
