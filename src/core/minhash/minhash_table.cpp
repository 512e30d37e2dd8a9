#include "core/minhash/minhash_table.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace simjoin {
namespace {

// The form of a permutation that fits 64 bits. a_low h + b + 2^32 stays below 2^64 while a_low is below 7 *
// 2^29. The a_low of the flipped form is the complement.
enum class Form : uint8_t { plain_only, either, flipped_only };

constexpr uint32_t most_a_low = 7u << 29;

Form form_of(const Permutation &permutation) {
  const auto a_low = static_cast<uint32_t>(permutation.a);
  if (a_low >= most_a_low) return Form::flipped_only;
  return ~a_low >= most_a_low ? Form::plain_only : Form::either;
}

// Returns x * y mod 2^61 - 1. Both factors must be below the modulus.
uint64_t multiply(uint64_t x, uint64_t y) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>(Wide{x} * y % mersenne61);
}

// Returns the inverse of x, which is not 0: x to the power of 2^61 - 3.
uint64_t inverse_of(uint64_t x) {
  uint64_t result = 1;
  for (uint64_t left = mersenne61 - 2; left > 0; left >>= 1) {
    if (left & 1) result = multiply(result, x);
    x = multiply(x, x);
  }
  return result;
}

// Returns the inverses of all a, with one inversion: 1 / a_i = (a_0 ... a_(i-1)) / (a_0 ... a_i).
std::vector<uint64_t> inverses_of(std::span<const Permutation> permutations) {
  std::vector<uint64_t> inverses(permutations.size());
  uint64_t product = 1;
  for (size_t i = 0; i < inverses.size(); ++i) {
    inverses[i] = product;
    product = multiply(product, permutations[i].a);
  }
  uint64_t inverse = inverse_of(product);
  for (size_t i = inverses.size(); i-- > 0;) {
    inverses[i] = multiply(inverses[i], inverse);
    inverse = multiply(inverse, permutations[i].a);
  }
  return inverses;
}

}  // namespace

PermutationTable::PermutationTable(std::span<const Permutation> permutations, size_t group) : group_(group) {
  const std::vector<uint64_t> inverses = inverses_of(permutations);
  std::vector<uint32_t> order(permutations.size());
  std::iota(order.begin(), order.end(), uint32_t{0});
  std::stable_sort(order.begin(), order.end(), [&](uint32_t x, uint32_t y) {
    return form_of(permutations[x]) < form_of(permutations[y]);
  });
  for (size_t begin = 0, end; begin < order.size(); begin = end) {
    end = std::min(begin + group, order.size());
    const bool plain = form_of(permutations[order[begin]]) == Form::plain_only;
    while (plain && form_of(permutations[order[end - 1]]) == Form::flipped_only) --end;
    const bool flip = form_of(permutations[order[end - 1]]) == Form::flipped_only;
    append_group(permutations, std::span(order).subspan(begin, end - begin), flip);
  }
  for (const uint32_t number : numbers_) {
    if (number == padding) {
      inverse_a_.push_back(0);
      inverse_b_.push_back(uint64_t{1} << 40);  // never suspect
      continue;
    }
    // The hash whose residue is 2^61 - 2^32 + m - 1, as a permutation of m.
    const uint64_t base = mersenne61 - (uint64_t{1} << 32), b = permutations[number].b;
    inverse_a_.push_back(inverses[number]);
    inverse_b_.push_back(multiply(inverses[number], base >= b ? base - b : base + mersenne61 - b));
  }
}

void PermutationTable::append_group(std::span<const Permutation> permutations,
                                    std::span<const uint32_t> numbers, bool flip) {
  flips_.push_back(flip ? UINT32_MAX : 0);
  for (size_t i = 0; i < group_; ++i) {
    uint64_t a = 0, b = 0;
    if (i < numbers.size()) {
      a = permutations[numbers[i]].a;
      b = permutations[numbers[i]].b;
    }
    append_scaled(a, b);
    if (i >= numbers.size()) {
      scaled_b_.back() += 0.5;  // a fraction that is always certain
    } else if (flip) {
      b = (b + multiply(a, UINT32_MAX)) % mersenne61;
      a = mersenne61 - a;
    }
    a_low_.push_back(a & UINT32_MAX);
    a_high_.push_back(a >> 32);
    b_.push_back(b + (uint64_t{1} << 32));  // carries into bit 61 if bits 32 to 60 are all ones
    numbers_.push_back(i < numbers.size() ? numbers[i] : padding);
  }
}

void PermutationTable::append_scaled(uint64_t a, uint64_t b) {
  // Without its lowest 8 bits, and rounded up, a has 53 bits.
  const uint64_t rounded_up = (a >> 8) + 1;
  plain_low_.push_back(a & UINT32_MAX);
  scaled_a_.push_back(std::ldexp(static_cast<double>(rounded_up), 8 - 61));
  scaled_b_.push_back(0x1p33 + static_cast<double>(b & UINT32_MAX) + std::ldexp(static_cast<double>(b), -61) +
                      0x1p-18);
}

std::vector<Permutation> permutations_of(uint64_t seed, uint32_t count) {
  std::vector<Permutation> permutations(count);
  for (uint32_t i = 0; i < count; ++i) permutations[i] = permutation_at(seed, i);
  return permutations;
}

}  // namespace simjoin
