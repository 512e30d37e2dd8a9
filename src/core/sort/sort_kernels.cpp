#include "core/sort/sort_kernels.hpp"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/sort/sort_kernels.cpp"
#include <hwy/foreach_target.h>
// Highway's own headers must follow the loop over targets.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace simjoin {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Whether loads and stores of some lanes touch no memory beyond them.
#undef SIMJOIN_MASKS_MEMORY
#if HWY_TARGET <= HWY_AVX2
#define SIMJOIN_MASKS_MEMORY 1
#else
#define SIMJOIN_MASKS_MEMORY 0
#endif

// A run of `vectors` vectors of up to `most` lanes, with bitonic networks (Batcher 1968) for its numbers. A
// network compares each number with a partner and leaves the smaller one at the smaller position.
template <typename Number, size_t most, size_t vectors>
class SortedRun {
  using Lanes = hn::CappedTag<Number, most>;
  using Vector = hn::Vec<Lanes>;
  static constexpr size_t lanes = hn::MaxLanes(Lanes());

 public:
  static constexpr size_t room = lanes * vectors;

  // Writes up to `room` numbers in order.
  static HWY_INLINE void sort(const Number *from, size_t count, Number *to) {
    SortedRun run;
    run.load(from, count);
    run.template sort_lanes<2>();
    run.template merge_vectors<1>();
    run.store(to, count);
  }

 private:
  // Fills the lanes after the last number with the largest one.
  HWY_INLINE void load(const Number *HWY_RESTRICT numbers, size_t count) {
    const Lanes d;
    const Vector largest = hn::Set(d, std::numeric_limits<Number>::max());
    HWY_UNROLL(16)
    for (size_t i = 0; i < vectors; ++i) {
      if ((i + 1) * lanes <= count) {
        vector_[i] = hn::LoadU(d, numbers + i * lanes);
      } else if (i * lanes >= count) {
        vector_[i] = largest;
      } else {
#if SIMJOIN_MASKS_MEMORY
        const auto mask = hn::FirstN(d, count - i * lanes);
        vector_[i] = hn::IfThenElse(mask, hn::MaskedLoad(mask, d, numbers + i * lanes), largest);
#else
        HWY_ALIGN Number padded[lanes];
        std::fill(std::copy(numbers + i * lanes, numbers + count, padded), padded + lanes,
                  std::numeric_limits<Number>::max());
        vector_[i] = hn::Load(d, padded);
#endif
      }
    }
  }

  HWY_INLINE void store(Number *HWY_RESTRICT numbers, size_t count) const {
    const Lanes d;
    HWY_UNROLL(16)
    for (size_t i = 0; i < vectors; ++i) {
      if ((i + 1) * lanes <= count) {
        hn::StoreU(vector_[i], d, numbers + i * lanes);
      } else if (i * lanes < count) {
#if SIMJOIN_MASKS_MEMORY
        hn::BlendedStore(vector_[i], hn::FirstN(d, count - i * lanes), d, numbers + i * lanes);
#else
        HWY_ALIGN Number padded[lanes];
        hn::Store(vector_[i], d, padded);
        std::copy_n(padded, count - i * lanes, numbers + i * lanes);
#endif
      }
    }
  }

  // Compares each lane with the lane whose number differs in the bits of `distance`, in all vectors.
  template <size_t distance>
  HWY_INLINE void compare_lanes() {
    using Index = hn::TFromD<hn::RebindToSigned<Lanes>>;
    const Lanes d;
    HWY_ALIGN static constexpr auto partners = [] {
      struct {
        Index of[lanes];
        Index larger[lanes];
      } table{};
      for (size_t lane = 0; lane < lanes; ++lane) {
        table.of[lane] = static_cast<Index>(lane ^ distance);
        table.larger[lane] = (lane ^ distance) > lane ? Index{-1} : Index{0};
      }
      return table;
    }();
    const auto partner = hn::SetTableIndices(d, partners.of);
    const auto larger =
        hn::MaskFromVec(hn::BitCast(d, hn::LoadU(hn::RebindToSigned<Lanes>(), partners.larger)));
    HWY_UNROLL(16)
    for (size_t i = 0; i < vectors; ++i) {
      const Vector other = hn::TableLookupLanes(vector_[i], partner);
      vector_[i] = hn::IfThenElse(larger, hn::Min(vector_[i], other), hn::Max(vector_[i], other));
    }
  }

