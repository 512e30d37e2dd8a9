#include "core/minhash/minhash_kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/minhash/minhash_kernels.cpp"
#include <hwy/foreach_target.h>
// Highway's own headers must follow the loop over targets.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace simjoin {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

bool lower_values_dispatched(const PermutationTable &table, size_t group, const uint32_t *hashes,
                             size_t count, uint32_t *least) {
  const uint32_t flip = table.flips()[group];
  bool suspect = false;
  for (size_t i = 0; i < permutation_block; ++i) {
    const size_t p = group * permutation_block + i;
    const auto a_low = static_cast<uint32_t>(table.a_low()[p]);
    const auto a_high = static_cast<uint32_t>(table.a_high()[p]);
    for (size_t j = 0; j < count; ++j) {
      const uint32_t value = upper_value(a_low, a_high, table.b()[p], hashes[j] ^ flip);
      if (value < least[i]) least[i] = value;
    }
    suspect |= suspect_value(table.inverse(p), least[i]);
  }
  return !suspect;
}

#elif HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86

// Minima of 64 bits, and so whole parts with their fractions (see the table).
using Words = hn::FixedTag<uint64_t, 8>;
using Word = hn::Vec<Words>;
using Halves = hn::Repartition<uint32_t, Words>;
using Values = hn::Rebind<uint32_t, Words>;
using Doubles = hn::RebindToFloat<Words>;
using Bytes = hn::Repartition<uint8_t, Words>;

// Bits of a double above the whole part's lower half.
constexpr int bits_above = 64 - 32 - fraction_bits;
constexpr size_t hashes_at_once = 128;

// Permutations in registers, one per lane, with the least values so far above their fractions.
struct Lanes {
  hn::Vec<Halves> a_low;
  hn::Vec<Doubles> a, b;
  Word least;

  HWY_INLINE void load(const PermutationTable &table, size_t p, const uint32_t *values) {
    const Words d;
    a_low = hn::BitCast(Halves(), hn::LoadU(d, table.plain_low() + p));
    a = hn::LoadU(Doubles(), table.scaled_a() + p);
    b = hn::LoadU(Doubles(), table.scaled_b() + p);
    // A value without a fraction is certain.
    least = hn::Or(hn::ShiftLeft<32>(hn::PromoteTo(d, hn::LoadU(Values(), values))), hn::Set(d, UINT32_MAX));
  }

  // `low_bytes` moves the lower half of a lane up. A shuffle does it, because shifts and minima share a port.
  HWY_INLINE void lower(uint64_t hash, double hash_number, hn::Vec<Bytes> low_bytes) {
    const Words d;
    const Word product = hn::MulEven(a_low, hn::BitCast(Halves(), hn::Set(d, hash)));
    const auto quotient = hn::MulAdd(a, hn::Set(Doubles(), hash_number), b);
    const Word low = hn::BitCast(d, hn::TableLookupBytesOr0(hn::BitCast(Bytes(), product), low_bytes));
    least = hn::Min(least, hn::Add(low, hn::ShiftLeft<bits_above>(hn::BitCast(d, quotient))));
  }

  HWY_INLINE bool certain() const {
    const Words d;
    const Word fraction = hn::And(least, hn::Set(d, UINT32_MAX));
    return hn::AllFalse(d, hn::Lt(fraction, hn::Set(d, uint64_t{uncertain_fraction} << bits_above)));
  }

  HWY_INLINE void store(uint32_t *values) const {
    hn::StoreU(hn::TruncateTo(Values(), hn::ShiftRight<32>(least)), Values(), values);
  }
};

bool lower_values_dispatched(const PermutationTable &table, size_t group, const uint32_t *hashes,
                             size_t count, uint32_t *least) {
  alignas(16) static constexpr uint8_t indices[16] = {0x80, 0x80, 0x80, 0x80, 0, 1, 2,  3,
                                                      0x80, 0x80, 0x80, 0x80, 8, 9, 10, 11};
  const auto low_bytes = hn::LoadDup128(Bytes(), indices);
  constexpr size_t width = 8, vectors = permutation_block / width;
  const size_t p = group * permutation_block;
  Lanes lanes[vectors];
  for (size_t i = 0; i < vectors; ++i) lanes[i].load(table, p + i * width, least + i * width);
  uint64_t words[hashes_at_once];
  double numbers[hashes_at_once];
  for (size_t begin = 0; begin < count; begin += hashes_at_once) {
    const size_t used = count - begin < hashes_at_once ? count - begin : hashes_at_once;
    for (size_t j = 0; j < used; ++j) {
      words[j] = hashes[begin + j];
      numbers[j] = static_cast<double>(hashes[begin + j]);
    }
    for (size_t j = 0; j < used; ++j)
      for (size_t i = 0; i < vectors; ++i) lanes[i].lower(words[j], numbers[j], low_bytes);
  }
  bool certain = true;
  for (size_t i = 0; i < vectors; ++i) {
    lanes[i].store(least + i * width);
    certain &= lanes[i].certain();
  }
  return certain;
}

