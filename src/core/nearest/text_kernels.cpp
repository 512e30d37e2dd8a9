#include "core/nearest/text_kernels.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/nearest/text_kernels.cpp"
#include <hwy/foreach_target.h>
// Highway's own headers must follow the loop over targets.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace simjoin {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::CappedTag<uint64_t, 8>;
using WordVector = hn::Vec<Words>;

// Returns for each lane how many bits are set in both words.
HWY_INLINE WordVector bits_of(WordVector a, WordVector b) {
#if HWY_TARGET <= HWY_AVX3_DL || HWY_TARGET == HWY_SCALAR
  return hn::Add(hn::PopulationCount(a), hn::PopulationCount(b));
#else
  const hn::Repartition<uint8_t, Words> bytes;
  return hn::SumsOf8(
      hn::Add(hn::PopulationCount(hn::BitCast(bytes, a)), hn::PopulationCount(hn::BitCast(bytes, b))));
#endif
}

void count_missing_dispatched(const uint64_t *HWY_RESTRICT first, const uint64_t *HWY_RESTRICT second,
                              size_t count, const TextSignature &probe, uint8_t base, uint8_t least,
                              uint8_t *HWY_RESTRICT missing) {
  const Words d;
  const hn::Rebind<uint8_t, Words> bytes;
  const size_t lanes = hn::Lanes(d);
  const auto word = hn::Set(d, probe.words[0]), other = hn::Set(d, probe.words[1]);
  const auto more = hn::Set(bytes, base), floor = hn::Set(bytes, least);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const WordVector bits =
        bits_of(hn::AndNot(hn::LoadU(d, first + i), word), hn::AndNot(hn::LoadU(d, second + i), other));
    hn::StoreU(hn::Max(hn::Add(hn::TruncateTo(bytes, bits), more), floor), bytes, missing + i);
  }
  for (; i < count; ++i) {
    const int bits =
        __builtin_popcountll(probe.words[0] & ~first[i]) + __builtin_popcountll(probe.words[1] & ~second[i]);
    missing[i] = std::max(static_cast<uint8_t>(bits + base), least);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace simjoin
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace simjoin {

HWY_EXPORT(count_missing_dispatched);

void count_missing(const uint64_t *first, const uint64_t *second, size_t count, const TextSignature &probe,
                   uint8_t base, uint8_t least, uint8_t *missing) {
  HWY_DYNAMIC_DISPATCH(count_missing_dispatched)(first, second, count, probe, base, least, missing);
}

}  // namespace simjoin
#endif
