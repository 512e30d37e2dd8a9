#include "pg/sets/weighted_set.hpp"

#include <span>
#include <string_view>
#include <type_traits>

#include "core/base/packed_texts.hpp"
#include "core/set_slices.hpp"

namespace simjoin::pg {
namespace {

template <class T>
void feed_tokens(JoinEngine *join, Side side, std::span<const T> tokens, const double *weights) {
  if constexpr (std::is_same_v<T, std::string_view>) {
    TextPacker packer;
    for_each_token(tokens, [&](std::string_view token) { packer.add(token); });
    const PackedTexts texts = packer.texts();
    join->add(side, row_of(texts, weights));
  } else {
    const auto count = static_cast<uint32_t>(tokens.size());
    join->add(side, row_of(tokens, count, weights));
  }
}

}  // namespace

void feed_weighted_set(JoinEngine *join, Side side, const SetView &set, const float *weights,
                       const uint64_t *partition, SetCopies *copies) {
  with_weighted_tokens(set, weights, [&]<class T>(std::span<const T> tokens, std::span<const double> sums) {
    if (copies != nullptr && !copies->add(tokens, sums)) return;
    if (partition == nullptr) return feed_tokens(join, side, tokens, sums.data());
    PartitionedTokens mixed(*partition);
    for_each_token(tokens, [&](T token) { mixed.add(token); });
    join->add(side, mixed.row(sums.data()));
  });
}

}  // namespace simjoin::pg
