#include "core/sets/text_store.hpp"

#include <algorithm>

namespace simjoin {
namespace {

// A piece is a part of what there is, so that a small join takes little memory and a large one has pieces
// with huge pages.
constexpr size_t least_piece = size_t{1} << 10;
constexpr size_t largest_piece = size_t{4} << 20;
constexpr size_t pieces_per_store = 16;

}  // namespace

TextStore::TextStore(MemoryCounter &memory) : memory_(memory) {}

TextStore::Piece TextStore::take_piece() {
  const std::lock_guard lock(mutex_);
  if (spare_.empty()) return {};
  const Piece piece = spare_.back();
  spare_.pop_back();
  return piece;
}

void TextStore::give_back(Piece piece) {
  const std::lock_guard lock(mutex_);
  spare_.push_back(piece);
}

const TextStore::Text *TextStore::add(uint32_t number, std::string_view text, Piece &piece) {
  const size_t bytes = (sizeof(Text) + text.size() + alignof(Text) - 1) / alignof(Text) * alignof(Text);
  if (bytes > piece.left) next_piece(bytes, piece);
  auto *const stored = new (piece.at) Text{number, static_cast<uint32_t>(text.size())};
  if (!text.empty()) std::memcpy(piece.at + sizeof(Text), text.data(), text.size());
  piece.at += bytes;
  piece.left -= bytes;
  *new_slot(number) = reinterpret_cast<uint64_t>(stored) | not_short;
  return stored;
}

void TextStore::add_segment(size_t segment) {
  const std::lock_guard lock(mutex_);
  if (slots_[segment].load(std::memory_order_relaxed) != nullptr) return;
  Buffer<uint64_t> &slots = segments_.emplace_back(memory_, first_slots << segment);
  slots_[segment].store(slots.data(), std::memory_order_release);
}

void TextStore::next_piece(size_t least, Piece &piece) {
  const std::lock_guard lock(mutex_);
  const size_t usual = std::clamp(bytes() / pieces_per_store, least_piece, largest_piece);
  Buffer<char> &bytes = pieces_.emplace_back(memory_, std::max(least, usual));
  bytes_.fetch_add(bytes.size(), std::memory_order_relaxed);
  piece = {bytes.data(), bytes.size()};
}

}  // namespace simjoin
