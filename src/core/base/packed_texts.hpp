// The texts of a set in one piece of memory, as PostgreSQL's arrays hold them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "core/base/interruption.hpp"

namespace simjoin {

// Texts one after the other. Each begins at a multiple of four bytes with a header. A header of four bytes is
// four times the number of bytes of header and text. A header of one byte is twice that number, plus one. The
// byte order is that of a little-endian machine.
struct PackedTexts {
  const char *bytes = nullptr;
  size_t size = 0;
  uint32_t count = 0;

  // Whether this machine can read them.
  static constexpr bool readable = std::endian::native == std::endian::little;
};

// Reads packed texts.
class PackedTextReader {
 public:
  explicit PackedTextReader(const PackedTexts &texts) : at_(texts.bytes), left_(texts.size) {}

  // Returns the next text. Throws Error internal if the bytes end before it does.
  std::string_view next() {
    uint32_t header = 0;
    if (left_ >= sizeof header) {
      std::memcpy(&header, at_, sizeof header);
    } else if (left_ > 0) {
      header = static_cast<unsigned char>(*at_);  // enough for a header of one byte
    }
    const bool short_header = (header & 1) != 0;
    const size_t before = short_header ? 1 : sizeof header;
    const size_t end = short_header ? (header & 0xFF) >> 1 : header >> 2;
    if (end < before || end > left_) throw_short();
    const std::string_view text(at_ + before, end - before);
    const size_t step = padded(end);
    at_ += step;
    left_ = step < left_ ? left_ - step : 0;
    return text;
  }

  // Returns the next texts, so many of them, as they are packed. Looks whether the caller gives up.
  PackedTexts take(uint32_t count) {
    const char *const begin = at_;
    const size_t before = left_;
    for (uint32_t i = 0; i < count; ++i) {
      check_interruption_at(i);
      next();
    }
    return {begin, before - left_, count};
  }

  // Returns the bytes up to the next multiple of four.
  static constexpr size_t padded(size_t bytes) { return (bytes + 3) & ~size_t{3}; }

 private:
  [[noreturn]] static void throw_short() {
    throw Error(ErrorKind::internal, "a set of texts ends before its last text");
  }

  const char *at_;
  size_t left_;
};

// Packs texts.
class TextPacker {
 public:
  // Adds a text, which may come in two parts.
  void add(std::string_view text, std::string_view rest = {}) {
    const size_t size = text.size() + rest.size();
    const auto header = static_cast<uint32_t>(sizeof(uint32_t) + size) << 2;
    bytes_.append(reinterpret_cast<const char *>(&header), sizeof header).append(text).append(rest);
    bytes_.resize(PackedTextReader::padded(bytes_.size()), '\0');
    ++count_;
  }
  void clear() {
    bytes_.clear();
    count_ = 0;
  }
  // Returns the texts, valid until the next change.
  PackedTexts texts() const { return {bytes_.data(), bytes_.size(), count_}; }

 private:
  std::string bytes_;
  uint32_t count_ = 0;
};

}  // namespace simjoin
