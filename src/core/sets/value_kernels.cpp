#include "core/sets/value_kernels.hpp"

#include <limits>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/sets/value_kernels.cpp"
#include <hwy/foreach_target.h>
// Highway's own headers must follow the loop over targets.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace simjoin {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Whether loads and stores of some lanes touch no memory beyond them. Then the last values need no loop,
// whose end would be mispredicted: sets have any size.
#undef SIMJOIN_MASKS_MEMORY
#if HWY_TARGET <= HWY_AVX2
#define SIMJOIN_MASKS_MEMORY 1
#else
#define SIMJOIN_MASKS_MEMORY 0
#endif

template <typename Value>
HWY_INLINE size_t write_numbers_of(const Value *HWY_RESTRICT values, size_t count,
                                   std::make_unsigned_t<Value> *HWY_RESTRICT numbers) {
  constexpr Value sign = std::numeric_limits<Value>::min();
  const hn::CappedTag<Value, 64 / sizeof(Value)> d;
  const hn::RebindToUnsigned<decltype(d)> number_lanes;
  const size_t lanes = hn::Lanes(d);
  const auto number_of = [&](auto value)
                             HWY_ATTR { return hn::BitCast(number_lanes, hn::Xor(value, hn::Set(d, sign))); };
  if (count == 0) return 0;
  auto ascents = hn::Zero(d);  // of each lane
  size_t i = 0;
  for (; i + lanes < count; i += lanes) {
    const auto value = hn::LoadU(d, values + i);
    ascents = hn::Sub(ascents, hn::VecFromMask(d, hn::Lt(value, hn::LoadU(d, values + i + 1))));
    hn::StoreU(number_of(value), number_lanes, numbers + i);
  }
#if SIMJOIN_MASKS_MEMORY
  const auto rest = hn::FirstN(d, count - i), followed = hn::FirstN(d, count - i - 1);
  const auto value = hn::MaskedLoad(rest, d, values + i);
  const auto next = hn::MaskedLoad(followed, d, values + i + 1);
  ascents = hn::Sub(ascents, hn::VecFromMask(d, hn::And(hn::Lt(value, next), followed)));
  hn::BlendedStore(number_of(value), hn::FirstN(number_lanes, count - i), number_lanes, numbers + i);
  return count - 1 - static_cast<size_t>(hn::GetLane(hn::SumOfLanes(d, ascents)));
#else
  auto all = static_cast<size_t>(hn::GetLane(hn::SumOfLanes(d, ascents)));
  for (; i < count; ++i) {
    all += i + 1 < count && values[i] < values[i + 1];
    numbers[i] = static_cast<std::make_unsigned_t<Value> >(values[i] ^ sign);
  }
  return count - 1 - all;
#endif
}

size_t descents_32(const int32_t *values, size_t count, uint32_t *numbers) {
  return write_numbers_of(values, count, numbers);
}
size_t descents_64(const int64_t *values, size_t count, uint64_t *numbers) {
  return write_numbers_of(values, count, numbers);
}

// Hashes are compressed before they are stored: Zen 4 takes a hundred cycles to do both at once.
size_t select_hashes(const uint32_t *HWY_RESTRICT values, size_t count, uint32_t greatest,
                     uint32_t *HWY_RESTRICT hashes) {
  const hn::CappedTag<uint32_t, sample_padding> d;
  const size_t lanes = hn::Lanes(d);
  const auto first = hn::Set(d, 0x9E3779B1u), second = hn::Set(d, 0x85EBCA77u), high = hn::Set(d, ~greatest);
  size_t found = 0, i = 0;
  const auto select = [&](auto value, auto some) HWY_ATTR {
    auto hash = hn::Mul(value, first);
    hash = hn::Mul(hn::Xor(hash, hn::ShiftRight<15>(hash)), second);
    hash = hn::Xor(hash, hn::ShiftRight<13>(hash));
    const auto kept = hn::And(some, hn::Eq(hn::And(hash, high), hn::Zero(d)));
    if (hn::AllFalse(d, kept)) return;
    hn::StoreU(hn::Compress(hash, kept), d, hashes + found);
    found += hn::CountTrue(d, kept);
  };
  for (; i + lanes <= count; i += lanes) select(hn::LoadU(d, values + i), hn::FirstN(d, lanes));
#if SIMJOIN_MASKS_MEMORY
  const auto rest = hn::FirstN(d, count - i);
  select(hn::MaskedLoad(rest, d, values + i), rest);
#else
  for (; i < count; ++i) {
    hashes[found] = sample_hash(values[i]);
    found += hashes[found] <= greatest;
  }
#endif
  return found;
}

}  // namespace HWY_NAMESPACE
}  // namespace simjoin
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace simjoin {

HWY_EXPORT(descents_32);
HWY_EXPORT(descents_64);
HWY_EXPORT(select_hashes);

size_t write_and_count_descents(const int32_t *values, size_t count, uint32_t *numbers) {
  return HWY_DYNAMIC_DISPATCH(descents_32)(values, count, numbers);
}

size_t write_and_count_descents(const int64_t *values, size_t count, uint64_t *numbers) {
  return HWY_DYNAMIC_DISPATCH(descents_64)(values, count, numbers);
}

size_t sample_hashes(const uint32_t *values, size_t count, uint32_t greatest, uint32_t *hashes) {
  return HWY_DYNAMIC_DISPATCH(select_hashes)(values, count, greatest, hashes);
}

}  // namespace simjoin
#endif
