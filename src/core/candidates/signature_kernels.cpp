#include "core/candidates/signature_kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/candidates/signature_kernels.cpp"
#include <hwy/foreach_target.h>
// Highway's own headers must follow the loop over targets.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace simjoin {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Whether the target counts the bits of 64-bit lanes itself. Other targets count bits of bytes and add them
// up.
#undef SIMJOIN_COUNTS_WORDS
#if HWY_TARGET <= HWY_AVX3_DL || HWY_TARGET == HWY_SCALAR
#define SIMJOIN_COUNTS_WORDS 1
#else
#define SIMJOIN_COUNTS_WORDS 0
#endif

using Words = hn::CappedTag<uint64_t, signature_block>;
using WordVector = hn::Vec<Words>;
using Numbers = hn::RebindToSigned<Words>;  // not every target compares unsigned words

#if !SIMJOIN_COUNTS_WORDS
using Bytes = hn::Repartition<uint8_t, Words>;
using ByteVector = hn::Vec<Bytes>;

// Adds up three words bit by bit, into sums and carries.
HWY_INLINE void add_bits(WordVector a, WordVector b, WordVector c, WordVector &sum, WordVector &carry) {
  const WordVector difference = hn::Xor(a, b);
  sum = hn::Xor(difference, c);
  carry = hn::Or(hn::And(difference, c), hn::AndNot(difference, a));
}

HWY_INLINE ByteVector bits_of_bytes(WordVector v) {
  return hn::PopulationCount(hn::BitCast(Bytes(), v));
}

// Returns, for each byte, the number of bits set over eight words, by four population counts instead of eight
// (Harley and Seal).
HWY_INLINE ByteVector bits_of_eight(const WordVector (&w)[8]) {
  WordVector one_a, one_b, ones, two_a, two_b, two_c, twos, fours;
  add_bits(w[0], w[1], w[2], one_a, two_a);
  add_bits(w[3], w[4], w[5], one_b, two_b);
  add_bits(one_a, one_b, w[6], ones, two_c);
  add_bits(two_a, two_b, two_c, twos, fours);
  const ByteVector four = bits_of_bytes(fours);
  const ByteVector two = hn::Add(bits_of_bytes(twos), hn::Add(four, four));
  return hn::Add(hn::Add(bits_of_bytes(ones), bits_of_bytes(w[7])), hn::Add(two, two));
}

#endif

// Returns the number of bits set in each lane.
HWY_INLINE WordVector bits_of(WordVector v) {
#if SIMJOIN_COUNTS_WORDS
  return hn::PopulationCount(v);
#else
  return hn::SumsOf8(bits_of_bytes(v));
#endif
}

// Returns, for each lane, the number of bits that `words` words of column and row share. `words` is at most
// 8.
template <size_t words>
HWY_INLINE WordVector shared_bits(const uint64_t *HWY_RESTRICT column, const uint64_t *HWY_RESTRICT row) {
  const Words d;
  const auto both = [&](size_t w) {
    return hn::And(hn::Load(d, column + w * signature_block), hn::Set(d, row[w]));
  };
#if SIMJOIN_COUNTS_WORDS
  WordVector count = hn::PopulationCount(both(0));
  for (size_t w = 1; w < words; ++w) count = hn::Add(count, hn::PopulationCount(both(w)));
  return count;
#else
  ByteVector count;
  if constexpr (words == 8) {
    const WordVector eight[8] = {both(0), both(1), both(2), both(3), both(4), both(5), both(6), both(7)};
    count = bits_of_eight(eight);
  } else if constexpr (words == 4) {
    WordVector sum, carry;
    add_bits(both(0), both(1), both(2), sum, carry);
    const ByteVector twos = bits_of_bytes(carry);
    count = hn::Add(hn::Add(bits_of_bytes(sum), bits_of_bytes(both(3))), hn::Add(twos, twos));
  } else {
    count = bits_of_bytes(both(0));
    if constexpr (words == 2) count = hn::Add(count, bits_of_bytes(both(1)));
  }
  return hn::SumsOf8(count);
#endif
}

