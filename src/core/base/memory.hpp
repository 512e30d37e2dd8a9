// Counted memory: the large arrays of a join, whose bytes are added up against the join's limit.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace simjoin {

// Counts the bytes that the arrays of one computation hold, and their peak. Safe for use by several threads.
class MemoryCounter {
 public:
  // The words of an Error that refuses memory, all literals. `needs` says who needs it ("the graph needs"),
  // `less` what would take less ("leave edges out"). `rest` is given if the limit is only a part of the
  // setting (" that the join leaves").
  struct Subject {
    const char *needs;
    const char *less;
    const char *rest = "";
  };

  MemoryCounter() = default;
  // Returns the freed memory of a large computation to the system: the allocator keeps up to 64 MB in the
  // arena of every thread that ever was.
  ~MemoryCounter() {
    if (peak() >= large) give_back_free_memory();
  }
  MemoryCounter(const MemoryCounter &) = delete;
  MemoryCounter &operator=(const MemoryCounter &) = delete;

  // From now on, an array that would make the sum exceed `bytes` is refused with an Error of kind
  // memory_limit_exceeded.
  void set_limit(size_t bytes, Subject subject) noexcept {
    limit_ = bytes;
    subject_ = subject;
  }
  size_t limit() const noexcept { return limit_; }
  // Throws that Error if there is no room for `bytes` more.
  void check_room(size_t bytes) const {
    if (limit_ != no_limit && current() + bytes > limit_) throw_no_room();
  }
  void add(size_t bytes) noexcept {
    const size_t now = current_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    size_t peak = peak_.load(std::memory_order_relaxed);
    while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
    }
  }
  void sub(size_t bytes) noexcept { current_.fetch_sub(bytes, std::memory_order_relaxed); }
  size_t current() const noexcept { return current_.load(std::memory_order_relaxed); }
  size_t peak() const noexcept { return peak_.load(std::memory_order_relaxed); }

  static constexpr size_t no_limit = std::numeric_limits<size_t>::max();

 private:
  // From this many bytes on, giving memory back costs little beside the work done on it.
  static constexpr size_t large = size_t{16} << 20;

  static void give_back_free_memory() noexcept;
  [[noreturn]] void throw_no_room() const;

  size_t limit_ = no_limit;
  Subject subject_ = {"the computation needs", "give it less"};
  std::atomic<size_t> current_{0};
  std::atomic<size_t> peak_{0};
};

// The size of a huge page.
inline constexpr size_t huge_page = size_t{2} << 20;

// Asks for huge pages under a large array: random access then misses the TLB less, and the first touch and
// freeing take a fraction of the time. The whole range is asked for, since the system remaps only pages of
// one kind.
inline void prefer_huge_pages([[maybe_unused]] void *data, [[maybe_unused]] size_t bytes) noexcept {
#ifdef __linux__
  constexpr size_t page =
      size_t{1} << 12;  // the least page size; with larger pages the system refuses the request
  const auto begin = reinterpret_cast<uintptr_t>(data) & ~(page - 1);
  const auto end = (reinterpret_cast<uintptr_t>(data) + bytes + page - 1) & ~(page - 1);
  madvise(reinterpret_cast<void *>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

// Returns memory for `bytes`, with undefined content, in huge pages but for its end; null if there is none.
// It begins at a border of huge pages, so the first one is not shared with other arrays.
void *map_huge(size_t bytes) noexcept;
// Frees such memory.
void unmap_huge(void *data, size_t bytes) noexcept;

// Does what realloc() does for memory of `old_bytes`, which it or null has given. From one huge page on,
// memory is of map_huge(). It then grows by remapping pages, not by copying.
void *reallocate(void *data, size_t old_bytes, size_t bytes) noexcept;
// Frees the memory of reallocate().
inline void deallocate(void *data, size_t bytes) noexcept {
  bytes >= huge_page ? unmap_huge(data, bytes) : std::free(data);
}

// A growing array of trivial values, counted while it lives. New elements have no defined value unless a
// function says so.
template <typename T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit Buffer(MemoryCounter &counter) : counter_(&counter) {}
  Buffer(MemoryCounter &counter, size_t size) : counter_(&counter) { resize(size); }
  Buffer(MemoryCounter &counter, size_t size, T value) : counter_(&counter) { resize(size, value); }
  ~Buffer() { release(); }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
  Buffer(Buffer &&other) noexcept
      : counter_(other.counter_),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  Buffer &operator=(Buffer &&other) noexcept {
    if (this != &other) {
      release();
      counter_ = other.counter_;
      data_ = std::exchange(other.data_, nullptr);
      size_ = std::exchange(other.size_, 0);
      capacity_ = std::exchange(other.capacity_, 0);
    }
    return *this;
  }

  T *data() { return data_; }
  const T *data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T &operator[](size_t i) { return data_[i]; }
  const T &operator[](size_t i) const { return data_[i]; }
  T *begin() { return data_; }
  T *end() { return data_ + size_; }
  const T *begin() const { return data_; }
  const T *end() const { return data_ + size_; }
  T &back() { return data_[size_ - 1]; }

  // Makes room for `size` elements in all. Grows by at least a quarter, so that appending is amortised.
  void reserve(size_t size) {
    if (size > capacity_) reallocate(std::max(size, capacity_ + capacity_ / 4 + 16));
  }
  void resize(size_t size) {
    if (size > capacity_) reallocate(size);
    size_ = size;
  }
  // Resizes and sets every element, old ones too, to `value`.
  void resize(size_t size, T value) {
    resize(size);
    std::fill(data_, data_ + size_, value);
  }
  void push_back(T value) {
    reserve(size_ + 1);
    data_[size_++] = value;
  }
  // Appends `count` elements and returns a pointer to the first of them.
  T *extend(size_t count) {
    reserve(size_ + count);
    T *first = data_ + size_;
    size_ += count;
    return first;
  }
  void clear() { size_ = 0; }
  // Returns the memory as an array of other elements, without a copy.
  template <typename U>
  Buffer<U> as() && {
    shrink();
    Buffer<U> other(*counter_);
    other.data_ = reinterpret_cast<U *>(std::exchange(data_, nullptr));
    other.size_ = std::exchange(size_, 0) * sizeof(T) / sizeof(U);
    other.capacity_ = std::exchange(capacity_, 0) * sizeof(T) / sizeof(U);
    return other;
  }
  // Gives back the memory beyond the last element.
  void shrink() {
    if (size_ == 0) return release();
    if (size_ < capacity_) reallocate(size_);
  }
  void release() noexcept {
    deallocate(data_, capacity_ * sizeof(T));
    counter_->sub(capacity_ * sizeof(T));
    data_ = nullptr;
    size_ = capacity_ = 0;
  }

 private:
  template <typename U>
  friend class Buffer;
  void reallocate(size_t capacity) {
    if (capacity > std::numeric_limits<size_t>::max() / sizeof(T)) throw std::bad_alloc();
    if (capacity > capacity_) counter_->check_room((capacity - capacity_) * sizeof(T));
    void *data = simjoin::reallocate(data_, capacity_ * sizeof(T), capacity * sizeof(T));
    if (data == nullptr) throw std::bad_alloc();
    data_ = static_cast<T *>(data);
    counter_->sub(capacity_ * sizeof(T));
    counter_->add(capacity * sizeof(T));
    capacity_ = capacity;
  }

  MemoryCounter *counter_;
  T *data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace simjoin
