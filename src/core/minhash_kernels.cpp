#include "core/minhash_kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/minhash_kernels.cpp"
#include <hwy/foreach_target.h>
// Highway's own headers must follow the loop over targets.
#include <hwy/highway.h>

#include "core/minhash_family.hpp"

HWY_BEFORE_NAMESPACE();
namespace simjoin {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

void lower_values_dispatched(const PermutationTable &table, const uint32_t *hashes, size_t count,
                             uint32_t *values) {
  for (size_t p = 0; p < table.count; ++p) {
    const Permutation permutation{table.a_high[p] << low_half_bits | table.a_low[p], table.b[p]};
    uint32_t least = values[p];
    for (size_t i = 0; i < count; ++i) {
      const uint32_t value = permuted(permutation, hashes[i]);
      if (value < least) least = value;
    }
    values[p] = least;
  }
}

#else

using Words = hn::CappedTag<uint64_t, permutation_block / 2>;
using Word = hn::Vec<Words>;
using Halves = hn::Repartition<uint32_t, Words>;
using Values = hn::Rebind<uint32_t, Words>;

// Permutations in registers, one a lane, with the least values so far in the lower halves of the lanes.
struct Lanes {
  hn::Vec<Halves> a_low, a_high;
  Word b, least;

  HWY_INLINE void load(const PermutationTable &table, size_t p, const uint32_t *values) {
    const Words d;
    const Halves halves;
    a_low = hn::BitCast(halves, hn::LoadU(d, table.a_low + p));
    a_high = hn::BitCast(halves, hn::LoadU(d, table.a_high + p));
    b = hn::LoadU(d, table.b + p);
    least = hn::PromoteTo(d, hn::LoadU(Values(), values + p));
  }

  // The steps of `permuted`. The upper halves of `least` hold no value.
  HWY_INLINE void lower(hn::Vec<Halves> hash) {
    const Words d;
    const Halves halves;
    const Word modulus = hn::Set(d, mersenne61);
    const Word low = hn::MulEven(a_low, hash), high = hn::MulEven(a_high, hash);
    const Word wrapped =
        hn::Add(hn::ShiftRight<32>(high), hn::And(hn::ShiftLeft<low_half_bits>(high), modulus));
    const Word sum = hn::Add(hn::Add(low, b), wrapped);
    const Word above = hn::Add(hn::Add(sum, hn::Set(d, 1)), hn::ShiftRight<61>(sum));
    const Word value = hn::Add(sum, hn::ShiftRight<61>(above));
    least = hn::BitCast(d, hn::Min(hn::BitCast(halves, least), hn::BitCast(halves, value)));
  }

  HWY_INLINE void store(size_t p, uint32_t *values) const {
    hn::StoreU(hn::TruncateTo(Values(), least), Values(), values + p);
  }
};

void lower_values_dispatched(const PermutationTable &table, const uint32_t *hashes, size_t count,
                             uint32_t *values) {
  const Halves halves;
  const size_t lanes = hn::Lanes(Words());
  for (size_t p = 0; p < table.count; p += 2 * lanes) {
    Lanes first, second;
    first.load(table, p, values);
    second.load(table, p + lanes, values);
    for (size_t i = 0; i < count; ++i) {
      const auto hash = hn::Set(halves, hashes[i]);
      first.lower(hash);
      second.lower(hash);
    }
    first.store(p, values);
    second.store(p + lanes, values);
  }
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace simjoin
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace simjoin {

HWY_EXPORT(lower_values_dispatched);

void lower_values(const PermutationTable &table, const uint32_t *hashes, size_t count, uint32_t *values) {
  HWY_DYNAMIC_DISPATCH(lower_values_dispatched)(table, hashes, count, values);
}

}  // namespace simjoin
#endif