// `step` is `words`, or 8 if `words` is more, which must be a multiple of 8 then.
template <size_t step>
size_t filter_row_of(const SignatureRow &row, size_t words, uint32_t *HWY_RESTRICT hits) {
  const Words d;
  const size_t lanes = hn::Lanes(d);
  const Numbers number;
  const uint32_t all_lanes = (1u << lanes) - 1;
  const auto row_excess = hn::Set(number, row.row_excess);
  size_t found = 0;
  for (size_t block = 0; block < row.blocks; ++block) {
    for (size_t lane = 0; lane < signature_block; lane += lanes) {
      const size_t column = block * signature_block + lane;
      const uint64_t *at = row.columns + block * words * signature_block + lane;
      WordVector shared = shared_bits<step>(at, row.row);
      for (size_t w = step; w < words; w += step) {
        shared = hn::Add(shared, shared_bits<step>(at + w * signature_block, row.row + w));
      }
      const auto excess = hn::Min(row_excess, hn::LoadU(number, row.excess + column));
      const auto bound = hn::Add(hn::BitCast(number, shared), excess);
      const auto miss = hn::Lt(bound, hn::LoadU(number, row.required + column));
      if (HWY_LIKELY(hn::AllTrue(number, miss))) continue;
      uint8_t bits[8] = {};
      hn::StoreMaskBits(number, miss, bits);
      for (uint32_t left = ~uint32_t{bits[0]} & all_lanes; left != 0; left &= left - 1) {
        hits[found++] = static_cast<uint32_t>(column) + static_cast<uint32_t>(__builtin_ctz(left));
      }
    }
  }
  return found;
}

size_t filter_row_dispatched(const SignatureRow &row, size_t words, uint32_t *hits) {
  switch (words) {
    case 1:
      return filter_row_of<1>(row, 1, hits);
    case 2:
      return filter_row_of<2>(row, 2, hits);
    case 4:
      return filter_row_of<4>(row, 4, hits);
    case 8:
      return filter_row_of<8>(row, 8, hits);
    default:
      return filter_row_of<8>(row, words, hits);
  }
}

size_t select_near_dispatched(const uint64_t *HWY_RESTRICT signatures, const uint64_t *HWY_RESTRICT values,
                              size_t count, uint64_t probe, uint32_t limit, uint64_t *HWY_RESTRICT out) {
  const Words d;
  const size_t lanes = hn::Lanes(d);
  const WordVector wanted = hn::Set(d, probe);
  const auto beyond = hn::Set(Numbers(), int64_t{limit} + 1);
  size_t kept = 0, i = 0;
  for (; i + lanes <= count; i += lanes) {
    const WordVector bits = bits_of(hn::Xor(hn::LoadU(d, signatures + i), wanted));
    const auto near_number = hn::Lt(hn::BitCast(Numbers(), bits), beyond);
    if (hn::AllFalse(Numbers(), near_number)) continue;
    const auto near = hn::RebindMask(d, near_number);
    kept += hn::CompressStore(hn::LoadU(d, values + i), near, d, out + kept);
  }
  for (; i < count; ++i) {
    out[kept] = values[i];
    kept += static_cast<uint32_t>(__builtin_popcountll(signatures[i] ^ probe)) <= limit;
  }
  return kept;
}

uint64_t select_sharing_dispatched(const uint64_t *HWY_RESTRICT signatures, size_t count, uint64_t probe,
                                   uint32_t least) {
  const Words d;
  const size_t lanes = hn::Lanes(d);
  const WordVector wanted = hn::Set(d, probe);
  const auto too_few = hn::Set(Numbers(), int64_t{least} - 1);
  uint64_t found = 0;
  for (size_t i = 0; i < count; i += lanes) {
    const WordVector bits = bits_of(hn::And(hn::LoadU(d, signatures + i), wanted));
    const auto enough = hn::Gt(hn::BitCast(Numbers(), bits), too_few);
    if (hn::AllFalse(Numbers(), enough)) continue;
    uint8_t of_lanes[8] = {};
    hn::StoreMaskBits(Numbers(), enough, of_lanes);
    found |= (of_lanes[0] & ((uint64_t{1} << lanes) - 1)) << i;
  }
  return count < 64 ? found & ((uint64_t{1} << count) - 1) : found;
}

}  // namespace HWY_NAMESPACE
}  // namespace simjoin
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace simjoin {

HWY_EXPORT(filter_row_dispatched);
HWY_EXPORT(select_near_dispatched);
HWY_EXPORT(select_sharing_dispatched);

size_t filter_row(const SignatureRow &row, size_t words, uint32_t *hits) {
  return HWY_DYNAMIC_DISPATCH(filter_row_dispatched)(row, words, hits);
}

size_t select_near(const uint64_t *signatures, const uint64_t *values, size_t count, uint64_t probe,
                   uint32_t limit, uint64_t *out) {
  return HWY_DYNAMIC_DISPATCH(select_near_dispatched)(signatures, values, count, probe, limit, out);
}

uint64_t select_sharing(const uint64_t *signatures, size_t count, uint64_t probe, uint32_t least) {
  return HWY_DYNAMIC_DISPATCH(select_sharing_dispatched)(signatures, count, probe, least);
}

}  // namespace simjoin
#endif
