#include "core/lsh/lsh_loader.hpp"

#include <algorithm>
#include <utility>

namespace simjoin {

size_t LshLoader::load(std::span<const SortKey> keys) {
  size_t count = 0, words = 0;
  for (; count < keys.size(); ++count) {
    const size_t more = all_.in_file() ? all_.stored_words(row_of(keys[count])) : 0;
    const size_t bytes = (words + more) * sizeof(uint64_t) + (count + 1) * sizeof(LshRow);
    if (count > 0 && bytes > bytes_) break;
    words += more;
  }
  rows_.resize(count);
  words_.resize(words);
  large_ |= words * sizeof(uint64_t) > bytes_;
  if (all_.in_file())
    read(keys.first(count));
  else
    for (size_t i = 0; i < count; ++i) rows_[i] = all_.row(row_of(keys[i]));
  return count;
}

// Reads the rows of the keys from the file, neighbouring ones at once.
void LshLoader::read(std::span<const SortKey> keys) {
  uint64_t *to = words_.data();
  for (size_t begin = 0, end; begin < keys.size(); begin = end) {
    const uint32_t first = row_of(keys[begin]);
    uint64_t *const place = to;
    for (end = begin; end < keys.size() && row_of(keys[end]) - first == end - begin; ++end)
      to += all_.stored_words(row_of(keys[end]));
    all_.read(first, {rows_.data() + begin, end - begin}, place);
  }
}

bool LshLoader::any_large(std::span<const SortKey> keys) const {
  if (!all_.in_file()) return false;
  return std::any_of(keys.begin(), keys.end(), [&](const SortKey &key) {
    return all_.stored_words(row_of(key)) * sizeof(uint64_t) + sizeof(LshRow) > bytes_;
  });
}

void LshLoader::forget_large() {
  if (std::exchange(large_, false)) words_.release();
}

}  // namespace simjoin
