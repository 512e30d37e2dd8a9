#include "core/dedup/hash_kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/dedup/hash_kernels.cpp"
#include <hwy/foreach_target.h>
// Highway's own headers must follow the loop over targets.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace simjoin {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Sums of hashes, by lane.
template <class D>
struct LaneSums {
  using Vector = hn::Vec<D>;

  D d;
  Vector one = hn::Zero(d), other = hn::Zero(d);

  // The first hash is a bijection like the finalizer of MurmurHash3 (Appleby, 2011), the second one a
  // bijection of the first.
  HWY_INLINE void add(Vector token) {
    Vector hash = hn::Xor(token, hn::Set(d, 0x9E3779B9u));
    hash = hn::Mul(hn::Xor(hash, hn::ShiftRight<16>(hash)), hn::Set(d, 0x85EBCA6Bu));
    hash = hn::Mul(hn::Xor(hash, hn::ShiftRight<13>(hash)), hn::Set(d, 0xC2B2AE35u));
    hash = hn::Xor(hash, hn::ShiftRight<16>(hash));
    one = hn::Add(one, hash);
    hash = hn::Mul(hn::Xor(hash, hn::ShiftRight<15>(hash)), hn::Set(d, 0x2C1B3C6Du));
    other = hn::Add(other, hn::Xor(hash, hn::ShiftRight<12>(hash)));
  }

  HWY_INLINE HashSums sums() const {
    return {hn::GetLane(hn::SumOfLanes(d, one)), hn::GetLane(hn::SumOfLanes(d, other))};
  }
};

HashSums sum_hashes(const int32_t *HWY_RESTRICT tokens, size_t count) {
  const hn::CappedTag<uint32_t, 16> d;
  const hn::CappedTag<uint32_t, 1> single;
  const size_t lanes = hn::Lanes(d);
  const auto *HWY_RESTRICT numbers = reinterpret_cast<const uint32_t *>(tokens);
  LaneSums<decltype(d)> sums{d};
  LaneSums<decltype(single)> rest{single};
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) sums.add(hn::LoadU(d, numbers + i));
  for (; i < count; ++i) rest.add(hn::LoadU(single, numbers + i));
  HashSums result = sums.sums();
  result += rest.sums();
  return result;
}

}  // namespace HWY_NAMESPACE
}  // namespace simjoin
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace simjoin {

HWY_EXPORT(sum_hashes);

HashSums hash_sums(const int32_t *tokens, size_t count) {
  return HWY_DYNAMIC_DISPATCH(sum_hashes)(tokens, count);
}

}  // namespace simjoin
#endif
