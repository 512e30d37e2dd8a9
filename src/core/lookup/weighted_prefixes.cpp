#include "core/lookup/weighted_prefixes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/check.hpp"
#include "core/base/interruption.hpp"

namespace simjoin {
namespace {

// Totals of a class differ by a factor of 2^(1/4), as sizes do in TokenOrder. With a low threshold there are
// too many classes to look up.
constexpr double quarters[] = {0.5, 0.5946, 0.7071, 0.8409};
constexpr double least_threshold_of_classes = 0.1;
// Larger sets are not compared by their codes: that could not be interrupted for long.
constexpr size_t most_compared_tokens = size_t{1} << 18;
// What a difference of sums can be too small by, as a part of the larger sum.
constexpr double room = 1e-6;

// Returns the smallest total of a class.
double least_total(int number) {
  const int quarter = (number % 4 + 4) % 4;
  return std::ldexp(quarters[quarter], (number - quarter) / 4);
}

TokenCode salt_of(int number) {
  return class_salt(static_cast<uint64_t>(int64_t{number} + (1 << 20)));
}

}  // namespace

WeightedPrefixes::WeightedPrefixes(Measure measure, double threshold)
    : bounds_(measure, threshold, false, std::numeric_limits<uint32_t>::max()),
      classes_(!bounds_.of_cosine() && threshold >= least_threshold_of_classes) {}

int WeightedPrefixes::class_of(double total) const {
  if (!classes_) return 0;
  int exponent;
  const double part = std::frexp(total, &exponent);
  const auto quarter =
      std::upper_bound(std::begin(quarters), std::end(quarters), part) - std::begin(quarters);
  return 4 * exponent + static_cast<int>(quarter) - 1;
}

// The first common token of similar sets, and what comes after it, has at least the mass that they share.
WeightedKeys WeightedPrefixes::set_of(std::span<WeightedKey> tokens) const {
  SIMJOIN_CHECK(std::is_sorted(tokens.begin(), tokens.end(),
                               [](const WeightedKey &a, const WeightedKey &b) { return a.key < b.key; }));
  size_t count = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    check_interruption_at(i);
    const WeightedKey token = tokens[i];
    if (count > 0 && tokens[count - 1].key == token.key)
      tokens[count - 1].mass += token.mass;
    else
      tokens[count++] = token;
  }
  double total = 0, rest = 0;
  for (size_t i = count; i > 0; --i) {
    check_interruption_at(i);
    total += tokens[i - 1].mass;
  }
  const double least = bounds_.least_shared(total);
  size_t prefix = count;
  while (prefix > 0 && rest + tokens[prefix - 1].mass < least) {
    check_interruption_at(prefix);
    rest += tokens[--prefix].mass;
  }
  return {total, tokens.first(count), prefix};
}

void WeightedPrefixes::entries_of(const WeightedKeys &set, TokenCode *entries, double *masses) const {
  if (set.prefix == 0) return;
  const TokenCode salt = salt_of(class_of(set.total));
  for (size_t i = 0; i < set.prefix; ++i) {
    *entries++ = code_of_key(set.tokens[i].key) ^ salt;
    *masses++ = set.tokens[i].mass;
  }
}

// Adds the entries for the sets of a class. Returns false if there would be more than `most` in all. A class
// of larger totals needs a larger overlap, so fewer tokens can be the first common one.
bool WeightedPrefixes::add_entries(int number, size_t most) {
  const double least = classes_ ? least_total(number) : 0;
  double rest = set_.total;
  for (const WeightedKey &token : set_.tokens.first(set_.prefix)) {
    if (bounds_.most_total(set_.total, rest) < least) return true;
    if (entries_.size() == most) return false;
    check_interruption_at(entries_.size());
    entries_.push_back(code_of_key(token.key) ^ salt_of(number));
    rest = std::max(rest - token.mass, 0.0) + room * token.mass;
  }
  return true;
}

std::optional<std::span<const PrefixLookup>> WeightedPrefixes::lookups(const WeightedKeys &set, size_t most) {
  set_ = set;
  codes_.clear();
  entries_.clear();
  lookups_.clear();
  if (set.prefix == 0) return lookups_;
  compared_ = set.tokens.size() <= most_compared_tokens;
  for (const WeightedKey &token : set.tokens.first(compared_ ? set.tokens.size() : 0))
    codes_.push_back({code_of_key(token.key), token.mass});
  std::sort(codes_.begin(), codes_.end(),
            [](const CodeMass &a, const CodeMass &b) { return a.code < b.code; });
  const int first = class_of(bounds_.least_partner(set.total));
  const int last = classes_ ? class_of(bounds_.most_partner(set.total)) : first;
  for (int number = first; number <= last; ++number)
    if (!add_entries(number, most)) return std::nullopt;
  const auto entries = std::span<const TokenCode>(entries_);
  for (size_t i = 0; i < entries.size(); i += looked_up_at_once) {
    check_interruption_at(i / looked_up_at_once);
    lookups_.push_back({entries.subspan(i, std::min(looked_up_at_once, entries.size() - i)), {}});
  }
  return lookups_;
}

// A token of the indexed prefix shares at most the smaller mass. All other tokens share no more than either
// set has left. For the cosine, the products of weights are bounded in the same way (Cauchy-Schwarz).
bool WeightedPrefixes::may_be_similar(const IndexedWeights &indexed) const {
  if (!(set_.total > 0) || !(indexed.total > 0)) return false;
  if (!compared_ || indexed.entries.size() > most_compared_tokens) return true;
  const TokenCode salt = salt_of(class_of(indexed.total));
  double shared = 0, left = set_.total, indexed_left = indexed.total;
  for (size_t i = 0; i < indexed.entries.size(); ++i) {
    const TokenCode code = indexed.entries[i] ^ salt;
    const double mass = indexed.masses[i];
    indexed_left -= mass;
    const auto found = std::lower_bound(codes_.begin(), codes_.end(), code,
                                        [](const CodeMass &a, TokenCode b) { return a.code < b; });
    if (found == codes_.end() || found->code != code) continue;
    shared += bounds_.of_cosine() ? std::sqrt(found->mass * mass) : std::min(found->mass, mass);
    left -= found->mass;
  }
  if (!(shared > 0)) return false;
  left = std::max(left, 0.0) + room * set_.total;
  indexed_left = std::max(indexed_left, 0.0) + room * indexed.total;
  if (bounds_.of_cosine())
    return shared + std::sqrt(left * indexed_left) >= bounds_.least_products(set_.total, indexed.total);
  return shared + std::min(left, indexed_left) >= bounds_.least_excess_for(set_.total + indexed.total, 0);
}

}  // namespace simjoin
