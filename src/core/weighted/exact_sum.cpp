#include "core/weighted/exact_sum.hpp"

namespace simjoin {

// Adds value * 2^(64 * word).
template <int lowest_exponent, size_t words>
void BinarySum<lowest_exponent, words>::add_at(size_t word, uint64_t value) {
  for (; value != 0; ++word) {
    words_[word] += value;
    value = words_[word] < value ? 1 : 0;  // the carry
  }
}

template <int lowest_exponent, size_t words>
void BinarySum<lowest_exponent, words>::add_number(uint64_t number, int exponent) {
  const int place = exponent - lowest_exponent;
  const auto word = static_cast<size_t>(place / 64);
  const int shift = place % 64;
  add_at(word, number << shift);
  if (shift > 0) add_at(word + 1, number >> (64 - shift));
}

template <int lowest_exponent, size_t words>
void BinarySum<lowest_exponent, words>::add(const BinarySum &other) {
  uint64_t carry = 0;
  for (size_t i = 0; i < words_.size(); ++i) {
    const uint64_t sum = words_[i] + other.words_[i];
    const uint64_t more = sum < words_[i];
    words_[i] = sum + carry;
    carry = more | (words_[i] < sum);
  }
}

template <int lowest_exponent, size_t words>
void BinarySum<lowest_exponent, words>::subtract(const BinarySum &other) {
  uint64_t borrow = 0;
  for (size_t i = 0; i < words_.size(); ++i) {
    const uint64_t difference = words_[i] - other.words_[i];
    const uint64_t more = difference > words_[i];
    const uint64_t lent = difference < borrow;
    words_[i] = difference - borrow;
    borrow = more | lent;
  }
}

template <int lowest_exponent, size_t words>
double BinarySum<lowest_exponent, words>::rounded() const {
  size_t top = words_.size();
  while (top > 0 && words_[top - 1] == 0) --top;
  if (top == 0) return 0;
  // The 64 bits from the highest one on. Below them it matters only whether there is any.
  const int zeros = std::countl_zero(words_[top - 1]);
  uint64_t bits = words_[top - 1] << zeros;
  bool rest = false;
  if (top > 1) {
    if (zeros > 0) bits |= words_[top - 2] >> (64 - zeros);
    rest = words_[top - 2] << zeros != 0;
    for (size_t i = 0; i + 2 < top; ++i) rest |= words_[i] != 0;
  }
  constexpr int below = 64 - std::numeric_limits<double>::digits;
  const uint64_t half = uint64_t{1} << (below - 1), dropped = bits & ((uint64_t{1} << below) - 1);
  uint64_t kept = bits >> below;
  if (dropped > half || (dropped == half && (rest || kept % 2 == 1))) ++kept;
  const int exponent = static_cast<int>(top) * 64 - zeros - 64 + below + lowest_exponent;
  return std::ldexp(static_cast<double>(kept), exponent);
}

template class BinarySum<-149, 5>;
template class BinarySum<2 * -149, 10>;

void ExactSum::add(double weight) {
  if (!(weight > 0)) return;
  const WeightBits bits(weight);
  add_number(bits.number, bits.exponent);
}

void ExactProducts::add(double left, double right) {
  if (!(left > 0) || !(right > 0)) return;
  const WeightBits l(left), r(right);
  const auto product = static_cast<unsigned __int128>(l.number) * r.number;
  const int exponent = l.exponent + r.exponent;
  add_number(static_cast<uint64_t>(product), exponent);
  add_number(static_cast<uint64_t>(product >> 64), exponent + 64);
}

}  // namespace simjoin
