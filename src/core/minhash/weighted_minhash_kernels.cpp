#include "core/minhash/weighted_minhash_kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/minhash/weighted_minhash_kernels.cpp"
#include <hwy/foreach_target.h>
// Highway's own headers must follow the loop over targets.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace simjoin {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr size_t max_lanes = 16;

using Words = hn::CappedTag<uint32_t, max_lanes>;
using Numbers = hn::RebindToSigned<Words>;
using Floats = hn::RebindToFloat<Words>;
using Word = hn::Vec<Words>;
using Float = hn::Vec<Floats>;

// The steps of the functions of the same names in the header, lane by lane.

// Returns the low and high 32 bits of the products of the lanes by a constant.
HWY_INLINE void multiply(Word x, uint32_t factor, Word &low, Word &high) {
  const Words d;
#if HWY_TARGET == HWY_SCALAR
  const uint64_t product = uint64_t{hn::GetLane(x)} * factor;
  low = hn::Set(d, static_cast<uint32_t>(product));
  high = hn::Set(d, static_cast<uint32_t>(product >> 32));
#else
  const hn::Repartition<uint64_t, Words> wide;
  const Word by = hn::Set(d, factor);
  const auto even = hn::MulEven(x, by);
  const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, x))), by);
  low = hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), hn::BitCast(d, even));
  high = hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even)));
#endif
}

struct RandomVectors {
  Word word[4];
};

