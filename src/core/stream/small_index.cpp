#include "core/stream/small_index.hpp"

#include <algorithm>
#include <numeric>

#include "core/candidates/signature_kernels.hpp"
#include "core/sort/long_sort.hpp"

namespace simjoin {
SmallIndex::SmallIndex(const Bounds &bounds, const RecordedSets &recorded, const StopFlag &stop,
                       MemoryCounter &memory)
    : sizes_(memory), sets_(memory), begins_(memory), lists_(memory) {
  Buffer<uint32_t> frequency(memory, recorded.tokens().size(), 0);
  for (const uint32_t id : recorded.ids()) ++frequency[id];
  sets_.ranks = recorded.tokens().size();
  const Buffer<uint32_t> rank_of = ranks_by_frequency(frequency, memory);
  tokens_.emplace(recorded.tokens(), rank_of, memory);
  order(recorded, rank_of, stop);
  WorkerPool alone(1, stop);
  wide_signatures_.emplace(sets_, alone, memory);
  post(bounds, stop);
}

// Makes the collection of the sets that are not empty.
void SmallIndex::order(const RecordedSets &recorded, const Buffer<uint32_t> &rank_of, const StopFlag &stop) {
  const Buffer<uint64_t> &ends = recorded.ends();
  std::vector<uint32_t> rows;
  sizes_.reserve(recorded.rows());
  for (uint32_t row = 0; row < recorded.rows(); ++row) {
    sizes_.push_back(static_cast<uint32_t>(ends[row] - (row > 0 ? ends[row - 1] : 0)));
    if (sizes_[row] > 0) rows.push_back(row);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [this](uint32_t a, uint32_t b) { return sizes_[a] < sizes_[b]; });
  const ShortSort sort;
  sets_.tokens.reserve(recorded.size());
  sets_.starts.push_back(0);
  for (const uint32_t row : rows) {
    stop.check();
    const uint32_t size = sizes_[row], set = sets_.sets();
    const uint32_t *ids = recorded.ids().data() + ends[row] - size;
    uint32_t *ranks = sets_.tokens.extend(size);
    for (uint32_t i = 0; i < size; ++i) ranks[i] = rank_of[ids[i]];
    sort_long(ranks, size, sort, [&] { stop.check(); });
    sets_.starts.push_back(sets_.tokens.size());
    sets_.rows.push_back(row);
    if (sets_.classes.empty() || sets_.classes.back().size != size) sets_.classes.push_back({size, set, set});
    sets_.classes.back().end = set + 1;
  }
}

// Lists the prefixes of the sets, by rank.
void SmallIndex::post(const Bounds &bounds, const StopFlag &stop) {
  std::vector<uint32_t> prefix;  // by class
  for (const SizeClass &sizes : sets_.classes) {
    const int64_t partner = bounds.threshold() > 0 ? bounds.min_partner(sizes.size) : sizes.size + 1;
    const int64_t overlap = partner > sizes.size ? sizes.size + 1 : bounds.min_overlap(sizes.size, partner);
    prefix.push_back(static_cast<uint32_t>(sizes.size - overlap + 1));
    if (prefix.back() > 0) least_overlap_ = std::min(least_overlap_, static_cast<uint32_t>(overlap));
  }
  const auto visit_prefixes = [&](auto &&visit) {
    for (size_t k = 0; k < prefix.size(); ++k)
      for (uint32_t set = sets_.classes[k].begin; set < sets_.classes[k].end; ++set) {
        stop.check();
        visit(set, sets_.classes[k].size, std::span(sets_.begin(set), prefix[k]));
      }
  };
  begins_.resize(size_t{sets_.ranks} + 1, 0);
  visit_prefixes([&](uint32_t, uint32_t, std::span<const uint32_t> ranks) {
    for (const uint32_t rank : ranks) ++begins_[rank];
  });
  std::exclusive_scan(begins_.begin(), begins_.end(), begins_.begin(), 0U);
  lists_.resize(2 * size_t{begins_[sets_.ranks]});
  std::vector<uint32_t> filled(sets_.ranks);
  visit_prefixes([&](uint32_t set, uint32_t size, std::span<const uint32_t> ranks) {
    if (ranks.empty()) return;
    const uint64_t signature = parity_signature(sets_, set, size);
    for (const uint32_t rank : ranks) {
      uint64_t *list = lists_.data() + 2 * size_t{begins_[rank]} + filled[rank]++;
      list[0] = signature;
      list[begins_[rank + 1] - begins_[rank]] = set | uint64_t{size} << 32;
    }
  });
}

void SmallIndex::remove_postings(const std::function<bool(uint32_t row)> &gone) {
  std::vector<uint64_t> signatures, postings;
  uint32_t kept = 0, begin = 0;
  for (uint32_t rank = 0; rank < sets_.ranks; ++rank) {
    const uint64_t *list = lists_.data() + 2 * size_t{begin};
    const uint32_t count = begins_[rank + 1] - begin;
    signatures.clear();
    postings.clear();
    for (uint32_t i = 0; i < count; ++i) {
      if (gone(sets_.rows[StreamPosting{list[count + i]}.set()])) continue;
      signatures.push_back(list[i]);
      postings.push_back(list[count + i]);
    }
    begin = begins_[rank + 1];
    begins_[rank] = kept;
    std::copy(signatures.begin(), signatures.end(), lists_.data() + 2 * size_t{kept});
    std::copy(postings.begin(), postings.end(), lists_.data() + 2 * size_t{kept} + signatures.size());
    kept += static_cast<uint32_t>(signatures.size());
  }
  begins_[sets_.ranks] = kept;
  lists_.resize(2 * size_t{kept});
}

void SmallIndex::select(uint32_t rank, uint64_t signature, uint32_t limit,
                        Buffer<StreamPosting> &near) const {
  static_assert(sizeof(StreamPosting) == sizeof(uint64_t));
  const uint64_t *list = lists_.data() + 2 * size_t{begins_[rank]};
  const size_t count = begins_[rank + 1] - begins_[rank];
  near.resize(count + signature_padding);
  near.resize(
      select_near(list, list + count, count, signature, limit, reinterpret_cast<uint64_t *>(near.data())));
}

double SmallIndex::postings_met() const {
  double met = 0;
  for (uint32_t rank = 0; rank < sets_.ranks; ++rank) {
    const double length = begins_[rank + 1] - begins_[rank];
    met += length * length;
  }
  return met / std::max(1.0, static_cast<double>(sets_.sets()));
}

size_t SmallIndex::bytes_of(uint64_t rows, uint64_t tokens) {
  // A token itself, its id, its id in the set, its rank there, its frequency, its rank and the two ends of
  // its list. Before there is a table of tokens, the vocabulary has one like it.
  constexpr size_t token = sizeof(int64_t) + 6 * sizeof(uint32_t) + 2 * sizeof(uint64_t);
  constexpr size_t row = (3 + ParityTable::words) * sizeof(uint64_t) + 4 * sizeof(uint32_t);
  return TokenTable::bytes_of(tokens) + tokens * token + rows * row;
}

}  // namespace simjoin
