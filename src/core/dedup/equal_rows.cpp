#include "core/dedup/equal_rows.hpp"

#include <algorithm>
#include <functional>
#include <string_view>
#include <vector>

#include "core/base/interruption.hpp"
#include "core/base/token_hash.hpp"

namespace simjoin {
namespace {

// Returns the sum of the hashes, each once.
uint64_t sum_of_different(std::vector<uint64_t> hashes) {
  std::sort(hashes.begin(), hashes.end(), interruptible(std::less<>()));
  uint64_t sum = 0;
  for (size_t i = 0; i < hashes.size(); ++i) {
    check_interruption_at(i);
    if (i == 0 || hashes[i] != hashes[i - 1]) sum += hashes[i];
  }
  return sum;
}

// Returns 64 bits that are the same for the same set. Most sets come in ascending order without repeated
// tokens, and need no sorting.
template <typename Token>
uint64_t hash_of_set(std::span<const Token> tokens) {
  const auto hash_of = [](const Token &token) { return mix_bits(token_value_hash(token)); };
  uint64_t sum = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    check_interruption_at(i);
    if (i == 0 || tokens[i - 1] < tokens[i]) {
      sum += hash_of(tokens[i]);
      continue;
    }
    std::vector<uint64_t> hashes;
    hashes.reserve(tokens.size());
    for (size_t j = 0; j < tokens.size(); ++j) {
      check_interruption_at(j);
      hashes.push_back(hash_of(tokens[j]));
    }
    return mix_bits(sum_of_different(std::move(hashes)));
  }
  return mix_bits(sum);
}

}  // namespace

template <typename Token>
void EqualRows::add(std::span<const Token> tokens) {
  if (!known_) return;
  if (rows_.size() >= most_rows_) {
    known_ = false;
    return rows_.release();
  }
  const uint64_t hash = hash_of_set(tokens);
  rows_.push_back(
      {static_cast<uint32_t>(hash >> 32), static_cast<uint32_t>(hash), static_cast<uint32_t>(rows_.size())});
}

void EqualRows::finish(const StopFlag &stop) {
  size_t compared = 0;
  std::sort(rows_.begin(), rows_.end(), [&](const Row &a, const Row &b) {
    stop.check_at(compared++);
    return a.hash() < b.hash();
  });
}

size_t EqualRows::end_of_equal(size_t i) const {
  size_t end = i + 1;
  while (end < rows_.size() && rows_[end].hash() == rows_[i].hash()) ++end;
  return end;
}

template void EqualRows::add(std::span<const int32_t>);
template void EqualRows::add(std::span<const int64_t>);
template void EqualRows::add(std::span<const std::string_view>);

}  // namespace simjoin