  // Sorts bitonic blocks of 2 * distance lanes.
  template <size_t distance>
  HWY_INLINE void finish_lanes() {
    if constexpr (distance > 0) {
      compare_lanes<distance>();
      finish_lanes<distance / 2>();
    }
  }

  // Sorts each vector: blocks of `block` lanes from their sorted halves, then larger ones.
  template <size_t block>
  HWY_INLINE void sort_lanes() {
    if constexpr (block <= lanes) {
      compare_lanes<block - 1>();
      finish_lanes<block / 4>();
      sort_lanes<2 * block>();
    }
  }

  // Sorts bitonic blocks of 2 * distance vectors.
  template <size_t distance>
  HWY_INLINE void finish_vectors() {
    if constexpr (distance > 0) {
      HWY_UNROLL(16)
      for (size_t i = 0; i < vectors; ++i) {
        if ((i & distance) != 0 || i + distance >= vectors) continue;
        const Vector a = vector_[i], b = vector_[i + distance];
        vector_[i] = hn::Min(a, b);
        vector_[i + distance] = hn::Max(a, b);
      }
      finish_vectors<distance / 2>();
    }
  }

  // Merges sorted runs of `length` vectors in pairs, then longer ones. The last run may be shorter: it would
  // go on with vectors of the largest number, which stay where they are.
  template <size_t length>
  HWY_INLINE void merge_vectors() {
    if constexpr (length < vectors) {
      const Lanes d;
      HWY_UNROLL(8)
      for (size_t begin = 0; begin < vectors; begin += 2 * length) {
        HWY_UNROLL(8)
        for (size_t i = 0; i < length; ++i) {
          const size_t last = begin + 2 * length - 1 - i;
          if (last >= vectors) continue;
          const Vector a = vector_[begin + i], b = hn::Reverse(d, vector_[last]);
          vector_[begin + i] = hn::Min(a, b);
          vector_[last] = hn::Reverse(d, hn::Max(a, b));
        }
      }
      finish_vectors<length / 2>();
      finish_lanes<lanes / 2>();
      merge_vectors<2 * length>();
    }
  }

  Vector vector_[vectors];
};

template <typename Number, size_t most, size_t vectors, size_t... more>
HWY_INLINE bool sort_few(const Number *from, size_t count, Number *to) {
  if (count <= SortedRun<Number, most, vectors>::room) {
    SortedRun<Number, most, vectors>::sort(from, count, to);
    return true;
  }
  if constexpr (sizeof...(more) > 0) return sort_few<Number, most, more...>(from, count, to);
  return false;
}

template <typename Number>
HWY_INLINE bool sort_by_vectors(const Number *from, size_t count, Number *to) {
  constexpr size_t most = 64 / sizeof(Number);
#if HWY_TARGET == HWY_SCALAR
  return sort_few<Number, most, 1>(from, count, to);
#else
  return sort_few<Number, most / 2, 1>(from, count, to) ||
         sort_few<Number, most, 1, 2, 3, 4, 6, 8, 12, 16>(from, count, to);
#endif
}

bool sort_32(const uint32_t *from, size_t count, uint32_t *to) {
  return sort_by_vectors(from, count, to);
}
bool sort_64(const uint64_t *from, size_t count, uint64_t *to) {
  return sort_by_vectors(from, count, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace simjoin
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace simjoin {

HWY_EXPORT(sort_32);
HWY_EXPORT(sort_64);

bool sort_in_registers(const uint32_t *from, size_t count, uint32_t *to) {
  return HWY_DYNAMIC_DISPATCH(sort_32)(from, count, to);
}

bool sort_in_registers(const uint64_t *from, size_t count, uint64_t *to) {
  return HWY_DYNAMIC_DISPATCH(sort_64)(from, count, to);
}

}  // namespace simjoin
#endif
