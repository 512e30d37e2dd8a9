#include "core/nearest/key_search.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/check.hpp"
#include "core/base/interruption.hpp"
#include "core/base/token_hash.hpp"
#include "core/base/wall_clock.hpp"
#include "core/set_slices.hpp"
#include "core/sort/hash_sort.hpp"

namespace simjoin {

void KeySearch::add(Side side, const SetSlice &rows) {
  refuse_weights(rows);
  SIMJOIN_CHECK(side == Side::right ? begins_.empty() : !begins_.empty() && rows.rows == 1);
  stats_.sets[static_cast<int>(side)] += rows.token_count > 0;
  if (side == Side::left) {
    found_.clear();
    if (++mark_ == 0) {
      std::fill(marks_.begin(), marks_.end(), 0);
      mark_ = 1;
    }
  }
  for_each_set(rows, [&](const auto &set) {
    for_each_token(set, [&](const auto &token) {
      const uint64_t hash = token_value_hash(token) >> hash_shift << hash_shift;
      side == Side::left ? look_up(hash) : entries_.push_back(hash | rows_);
    });
    rows_ += side == Side::right;
  });
}

// Distributes the entries to buckets by their first bits, and sorts each bucket.
void KeySearch::index(const StopFlag &stop) {
  const auto begin = WallClock::now();
  begins_.resize(most_buckets, 0);
  for (size_t i = 0; i < entries_.size(); ++i) {
    stop.check_at(i);
    ++begins_[bucket_of(entries_[i]) + 1];
  }
  std::inclusive_scan(begins_.begin(), begins_.end(), begins_.begin());
  Buffer<uint64_t> places(memory_, begins_.size());
  std::copy(begins_.begin(), begins_.end(), places.begin());
  Buffer<uint64_t> placed(memory_, entries_.size());
  for (size_t i = 0; i < entries_.size(); ++i) {
    stop.check_at(i);
    placed[places[bucket_of(entries_[i])]++] = entries_[i];
  }
  std::swap(entries_, placed);
  for (size_t bucket = 0; bucket + 1 < begins_.size(); ++bucket) {
    stop.check();
    const size_t first = begins_[bucket];
    sort_hashes(entries_.data() + first, begins_[bucket + 1] - first, placed.data());
  }
  marks_.resize(rows_, 0);
  stats_.tokens[static_cast<int>(Side::right)] = entries_.size();
  stats_.build_ms = milliseconds_since(begin);
}

void KeySearch::look_up(uint64_t hash) {
  const uint64_t *begin = entries_.data() + begins_[bucket_of(hash)];
  const uint64_t *end = entries_.data() + begins_[bucket_of(hash) + 1];
  size_t step = 0;
  for (const uint64_t *at = std::lower_bound(begin, end, hash);
       at != end && *at >> hash_shift == hash >> hash_shift; ++at) {
    check_interruption_at(step++);
    const auto row = static_cast<uint32_t>(*at);
    if (std::exchange(marks_[row], mark_) != mark_) found_.push_back(row);
  }
}

StepResult KeySearch::step(std::chrono::microseconds, Batch &out) {
  out.clear();
  if (found_.empty()) return StepResult::done;
  std::sort(found_.begin(), found_.end(), interruptible(std::less<>()));
  for (const uint32_t row : found_) out.push(0, row, 1);
  stats_.verified += found_.size();
  stats_.output += found_.size();
  found_.clear();
  return StepResult::batch;
}

JoinStats KeySearch::stats() const {
  JoinStats stats = stats_;
  stats.algorithm = "keys";
  stats.threads = 1;
  stats.memory_peak = memory_.peak();
  return stats;
}

}  // namespace simjoin
