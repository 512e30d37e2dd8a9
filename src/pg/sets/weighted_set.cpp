#include "pg/sets/weighted_set.hpp"

#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/base/interruption.hpp"

namespace simjoin::pg {
namespace {

// Feeds integers. Those of partitions are mixed with the partition, so that they no longer ascend.
template <class T>
void feed_integers(WeightedJoin *join, Side side, std::span<const T> tokens, std::span<const double> weights,
                   const uint64_t *partition) {
  if (partition == nullptr) return join->add_weighted(side, tokens, weights);
  std::vector<int64_t> mixed;
  mixed.reserve(tokens.size());
  for (const int64_t token : tokens) {
    check_interruption_at(mixed.size());
    mixed.push_back(static_cast<int64_t>(static_cast<uint64_t>(token) ^ *partition));
  }
  join->add_weighted(side, std::span<const int64_t>(mixed), weights);
}

// Feeds texts. Those of partitions begin with the bytes of the partition.
void feed_texts(WeightedJoin *join, Side side, std::span<const std::string_view> tokens,
                std::span<const double> weights, const uint64_t *partition) {
  if (partition == nullptr) return join->add_weighted(side, tokens, weights);
  std::vector<std::string> mixed;
  mixed.reserve(tokens.size());
  for (const std::string_view token : tokens) {
    check_interruption_at(mixed.size());
    mixed.emplace_back(reinterpret_cast<const char *>(partition), sizeof *partition).append(token);
  }
  std::vector<std::string_view> views;
  views.reserve(mixed.size());
  for (const std::string &text : mixed) {
    check_interruption_at(views.size());
    views.push_back(text);
  }
  join->add_weighted(side, std::span<const std::string_view>(views), weights);
}

}  // namespace

void feed_weighted_set(WeightedJoin *join, Side side, const SetView &set, const float *weights,
                       const uint64_t *partition, SetCopies *copies) {
  with_weighted_tokens(set, weights, [&]<class T>(std::span<const T> tokens, std::span<const double> sums) {
    if (copies != nullptr && !copies->add(tokens, sums)) return;
    if constexpr (std::is_same_v<T, std::string_view>) {
      feed_texts(join, side, tokens, sums, partition);
    } else {
      feed_integers(join, side, tokens, sums, partition);
    }
  });
}

}  // namespace simjoin::pg
