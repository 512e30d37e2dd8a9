#include "core/sets/sample_kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/sets/sample_kernels.cpp"
#include <hwy/foreach_target.h>
// Highway's own headers must follow the loop over targets.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace simjoin {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Hashes are compressed before they are stored: Zen 4 takes a hundred cycles to do both at once.
size_t select_hashes(const uint32_t *HWY_RESTRICT values, size_t count, uint32_t greatest,
                     uint32_t *HWY_RESTRICT hashes) {
  const hn::CappedTag<uint32_t, sample_padding> d;
  const size_t lanes = hn::Lanes(d);
  const auto first = hn::Set(d, 0x9E3779B1u), second = hn::Set(d, 0x85EBCA77u), high = hn::Set(d, ~greatest);
  size_t found = 0, i = 0;
  for (; i + lanes <= count; i += lanes) {
    auto hash = hn::Mul(hn::LoadU(d, values + i), first);
    hash = hn::Mul(hn::Xor(hash, hn::ShiftRight<15>(hash)), second);
    hash = hn::Xor(hash, hn::ShiftRight<13>(hash));
    const auto kept = hn::Eq(hn::And(hash, high), hn::Zero(d));
    if (hn::AllFalse(d, kept)) continue;
    hn::StoreU(hn::Compress(hash, kept), d, hashes + found);
    found += hn::CountTrue(d, kept);
  }
  for (; i < count; ++i) {
    hashes[found] = sample_hash(values[i]);
    found += hashes[found] <= greatest;
  }
  return found;
}

}  // namespace HWY_NAMESPACE
}  // namespace simjoin
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace simjoin {

HWY_EXPORT(select_hashes);

size_t sample_hashes(const uint32_t *values, size_t count, uint32_t greatest, uint32_t *hashes) {
  return HWY_DYNAMIC_DISPATCH(select_hashes)(values, count, greatest, hashes);
}

}  // namespace simjoin
#endif