#else

using Words = hn::CappedTag<uint64_t, 8>;
using Word = hn::Vec<Words>;
using Halves = hn::Repartition<uint32_t, Words>;
using Values = hn::Rebind<uint32_t, Words>;

// Permutations in registers, one per lane, with the least values so far in the lower halves of the lanes.
struct Lanes {
  hn::Vec<Halves> a_low, a_high;
  Word b, least;

  // The compiler's own constructor would not be compiled for the target.
  HWY_INLINE Lanes() {}

  HWY_INLINE void load(const PermutationTable &table, size_t p, const uint32_t *values) {
    const Words d;
    const Halves halves;
    a_low = hn::BitCast(halves, hn::LoadU(d, table.a_low() + p));
    a_high = hn::BitCast(halves, hn::LoadU(d, table.a_high() + p));
    b = hn::LoadU(d, table.b() + p);
    least = hn::PromoteTo(d, hn::LoadU(Values(), values));
  }

  // The steps of `upper_value`. The upper halves of `least` hold no value.
  HWY_INLINE void lower(hn::Vec<Halves> hash) {
    const Words d;
    const Halves halves;
    const Word low = hn::Add(hn::MulEven(a_low, hash), b);
    const Word high = hn::Add(hn::MulEven(a_high, hash), hn::ShiftRight<32>(low));
    const Word value = hn::Add(low, hn::ShiftRight<29>(high));
    least = hn::BitCast(d, hn::Min(hn::BitCast(halves, least), hn::BitCast(halves, value)));
  }

  // The steps of `suspect_value`.
  HWY_INLINE bool suspect(const PermutationTable &table, size_t p) const {
    const Words d;
    const Halves halves;
    const auto by = hn::BitCast(halves, least);
    const Word a = hn::LoadU(d, table.inverse_a() + p), b = hn::LoadU(d, table.inverse_b() + p);
    const Word low = hn::Add(hn::MulEven(hn::BitCast(halves, a), by), hn::And(b, hn::Set(d, UINT32_MAX)));
    const Word high = hn::Add(hn::MulEven(hn::BitCast(halves, hn::ShiftRight<32>(a)), by),
                              hn::Add(hn::ShiftRight<32>(b), hn::ShiftRight<32>(low)));
    const Word rest = hn::And(hn::Add(high, hn::Set(d, 1)), hn::Set(d, (uint64_t{1} << 29) - 2));
    return !hn::AllFalse(d, hn::Eq(rest, hn::Zero(d)));
  }

  HWY_INLINE void store(uint32_t *values) const {
    hn::StoreU(hn::TruncateTo(Values(), least), Values(), values);
  }
};

bool lower_values_dispatched(const PermutationTable &table, size_t group, const uint32_t *hashes,
                             size_t count, uint32_t *least) {
  const Halves halves;
  const size_t lanes = hn::Lanes(Words());
  const auto flip = hn::Set(halves, table.flips()[group]);
  bool suspect = false;
  for (size_t i = 0; i < permutation_block; i += 2 * lanes) {
    const size_t p = group * permutation_block + i;
    Lanes first, second;
    first.load(table, p, least + i);
    second.load(table, p + lanes, least + i + lanes);
    for (size_t j = 0; j < count; ++j) {
      const auto hash = hn::Xor(hn::Set(halves, hashes[j]), flip);
      first.lower(hash);
      second.lower(hash);
    }
    suspect |= first.suspect(table, p) || second.suspect(table, p + lanes);
    first.store(least + i);
    second.store(least + i + lanes);
  }
  return !suspect;
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace simjoin
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace simjoin {

HWY_EXPORT(lower_values_dispatched);

bool lower_values(const PermutationTable &table, size_t group, const uint32_t *hashes, size_t count,
                  uint32_t *least) {
  return HWY_DYNAMIC_DISPATCH(lower_values_dispatched)(table, group, hashes, count, least);
}

}  // namespace simjoin
#endif
