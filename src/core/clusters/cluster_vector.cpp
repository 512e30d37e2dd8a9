#include "core/clusters/cluster_vector.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace simjoin {
namespace {

// The weights of a document are first scaled so that the largest becomes this.
constexpr double largest_raw = uint64_t{1} << 31;
constexpr double one = uint64_t{1} << weight_bits;

// Returns a number of 0 to 2^51 as an integer, halves to the even one: what the addition leaves of it.
// std::llrint does the same by a call.
uint64_t rounded(double number) {
  constexpr double ulp_is_one = uint64_t{1} << 52;
  return static_cast<uint64_t>(number + ulp_is_one) - (uint64_t{1} << 52);
}

// Sets keys that sort terms by number, then by weight: the bits of weights have the order of these.
void sort_keys(std::span<const RawTerm> terms, const StopFlag &stop, std::vector<uint64_t> &keys) {
  keys.resize(terms.size());
  for (size_t i = 0; i < terms.size(); ++i)
    keys[i] = uint64_t{terms[i].term} << 32 | std::bit_cast<uint32_t>(terms[i].weight);
  if (terms.size() <= terms_without_look) {
    std::sort(keys.begin(), keys.end());
    return;
  }
  std::sort(keys.begin(), keys.end(), [&](uint64_t a, uint64_t b) {
    stop.check();
    return a < b;
  });
}

}  // namespace

uint32_t similarity_at_least(double threshold) {
  return static_cast<uint32_t>(std::ceil(std::ldexp(threshold, similarity_bits)));
}

size_t make_unit_vector(std::span<const TermSum> sums, TermWeight *to) {
  unsigned __int128 squares = 0;
  for (const TermSum &sum : sums) squares += static_cast<unsigned __int128>(sum.sum) * sum.sum;
  const double norm = std::sqrt(static_cast<double>(squares));
  size_t count = 0;
  for (const TermSum &sum : sums) {
    const double weight = static_cast<double>(sum.sum) * one / norm;
    to[count] = {sum.term, static_cast<uint32_t>(rounded(weight))};
    count += to[count].weight != 0;
  }
  return count;
}

size_t make_document_vector(std::span<const RawTerm> terms, const StopFlag &stop, VectorScratch &scratch,
                            TermWeight *to) {
  // By term, and by weight among equal terms: so their sum does not depend on the order of the input.
  sort_keys(terms, stop, scratch.keys);
  auto &[keys, weights, sums] = scratch;
  weights.clear();
  sums.clear();
  double largest = 0;
  for (const uint64_t key : keys) {
    const auto term = static_cast<uint32_t>(key >> 32);
    if (sums.empty() || sums.back().term != term) {
      sums.push_back({term, 0});
      weights.push_back(0);
    }
    weights.back() += static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(key)));
    largest = std::max(largest, weights.back());
  }
  if (largest == 0) return 0;
  for (size_t i = 0; i < sums.size(); ++i) sums[i].sum = rounded(weights[i] / largest * largest_raw);
  return make_unit_vector(sums, to);
}

}  // namespace simjoin
