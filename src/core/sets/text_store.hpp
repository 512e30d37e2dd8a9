// The different texts of a join by number.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/memory.hpp"

namespace simjoin {

// A text of a few bytes as a number: the bytes, with how many they are above them. Different texts have
// different numbers, below 2^63.
struct ShortText {
  static constexpr size_t longest = 7;

  // Returns the number of a text of at most `longest` bytes. Reads nothing beyond them.
  static uint64_t key_of(std::string_view text);
  // Returns the text of a number. It lies in the number.
  static std::string_view text_of(const uint64_t &key) {
    const auto size = static_cast<size_t>(key >> longest * 8);
    const char *const bytes = reinterpret_cast<const char *>(&key);
    return {std::endian::native == std::endian::little ? bytes : bytes + sizeof key - size, size};
  }

 private:
  template <typename Word>
  static uint64_t load(const char *from) {
    Word word;
    std::memcpy(&word, from, sizeof word);
    return word;
  }
};

inline uint64_t ShortText::key_of(std::string_view text) {
  const size_t size = text.size();
  const char *const from = text.data();
  uint64_t bytes = 0;
  if constexpr (std::endian::native != std::endian::little) {
    for (const char byte : text) bytes = bytes << 8 | static_cast<uint8_t>(byte);
  } else if (size >= 4) {
    bytes = load<uint32_t>(from) | load<uint32_t>(from + size - 4) << (size - 4) * 8;
  } else if (size > 0) {
    bytes = load<uint8_t>(from) | load<uint8_t>(from + size / 2) << size / 2 * 8 |
            load<uint8_t>(from + size - 1) << (size - 1) * 8;
  }
  return bytes | uint64_t{size} << longest * 8;
}

// Texts that several threads add, in large pieces of memory. Nothing moves, so what has been added can be
// read meanwhile.
class TextStore {
 public:
  explicit TextStore(MemoryCounter &memory);

  // A text that is not short, and its number. The bytes follow.
  struct Text {
    uint32_t number;
    uint32_t size;

    std::string_view view() const { return {reinterpret_cast<const char *>(this + 1), size}; }
  };

  // The piece that one thread fills.
  struct Piece {
    char *at = nullptr;
    size_t left = 0;
  };
  // Returns a piece that was given back, or an empty one.
  Piece take_piece();
  void give_back(Piece piece);

  // Both add the text of a number, once for each number: a short one by its key, or another one.
  void add_short(uint32_t number, uint64_t key) { *new_slot(number) = key; }
  const Text *add(uint32_t number, std::string_view text, Piece &piece);
  // Returns the text of a number.
  std::string_view text(uint32_t number) const {
    const uint64_t &slot = *this->slot(number);
    return (slot & not_short) == 0 ? ShortText::text_of(slot)
                                   : reinterpret_cast<const Text *>(slot & ~not_short)->view();
  }
  // Returns the bytes that the texts take.
  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  // Returns the bytes of `count` texts besides their own bytes, at most.
  static size_t bytes_of(size_t count) {
    return (2 * count + first_slots) * sizeof(uint64_t) + count * (sizeof(Text) + alignof(Text));
  }

 private:
  // Segment s has first_slots << s slots.
  static constexpr size_t first_slots = 1024;
  static constexpr size_t segments = 23;
  static constexpr uint64_t not_short = uint64_t{1} << 63;

  static size_t segment_of(uint32_t number) {
    return static_cast<size_t>(std::bit_width(number / first_slots + 1)) - 1;
  }
  uint64_t *slot(uint32_t number) const {
    const size_t segment = segment_of(number);
    return slots_[segment].load(std::memory_order_acquire) +
           (number - first_slots * ((size_t{1} << segment) - 1));
  }
  uint64_t *new_slot(uint32_t number) {
    const size_t segment = segment_of(number);
    if (slots_[segment].load(std::memory_order_acquire) == nullptr) add_segment(segment);
    return slot(number);
  }
  void add_segment(size_t segment);
  void next_piece(size_t least, Piece &piece);

  MemoryCounter &memory_;
  // By number: the key of a short text, or the address of another one, marked.
  std::array<std::atomic<uint64_t *>, segments> slots_{};
  std::atomic<size_t> bytes_ = 0;
  std::mutex mutex_;  // guards what follows
  std::vector<Buffer<uint64_t>> segments_;
  std::vector<Buffer<char>> pieces_;
  std::vector<Piece> spare_;
};

}  // namespace simjoin
