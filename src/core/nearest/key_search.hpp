// A search for all right rows that share a key with the left one, where almost every key is of few rows.
//
// Keys are kept as hashes, 8 bytes each with their row. Rows whose keys have equal hashes are found as well,
// so the caller checks them.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "core/base/memory.hpp"
#include "core/nearest/row_search.hpp"

namespace simjoin {

class KeySearch final : public RowSearch {
 public:
  void add(Side side, const SetSlice &rows) override;
  size_t bytes_to_index() const override { return bytes_of(rows_, entries_.size()); }
  bool takes_long_to_index() const override { return entries_.size() >= long_to_index; }
  void index(const StopFlag &stop) override;

  // Not needed: all pairs are as good, and come at once.
  void limit(uint32_t, double) override {}
  StepResult step(std::chrono::microseconds budget, Batch &out) override;
  bool shares_tokens(uint32_t row) override { return marks_[row] == mark_; }

  uint32_t set_size(Side, uint32_t) const override { return 1; }
  JoinStats stats() const override;

  // Returns about the bytes that indexing this many keys of rows takes in all.
  static size_t bytes_of(uint64_t rows, uint64_t keys) {
    return 2 * (keys + most_buckets) * sizeof(uint64_t) + rows * sizeof(uint32_t);
  }

 private:
  // Indexing this many keys takes some 40 ms.
  static constexpr uint64_t long_to_index = uint64_t{1} << 19;
  static constexpr int bucket_bits = 16;
  static constexpr size_t most_buckets = (size_t{1} << bucket_bits) + 1;
  static constexpr int hash_shift = 32;

  static size_t bucket_of(uint64_t entry) { return entry >> (64 - bucket_bits); }
  void look_up(uint64_t hash);

  MemoryCounter memory_;
  uint32_t rows_ = 0;
  Buffer<uint64_t> entries_{memory_};  // the hash of a key, then its row; once indexed, ascending
  Buffer<uint64_t> begins_{memory_};   // by bucket, in entries_
  JoinStats stats_;

  Buffer<uint32_t> marks_{memory_};  // by right row: the last left row that has found it
  uint32_t mark_ = 0;
  std::vector<uint32_t> found_;  // of the last left row
};

}  // namespace simjoin
