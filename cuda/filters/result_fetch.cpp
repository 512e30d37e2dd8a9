#include "cuda/filters/result_fetch.hpp"

#include <algorithm>
#include <utility>

namespace simjoin::gpu {
namespace {

// Pairs per batch for the caller, and pairs per copy from the device.
constexpr size_t batch_pairs = size_t{1} << 15;
constexpr size_t fetch_pairs = size_t{1} << 17;

}  // namespace

// Starts the copy of the results [begin, end).
void ResultFetcher::start(Piece &piece, const ResultColumns &from, uint64_t begin, uint64_t end) {
  const size_t count = end - begin;
  if (piece.columns.size() < 3 * count) {
    piece.columns = PinnedBuffer<uint32_t>(3 * std::min(fetch_pairs, 2 * count));
  }
  piece.count = count;
  uint32_t *to = piece.columns.data();
  for (const auto *column : {&from.left, &from.right, &from.overlap}) {
    stream_.copy_to_host(to, column->data() + begin, count);
    to += count;
  }
  piece.arrived.record(stream_.get());
}

void ResultFetcher::hand_over(const Piece &piece, const std::function<void(Batch &)> &push) {
  piece.arrived.wait();
  const uint32_t *left = piece.columns.data(), *right = left + piece.count, *overlap = right + piece.count;
  for (size_t i = 0; i < piece.count; i += batch_pairs) {
    const size_t end = std::min(piece.count, i + batch_pairs);
    Batch batch;
    batch.left.assign(left + i, left + end);
    batch.right.assign(right + i, right + end);
    batch.overlap.assign(overlap + i, overlap + end);
    push(batch);
  }
}

void ResultFetcher::fetch(const ResultColumns &from, uint64_t results,
                          const std::function<void(Batch &)> &push) {
  Piece *coming = &pieces_[0], *next = &pieces_[1];
  const auto start_at = [&](Piece &piece, uint64_t begin) {
    if (begin < results) start(piece, from, begin, std::min<uint64_t>(results, begin + fetch_pairs));
  };
  start_at(*coming, 0);
  for (uint64_t begin = 0; begin < results; begin += fetch_pairs) {
    start_at(*next, begin + fetch_pairs);
    hand_over(*coming, push);
    std::swap(coming, next);
  }
}

}  // namespace simjoin::gpu
