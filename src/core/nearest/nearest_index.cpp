#include "core/nearest/nearest_index.hpp"

#include <algorithm>
#include <numeric>

#include "core/sort/long_sort.hpp"
#include "core/sort/short_sort.hpp"

namespace simjoin {

NearestIndex::NearestIndex(const RecordedSets &recorded, const StopFlag &stop, MemoryCounter &memory)
    : ranks_(memory), starts_(memory), postings_(memory), begins_(memory) {
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

// Fills the lists from their ends. Each round adds one token of each row that is large enough.
void NearestIndex::post(const StopFlag &stop, MemoryCounter &memory) {
  Buffer<uint64_t> signatures(memory, rows(), 0);  // of the tokens that have been added
  Buffer<uint32_t> by_size(memory);
  by_size.reserve(rows());
  for (uint32_t row = 0; row < rows(); ++row) {
    stop.check_at(row);
    if (size_of(row) > 0) by_size.push_back(row);
  }
  size_t compared = 0;
  std::sort(by_size.begin(), by_size.end(), [&](uint32_t a, uint32_t b) {
    stop.check_at(compared++);
    return size_of(a) != size_of(b) ? size_of(a) < size_of(b) : a < b;
  });
  Buffer<uint64_t> fronts(memory, begins_.size());
  std::copy(begins_.begin(), begins_.end(), fronts.begin());
  postings_.resize(ranks_.size());
  size_t first = 0, step = 0;
  for (uint32_t rest = 1; first < by_size.size(); ++rest) {
    for (size_t i = by_size.size(); i-- > first;) {
      stop.check_at(step++);
      const uint32_t row = by_size[i], size = size_of(row), rank = set_of(row)[size - rest];
      postings_[--fronts[rank + size_t{1}]] = {signatures[row], row,
                                               static_cast<uint16_t>(std::min(rest, NearPosting::most)),
                                               static_cast<uint16_t>(std::min(size, NearPosting::most))};
      signatures[row] |= bit_of(rank);
    }
    while (first < by_size.size() && size_of(by_size[first]) <= rest) ++first;
  }
}

size_t NearestIndex::bytes_of(uint64_t rows, uint64_t tokens, size_t recorded) {
  // Of a token its rank and its posting, of a row its beginning and what post() has. The distinct tokens take
  // up to twice what recording them took: their ranks, their lists and a table of them.
  constexpr size_t token = sizeof(uint32_t) + sizeof(NearPosting);
  constexpr size_t row = 2 * sizeof(uint64_t) + sizeof(uint32_t);
  return 3 * recorded + tokens * token + rows * row;
}

}  // namespace simjoin
