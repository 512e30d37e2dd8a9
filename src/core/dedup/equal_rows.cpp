#include "core/dedup/equal_rows.hpp"

#include <algorithm>
#include <functional>
#include <string_view>
#include <vector>

#include "core/base/interruption.hpp"
#include "core/dedup/set_hash.hpp"

namespace simjoin {
namespace {

template <typename Token>
bool strictly_ascend(std::span<const Token> tokens) {
  for (size_t i = 1; i < tokens.size(); ++i) {
    check_interruption_at(i);
    if (!(tokens[i - 1] < tokens[i])) return false;
  }
  return true;
}

// Returns the different tokens.
template <typename Token>
std::vector<Token> different(std::span<const Token> tokens) {
  std::vector<Token> result;
  result.reserve(tokens.size());
  for_runs(tokens, [&](auto some) { result.insert(result.end(), some.begin(), some.end()); });
  std::sort(result.begin(), result.end(), interruptible(std::less<>()));
  result.erase(std::unique(result.begin(), result.end(), interruptible(std::equal_to<>())), result.end());
  return result;
}

// Returns 64 bits that are the same for the same set. Most sets come in ascending order without repeated
// tokens, and need no sorting.
template <typename Token>
uint64_t hash_of_set(std::span<const Token> tokens) {
  if (strictly_ascend(tokens)) return mix_bits(sum_of_hashes(tokens));
  const std::vector<Token> set = different(tokens);
  return mix_bits(sum_of_hashes(std::span<const Token>(set)));
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
