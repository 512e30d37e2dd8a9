#include "core/lsh/lsh_loader.hpp"

#include <algorithm>
#include <utility>

namespace simjoin {

size_t LshLoader::load(std::span<const SortKey> keys, size_t bands) {
  size_t count = 0, words = 0;
  for (; count < keys.size(); ++count) {
    const size_t more = all_.in_file() ? all_.stored_words(row_of(keys[count]), bands) : 0;
    const size_t bytes = (words + more) * sizeof(uint64_t) + (count + 1) * sizeof(LshRow);
    if (count > 0 && bytes > bytes_) break;
    words += more;
  }
  words_.resize(words);
  large_ |= words * sizeof(uint64_t) > bytes_;
  rows_.resize(count);
  uint64_t *to = words_.data();
  for (size_t i = 0; i < count; ++i) {
    const uint32_t number = row_of(keys[i]);
    if (!all_.in_file()) {
      rows_[i] = all_.row(number);
      continue;
    }
    rows_[i] = all_.read(number, bands, to);
    to += all_.stored_words(number, bands);
  }
  return count;
}

bool LshLoader::any_large(std::span<const SortKey> keys, size_t bands) const {
  if (!all_.in_file()) return false;
  return std::any_of(keys.begin(), keys.end(), [&](const SortKey &key) {
    return all_.stored_words(row_of(key), bands) * sizeof(uint64_t) + sizeof(LshRow) > bytes_;
  });
}

void LshLoader::forget_large() {
  if (std::exchange(large_, false)) words_.release();
}

}  // namespace simjoin
