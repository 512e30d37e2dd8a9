#include "core/dedup/token_filter.hpp"

#include <algorithm>
#include <bit>

#include "core/base/check.hpp"
#include "core/base/token_hash.hpp"
#include "core/sort/ascending.hpp"

namespace simjoin {
namespace {

constexpr size_t bits_per_token = 16;  // of the bitmap: one in 16 absent tokens seems to be present

}  // namespace

template <typename Token>
void TokenFilter::add(std::span<const Token> tokens) {
  for (const Token &token : tokens) added_.push_back(token_value_hash(token));
}

void TokenFilter::finish() {
  SIMJOIN_CHECK(words_.empty());  // called once
  const size_t bits = std::bit_ceil(std::max<size_t>(added_.size() * bits_per_token, 64));
  shift_ = 64 - std::countr_zero(bits);
  words_.assign(bits / 64, 0);
  for (const uint64_t hash : added_) words_[hash >> shift_ >> 6] |= uint64_t{1} << (hash >> shift_ & 63);
  added_ = {};
}

// Returns the least number of tokens that a set of this size shares with a similar set. A set of just these
// tokens needs the fewest.
uint32_t TokenFilter::least_overlap(size_t size) {
  if (size >= least_overlap_.size()) least_overlap_.resize(std::bit_ceil(size + 1), 0);
  uint32_t &least = least_overlap_[size];
  if (least > 0) return least;
  size_t low = 1, high = size + 1;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    const auto overlap = static_cast<int64_t>(middle);
    if (bounds_.satisfied(overlap, static_cast<int64_t>(size), overlap))
      high = middle;
    else
      low = middle + 1;
  }
  return least = static_cast<uint32_t>(low);
}

template <typename Token>
bool TokenFilter::may_match(std::span<const Token> tokens) {
  SIMJOIN_CHECK(!words_.empty());  // finish() was called
  hashes_.clear();
  size_t shared = 0;
  for (const Token &token : tokens) {
    hashes_.push_back(token_value_hash(token));
    shared += known(hashes_.back());
  }
  if (shared >= least_overlap(tokens.size())) return true;
  if (strictly_ascending(tokens)) return false;
  // Repeated tokens count once. Tokens of equal hashes might differ, so the shared ones are not counted anew.
  std::sort(hashes_.begin(), hashes_.end());
  const auto distinct = static_cast<size_t>(std::unique(hashes_.begin(), hashes_.end()) - hashes_.begin());
  return shared >= least_overlap(distinct);
}

template <typename Token>
bool TokenFilter::may_match(std::span<const Token> tokens, std::span<const double> weights) const {
  double total = 0, shared = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const double mass = weighted_bounds_.mass(weights[i]);
    total += mass;
    if (known(token_value_hash(tokens[i]))) shared += mass;
  }
  return shared > 0 && shared >= weighted_bounds_.least_shared(total);
}

template void TokenFilter::add(std::span<const int32_t>);
template void TokenFilter::add(std::span<const int64_t>);
template void TokenFilter::add(std::span<const std::string_view>);
template bool TokenFilter::may_match(std::span<const int32_t>);
template bool TokenFilter::may_match(std::span<const int64_t>);
template bool TokenFilter::may_match(std::span<const std::string_view>);
template bool TokenFilter::may_match(std::span<const int32_t>, std::span<const double>) const;
template bool TokenFilter::may_match(std::span<const int64_t>, std::span<const double>) const;
template bool TokenFilter::may_match(std::span<const std::string_view>, std::span<const double>) const;

}  // namespace simjoin
