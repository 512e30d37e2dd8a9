#include "core/nearest/nearest_index.hpp"

#include <algorithm>
#include <numeric>

#include "core/candidates/signature_kernels.hpp"
#include "core/sort/long_sort.hpp"
#include "core/sort/short_sort.hpp"

namespace simjoin {
namespace {

// The memory of this many rows' entries is asked for before one of them is written.
constexpr size_t rows_at_a_time = 16;

}  // namespace

NearestIndex::NearestIndex(const RecordedSets &recorded, const StopFlag &stop, MemoryCounter &memory)
    : ranks_(memory), starts_(memory), signatures_(memory), rows_(memory), blocks_(memory), begins_(memory) {
  Buffer<uint32_t> frequency(memory, recorded.tokens().size(), 0);
  for (size_t i = 0; i < recorded.ids().size(); ++i) {
    stop.check_at(i);
    ++frequency[recorded.ids()[i]];
  }
  const Buffer<uint32_t> rank_of = ranks_by_frequency(frequency, memory);
  tokens_.emplace(recorded.tokens(), rank_of, memory);
  begins_.resize(frequency.size() + 1, 0);
  for (size_t id = 0; id < frequency.size(); ++id) begins_[rank_of[id] + 1] = frequency[id];
  std::inclusive_scan(begins_.begin(), begins_.end(), begins_.begin());
  rank_sets(recorded, rank_of, stop);
  post(stop, memory);
}

void NearestIndex::rank_sets(const RecordedSets &recorded, const Buffer<uint32_t> &rank_of,
                             const StopFlag &stop) {
  ranks_.resize(recorded.size());
  for (size_t i = 0; i < ranks_.size(); ++i) {
    stop.check_at(i);
    ranks_[i] = rank_of[recorded.ids()[i]];
  }
  starts_.reserve(recorded.rows() + size_t{1});
  starts_.push_back(0);
  const ShortSort sort;
  for (uint32_t row = 0; row < recorded.rows(); ++row) {
    stop.check_at(row);
    starts_.push_back(recorded.ends()[row]);
    sort_long(ranks_.data() + starts_[row], size_of(row), sort, [&] { stop.check(); });
  }
}

void NearestIndex::add_entry(size_t entry, uint64_t signature, uint32_t row, uint32_t rest, uint32_t size) {
  signatures_[entry] = signature | std::min(size, most_size);
  rows_[entry] = row;
  NearBlock &block = blocks_[entry / NearBlock::entries];
  block.rest = static_cast<uint16_t>(std::max<uint32_t>(block.rest, std::min(rest, NearBlock::most)));
  block.size = static_cast<uint16_t>(std::min<uint32_t>(block.size, size));
}

// Fills the lists from their ends: largest sets first, and of all sets of one size one token a round.
void NearestIndex::post(const StopFlag &stop, MemoryCounter &memory) {
  Buffer<uint64_t> by_size(memory);  // the size of a row's set, then the row
  by_size.reserve(rows());
  for (uint32_t row = 0; row < rows(); ++row) {
    stop.check_at(row);
    if (size_of(row) > 0) by_size.push_back(uint64_t{size_of(row)} << 32 | row);
  }
  sort_long(by_size.data(), by_size.size(), ShortSort(), [&] { stop.check(); });
  Buffer<uint64_t> signatures(memory, by_size.size(), 0);  // of the tokens that have been added
  Buffer<uint64_t> fronts(memory, begins_.size());
  std::copy(begins_.begin(), begins_.end(), fronts.begin());
  signatures_.resize(ranks_.size() + signature_vector, 0);
  rows_.resize(ranks_.size());
  blocks_.resize(ranks_.size() / NearBlock::entries + 1, {0, NearBlock::most});
  size_t step = 0;
  for (size_t end = by_size.size(), first = end; end > 0; end = first) {
    const auto size = static_cast<uint32_t>(by_size[end - 1] >> 32);
    for (; first > 0 && by_size[first - 1] >> 32 == size; --first) stop.check_at(step++);
    for (uint32_t rest = 1; rest <= size; ++rest)
      for (size_t i = end; i > first;) {
        size_t entries[rows_at_a_time];
        const size_t some = std::min(rows_at_a_time, i - first);
        for (size_t j = 0; j < some; ++j) {
          stop.check_at(step++);
          if (i > first + j + 2 * rows_at_a_time) {
            prefetch(static_cast<uint32_t>(by_size[i - j - 1 - 2 * rows_at_a_time]));
            prefetch_set(static_cast<uint32_t>(by_size[i - j - 1 - rows_at_a_time]));
          }
          const uint32_t rank = set_of(static_cast<uint32_t>(by_size[i - j - 1]))[size - rest];
          entries[j] = --fronts[rank + size_t{1}];
          __builtin_prefetch(signatures_.data() + entries[j], 1);
          __builtin_prefetch(rows_.data() + entries[j], 1);
        }
        for (size_t j = 0; j < some; ++j, --i) {
          const auto row = static_cast<uint32_t>(by_size[i - 1]);
          add_entry(entries[j], signatures[i - 1], row, rest, size);
          signatures[i - 1] |= bit_of(set_of(row)[size - rest]);
        }
      }
  }
}

size_t NearestIndex::bytes_of(uint64_t rows, uint64_t tokens, size_t recorded) {
  // Of a token its rank and its entry, of a row its beginning and what post() has. The distinct tokens take
  // up to twice what recording them took: their ranks, their lists and a table of them.
  constexpr size_t token = 2 * sizeof(uint32_t) + sizeof(uint64_t);
  constexpr size_t row = 3 * sizeof(uint64_t);
  return 3 * recorded + tokens * token + tokens / NearBlock::entries * sizeof(NearBlock) + rows * row;
}

}  // namespace simjoin
