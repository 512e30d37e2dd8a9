// Texts to numbers, by any number of threads at a time.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/mix.hpp"
#include "core/sets/text_store.hpp"

namespace simjoin {

// A hash table that is read without locks. A new text locks the part of the table that its hash tells.
//
// A key stands for a text: a short text is its key, of a longer one the key is a hash, and the bytes are
// compared. Parts of one size lie side by side in one array, so that the array can have huge pages. A part
// that grows moves to the array of the next size.
class TextNumbers {
 public:
  explicit TextNumbers(MemoryCounter &memory);

  // Texts that are looked up together: their places are prefetched before the first is probed.
  static constexpr size_t at_a_time = 64;

  // Returns a piece for the bytes of new texts, which one thread uses and gives back.
  TextStore::Piece take_piece() { return store_->take_piece(); }
  void give_back(TextStore::Piece piece) { store_->give_back(piece); }
  // Writes the numbers of at most `at_a_time` texts. New ones get the next numbers, from 0 on. Throws Error
  // limit_exceeded at 2^32 - 2 numbers.
  void number(std::span<const std::string_view> texts, TextStore::Piece &piece, uint32_t *numbers);

  // Returns how many different texts there are.
  uint32_t size() const { return next_.load(std::memory_order_relaxed); }
  std::string_view text(uint32_t number) const { return store_->text(number); }
  // Returns the bytes that it takes once so many texts more have come, all new, but for their bytes.
  size_t bytes_with(size_t texts) const {
    return store_->bytes() + table_bytes(size() + texts) + TextStore::bytes_of(texts) +
           size_t{size()} * 2 * sizeof(void *);
  }
  size_t text_bytes() const { return store_->bytes(); }
  // Returns the bytes of a table of so many texts, at most.
  static size_t table_bytes(size_t texts);
  // Returns the texts by number. Nothing else may be asked for then.
  std::unique_ptr<TextStore> take_texts() { return std::move(store_); }
  // Forgets which text has which number, but not the texts.
  void release_table();

  // The parts of the table, which tell the order of hashes, and calls visit(key, number) for each text of a
  // part, in no order. The keys of different texts that are short differ. Those of others may agree.
  static constexpr size_t parts = 128;
  template <typename Visit>
  void visit_part(size_t part, Visit &&visit) const;

  // Work that calls number() on several threads. begin_work() returns the number of pieces of work begun.
  // Each ends with end_work(). Once the first `ended` of them have ended, release_unused() frees the memory
  // that only they may have read. Without such work, memory is freed at once.
  uint64_t begin_work() { return begun_.fetch_add(1, std::memory_order_acq_rel) + 1; }
  void end_work() { ended_.fetch_add(1, std::memory_order_acq_rel); }
  void release_unused(uint64_t ended);

 private:
  static constexpr int part_shift = 64 - 7;
  static constexpr size_t first_places = 16;
  static constexpr size_t prefetch_distance = 8;
  static constexpr uint64_t free_place = UINT64_MAX;
  static constexpr uint64_t long_text = uint64_t{1} << 63;  // in a key

  // The value of a short text is its number, that of another one the address of its TextStore::Text.
  struct Entry {
    uint64_t key;
    uint64_t value;
  };
  // An array for all parts.
  struct Array {
    Array(MemoryCounter &memory, size_t part_places);
    Entry *of_part(size_t part) { return entries.data() + part * places; }
    size_t home(uint64_t hash) const { return hash << (64 - part_shift) >> shift; }

    Buffer<Entry> entries;
    const size_t places;  // of a part
    const int shift;      // of a hash without the bits that tell its part
    size_t used_by = 0;   // parts
  };
  struct alignas(64) Part {
    std::atomic<Array *> array = nullptr;
    std::mutex mutex;  // guards what follows, and changes
    uint32_t room = 0;
  };
  struct Retired {
    std::unique_ptr<Array> array;
    uint64_t begun;  // pieces of work that may read it
  };
  struct Lookup;

  uint32_t insert(const Lookup &lookup, TextStore::Piece &piece);
  void grow(Part &part, size_t number);
  Array &array_of(size_t places);
  static uint32_t number_of(uint64_t key, uint64_t value) {
    return (key & long_text) == 0 ? static_cast<uint32_t>(value)
                                  : reinterpret_cast<const TextStore::Text *>(value)->number;
  }

  MemoryCounter &memory_;
  std::unique_ptr<TextStore> store_;
  std::array<Part, parts> parts_;
  std::atomic<uint32_t> next_ = 0;
  std::atomic<uint64_t> begun_ = 0;
  std::atomic<uint64_t> ended_ = 0;
  std::atomic<bool> any_retired_ = false;
  std::mutex mutex_;  // of the following; locked last
  std::vector<std::unique_ptr<Array>>
      arrays_;  // by size; null before the first and where all parts have left
  std::vector<Retired> retired_;
};

template <typename Visit>
void TextNumbers::visit_part(size_t part, Visit &&visit) const {
  Array &array = *parts_[part].array.load(std::memory_order_acquire);
  const Entry *const entries = array.of_part(part);
  for (size_t place = 0; place < array.places; ++place) {
    if (place + prefetch_distance < array.places) {
      const Entry &ahead = entries[place + prefetch_distance];
      if ((ahead.key & long_text) != 0) __builtin_prefetch(reinterpret_cast<const void *>(ahead.value));
    }
    const Entry &entry = entries[place];
    if (entry.value != free_place) visit(entry.key, number_of(entry.key, entry.value));
  }
}

}  // namespace simjoin
