// Arrays in memory contexts.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "utils/memutils.h"
}

#include <algorithm>
#include <type_traits>

namespace simjoin::pg {

// Returns memory for n objects in the context. It may be larger than 1 GB.
template <class T>
T *allocate_in(MemoryContext context, size_t n) {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
  return static_cast<T *>(MemoryContextAllocHuge(context, std::max<size_t>(n, 1) * sizeof(T)));
}

// The same in the current memory context.
template <class T>
T *allocate(size_t n) {
  return allocate_in<T>(CurrentMemoryContext, n);
}

// An array that grows as elements are appended. Its memory belongs to the context that it was made in, so
// nothing has to be destroyed. A copy refers to the same elements: use one of them only.
template <class T>
class GrowingArray {
 public:
  // An array without memory, to which nothing can be appended.
  GrowingArray() = default;
  explicit GrowingArray(MemoryContext context, size_t capacity = 1024)
      : data_(allocate_in<T>(context, capacity)), capacity_(capacity) {}

  void append(const T &value) {
    if (size_ == capacity_) {
      capacity_ *= 2;
      data_ = static_cast<T *>(repalloc_huge(data_, capacity_ * sizeof(T)));
    }
    data_[size_++] = value;
  }
  void shorten(size_t size) { size_ = size; }
  void clear() { size_ = 0; }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T *data() const { return data_; }
  T *begin() const { return data_; }
  T *end() const { return data_ + size_; }
  T &operator[](size_t i) const { return data_[i]; }
  T &back() const { return data_[size_ - 1]; }

 private:
  T *data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace simjoin::pg
