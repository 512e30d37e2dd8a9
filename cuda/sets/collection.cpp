#include "cuda/sets/collection.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "cuda/sets/row_sets.hpp"
#include "cuda/sets/row_sort.hpp"
#include "cuda/sets/set_order.hpp"

namespace simjoin::gpu {

uint32_t DeviceSide::lower_bound(uint64_t size) const {
  const auto found =
      std::lower_bound(classes.begin(), classes.end(), size,
                       [](const DeviceSizeClass &c, uint64_t value) { return c.size < value; });
  return found == classes.end() ? sets : found->begin;
}

// A rank gets a bit of its own while it is at least as frequent as the average of the bits left.
DeviceSignatureLayout DeviceCollection::layout(uint32_t steps, uint32_t excess_bits) const {
  DeviceSignatureLayout layout{steps, excess_bits, 0, rank_count};
  if (rank_count <= layout.bits()) {
    layout.own = rank_count;
    return layout;
  }
  uint64_t rest = stored_tokens;
  while (layout.own + 1 < layout.bits() && layout.own < most_frequent.size()) {
    const uint64_t frequency = most_frequent[layout.own];
    if (frequency * (layout.bits() - layout.own) < rest) break;
    rest -= std::min(rest, frequency);
    ++layout.own;
  }
  return layout;
}

DeviceCollection copy_collection(Device &device, const DeviceCollection &collection, const Device &from,
                                 const std::function<void()> &check) {
  from.let_read(device);
  DeviceCollection copy;
  copy.ranks = copy_from_peer(device, collection.ranks, from, check);
  for (size_t s = 0; s < 2; ++s) {
    const DeviceSide &side = collection.sides[s];
    copy.sides[s] = {copy_from_peer(device, side.records, from, check), side.sets, side.classes};
  }
  copy.rank_count = collection.rank_count;
  copy.distinct_tokens = collection.distinct_tokens;
  copy.stored_tokens = collection.stored_tokens;
  copy.most_frequent = collection.most_frequent;
  return copy;
}

DeviceCollection build_collection(Device &device, UploadedSide *left, UploadedSide *right,
                                  const SignatureWidths &widths, const StopFlag &stop) {
  UploadedSide *sides[2] = {left, right};
  const bool wide_tokens = left->wide || (right != nullptr && right->wide);
  JoinedSides input = join_sides(device, sides, wide_tokens ? sizeof(int64_t) : sizeof(int32_t));
  TokenRanks ranks = rank_tokens(device, {input.tokens, input.count, wide_tokens}, stop);
  RowSets rows = rank_rows(device, input, ranks, wide_tokens);
  input.joined.reset();
  left->tokens.reset();
  DeviceCollection collection;
  collection.rank_count = ranks.ranks;
  collection.distinct_tokens = ranks.distinct;
  collection.most_frequent = std::move(ranks.most_frequent);
  ranks = {};
  // A token without a rank occurs once.
  sort_rows(device, rows, collection.rank_count, collection.distinct_tokens - collection.rank_count, stop);
  collection.stored_tokens = rows.stored_tokens;
  OrderLayouts layouts;
  for (uint32_t width = 0; width < SignatureWidths::count; ++width) {
    layouts.layouts[width] = collection.layout(std::min(SignatureWidths::steps(width), warp_steps));
  }
  uint32_t first = 0;
  for (int s = 0; s < 2 && sides[s] != nullptr; ++s) {
    collection.tokens[s] = sides[s]->total;
    order_side(device, rows, first, sides[s]->rows, sides[s]->longest, layouts, widths, collection.sides[s],
               collection.sizes[s], rows.had_duplicates);
    stop.check();
    first += sides[s]->rows;
  }
  device.synchronize();
  for (int s = 0; s < 2 && rows.had_duplicates; ++s) {
    collection.tokens[s] =
        std::accumulate(collection.sizes[s].begin(), collection.sizes[s].end(), uint64_t{0});
  }
  collection.ranks = std::move(rows.ranks);
  return collection;
}

}  // namespace simjoin::gpu
