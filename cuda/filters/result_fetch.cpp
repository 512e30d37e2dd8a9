#include "cuda/filters/result_fetch.hpp"

#include <algorithm>

namespace simjoin::gpu {
namespace {

// Pairs per batch for the caller, and pairs per copy from the device.
constexpr size_t batch_pairs = size_t{1} << 15;
constexpr size_t fetch_pairs = size_t{1} << 18;

}  // namespace

void ResultFetcher::fetch(const Device &device, const CandidateBuffer &from, uint64_t results, bool swap,
                          const std::function<void(Batch &)> &push) {
  for (uint64_t done = 0; done < results;) {
    const size_t count = std::min<uint64_t>(fetch_pairs, results - done);
    if (staging_.size() < 3 * count) staging_ = PinnedBuffer<uint32_t>(3 * std::min(fetch_pairs, 2 * count));
    uint32_t *columns[3] = {staging_.data(), staging_.data() + count, staging_.data() + 2 * count};
    copy_to_host(device, columns[0], (swap ? from.right : from.left).data() + done, count);
    copy_to_host(device, columns[1], (swap ? from.left : from.right).data() + done, count);
    copy_to_host(device, columns[2], from.overlap.data() + done, count);
    device.synchronize();
    for (size_t i = 0; i < count; i += batch_pairs) {
      const size_t end = std::min(count, i + batch_pairs);
      Batch batch;
      batch.left.assign(columns[0] + i, columns[0] + end);
      batch.right.assign(columns[1] + i, columns[1] + end);
      batch.overlap.assign(columns[2] + i, columns[2] + end);
      push(batch);
    }
    done += count;
  }
}

}  // namespace simjoin::gpu