HWY_INLINE RandomVectors random_vectors(uint64_t seed, uint32_t identity_low, uint32_t identity_high,
                                        Word sample) {
  const Words d;
  Word c0 = hn::Set(d, identity_low), c1 = hn::Set(d, identity_high), c2 = sample;
  Word c3 = hn::Set(d, static_cast<uint32_t>(RandomUse::weighted_sample));
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    Word low0, high0, low1, high1;
    multiply(c0, 0xD2511F53u, low0, high0);
    multiply(c2, 0xCD9E8D57u, low1, high1);
    c0 = hn::Xor(hn::Xor(high1, c1), hn::Set(d, k0));
    c1 = low1;
    c2 = hn::Xor(hn::Xor(high0, c3), hn::Set(d, k1));
    c3 = low0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

HWY_INLINE Float log_of_lanes(Float x) {
  const Floats d;
  const Words words;
  const Numbers numbers;
  const Word least = hn::Set(words, 0x3F3504F3u);
  const Word offset = hn::Sub(hn::BitCast(words, x), least);
  const Float mantissa = hn::BitCast(d, hn::Add(hn::And(offset, hn::Set(words, 0x007FFFFFu)), least));
  const Float exponent = hn::ConvertTo(d, hn::ShiftRight<23>(hn::BitCast(numbers, offset)));
  const Float one = hn::Set(d, 1.0f);
  const Float s = hn::Div(hn::Sub(mantissa, one), hn::Add(mantissa, one));
  const Float z = hn::Mul(s, s);
  Float series = hn::Add(hn::Set(d, 0.14285715f), hn::Mul(z, hn::Set(d, 0.11111111f)));
  series = hn::Add(hn::Set(d, 0.2f), hn::Mul(z, series));
  series = hn::Mul(z, hn::Add(hn::Set(d, 0.33333334f), hn::Mul(z, series)));
  return hn::Add(hn::Mul(exponent, hn::Set(d, 0.69314718f)),
                 hn::Mul(hn::Set(d, 2.0f), hn::Add(s, hn::Mul(s, series))));
}

HWY_INLINE Float uniform_lanes(Word k) {
  const Floats d;
  const Float middle = hn::Add(hn::ConvertTo(d, hn::BitCast(Numbers(), k)), hn::Set(d, 0.5f));
  return hn::Mul(middle, hn::Set(d, 0x1p-23f));
}

HWY_INLINE void draw_lanes(const RandomVectors &random, Float ln_weight, Float &ln_a, hn::Vec<Numbers> &t) {
  const Floats d;
  const Words words;
  const Numbers numbers;
  const Word *word = random.word;
  const auto uniform_of = [](Word w) HWY_ATTR { return uniform_lanes(hn::ShiftRight<9>(w)); };
  const Float r = hn::Neg(log_of_lanes(hn::Mul(uniform_of(word[0]), uniform_of(word[1]))));
  const Float c = hn::Neg(log_of_lanes(hn::Mul(uniform_of(word[2]), uniform_of(word[3]))));
  const Word nine = hn::Set(words, 0x1FFu), five = hn::Set(words, 0x1Fu);
  const Float beta =
      uniform_lanes(hn::Or(hn::ShiftLeft<14>(hn::And(word[0], nine)),
                           hn::Or(hn::ShiftLeft<5>(hn::And(word[1], nine)), hn::And(word[2], five))));
  const Float position = hn::Add(hn::Div(ln_weight, r), beta);
  const auto towards_zero = hn::ConvertTo(numbers, position);
  const auto above = hn::Gt(hn::ConvertTo(d, towards_zero), position);
  // A true lane of the mask is -1.
  t = hn::Add(towards_zero, hn::BitCast(numbers, hn::VecFromMask(d, above)));
  const Float distance = hn::Add(hn::Sub(hn::ConvertTo(d, t), beta), hn::Set(d, 1.0f));
  ln_a = hn::Sub(log_of_lanes(c), hn::Mul(r, distance));
}

void lower_samples_dispatched(uint64_t identity, float ln_weight, uint64_t seed, size_t count, float *least,
                              uint64_t *token, int32_t *t) {
  const Words words;
  const Floats d;
  const size_t lanes = hn::Lanes(d);
  HWY_ALIGN float ln_a[max_lanes];
  HWY_ALIGN int32_t drawn_t[max_lanes];
  const auto low = static_cast<uint32_t>(identity), high = static_cast<uint32_t>(identity >> 32);
  for (size_t first = 0; first < count; first += lanes) {
    const Word sample = hn::Iota(words, static_cast<uint32_t>(first));
    Float drawn;
    hn::Vec<Numbers> number;
    draw_lanes(random_vectors(seed, low, high, sample), hn::Set(d, ln_weight), drawn, number);
    hn::Store(drawn, d, ln_a);
    hn::Store(number, Numbers(), drawn_t);
    const size_t used = count - first < lanes ? count - first : lanes;
    for (size_t i = 0; i < used; ++i) {
      if (!(ln_a[i] < least[first + i])) continue;
      least[first + i] = ln_a[i];
      token[first + i] = identity;
      t[first + i] = drawn_t[i];
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace simjoin
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <cmath>

namespace simjoin {

HWY_EXPORT(lower_samples_dispatched);

void lower_samples(uint64_t identity, float ln_weight, uint64_t seed, size_t count, float *least,
                   uint64_t *token, int32_t *t) {
  HWY_DYNAMIC_DISPATCH(lower_samples_dispatched)(identity, ln_weight, seed, count, least, token, t);
}

void lower_samples_by_definition(uint64_t identity, float ln_weight, uint64_t seed, size_t count,
                                 float *least, uint64_t *token, int32_t *t) {
  for (size_t i = 0; i < count; ++i) {
    const WeightedDraw draw =
        draw_weighted(seed, static_cast<uint32_t>(identity), static_cast<uint32_t>(identity >> 32),
                      static_cast<uint32_t>(i), ln_weight);
    if (!(draw.ln_a < least[i])) continue;
    least[i] = draw.ln_a;
    token[i] = identity;
    t[i] = draw.t;
  }
}

float log_of_weight(double weight) {
  int exponent;
  auto mantissa = static_cast<float>(std::frexp(weight, &exponent));  // from 1/2 to 1
  if (mantissa < 0.70710677f) {
    mantissa *= 2;
    --exponent;
  }
  return log_of(mantissa, exponent);
}

}  // namespace simjoin
#endif
