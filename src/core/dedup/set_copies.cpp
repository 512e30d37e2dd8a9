#include "core/dedup/set_copies.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>
#include <vector>

#include "core/base/token_hash.hpp"

namespace simjoin {
namespace {

constexpr size_t first_slots = 1024;
constexpr size_t most_slots = size_t{1} << 32;  // a tag tells no more apart

// Returns whether so many slots of a table are too many: past five eighths, linear probing starts to walk.
bool too_full(size_t used, size_t slots) {
  return used * 8 > slots * 5;
}

// Returns 32 bits that are the same for the same tokens in any order.
template <typename Token>
uint32_t tag_of(std::span<const Token> tokens) {
  uint64_t sum = tokens.size();
  for (const Token &token : tokens) sum += token_value_hash(token);
  return static_cast<uint32_t>(mix_bits(sum) >> 32);
}

// Returns the bytes in which the tokens are kept: texts one after the other, each behind its size.
template <typename Token>
size_t kept_bytes(std::span<const Token> tokens) {
  if constexpr (std::is_same_v<Token, std::string_view>) {
    size_t bytes = 0;
    for (const Token &token : tokens) bytes += sizeof(size_t) + token.size();
    return bytes;
  } else {
    return tokens.size_bytes();
  }
}

template <typename Token>
void write_tokens(std::span<const Token> tokens, char *to) {
  if constexpr (std::is_same_v<Token, std::string_view>) {
    for (const Token &token : tokens) {
      const size_t size = token.size();
      std::memcpy(to, &size, sizeof size);
      if (size > 0) std::memcpy(to + sizeof size, token.data(), size);
      to += sizeof size + size;
    }
  } else {
    std::memcpy(to, tokens.data(), tokens.size_bytes());
  }
}

template <typename Token>
std::vector<Token> read_tokens(const char *from, size_t count) {
  std::vector<Token> tokens(count);
  if constexpr (std::is_same_v<Token, std::string_view>) {
    for (Token &token : tokens) {
      size_t size;
      std::memcpy(&size, from, sizeof size);
      token = {from + sizeof size, size};
      from += sizeof size + size;
    }
  } else {
    std::memcpy(tokens.data(), from, count * sizeof(Token));
  }
  return tokens;
}

// Returns whether the kept tokens are these, in the same order.
template <typename Token>
bool same_bytes(const char *kept, std::span<const Token> tokens) {
  if constexpr (std::is_same_v<Token, std::string_view>) {
    for (const Token &token : tokens) {
      size_t size;
      std::memcpy(&size, kept, sizeof size);
      if (std::string_view(kept + sizeof size, size) != token) return false;
      kept += sizeof size + size;
    }
    return true;
  } else {
    return std::memcmp(kept, tokens.data(), tokens.size_bytes()) == 0;
  }
}

// Returns the tokens in ascending order.
template <typename Token>
std::vector<Token> sorted(std::vector<Token> tokens) {
  std::sort(tokens.begin(), tokens.end());
  return tokens;
}

template <typename Token>
int64_t distinct_tokens(const std::vector<Token> &sorted_tokens) {
  int64_t count = 0;
  for (size_t i = 0; i < sorted_tokens.size(); ++i)
    count += i == 0 || sorted_tokens[i] != sorted_tokens[i - 1];
  return count;
}

}  // namespace

SetCopies::SetCopies(Measure measure, double threshold, size_t memory_limit, MemoryCounter &memory)
    : bounds_(measure, threshold),
      memory_limit_(memory_limit),
      memory_(memory),
      joined_(memory),
      families_(memory),
      similarities_(memory),
      slots_(memory, first_slots, Slot{0, free_slot}),
      shift_(32 - std::countr_zero(first_slots)),
      kept_(memory),
      bytes_(memory) {}

template <typename Token>
bool SetCopies::add(std::span<const Token> tokens) {
  const uint32_t row = rows_++;
  if (!tokens.empty() && is_copy(row, tokens)) return false;
  joined_.push_back(row);
  return true;
}

// Returns whether the row belongs to a family that an earlier row has begun. Otherwise the set is remembered.
template <typename Token>
bool SetCopies::is_copy(uint32_t row, std::span<const Token> tokens) {
  const uint32_t tag = tag_of(tokens);
  size_t at = tag >> shift_;
  for (; slots_[at].kept != free_slot; at = (at + 1) & (slots_.size() - 1)) {
    if (slots_[at].tag != tag) continue;
    if (slots_[at].kept == not_kept) {
      slots_[at].kept = keep(row, tokens);
      return false;
    }
    KeptSet &kept = kept_[slots_[at].kept];
    if (!equals(kept, tokens)) continue;
    if (kept.similarity == no_similarity) return false;
    put_into_family(row, kept);
    return true;
  }
  insert(at, tag);
  return false;
}

// Keeps a set whose hash has come for the second time, and returns its number; not_kept where there is no
// room.
template <typename Token>
uint32_t SetCopies::keep(uint32_t row, std::span<const Token> tokens) {
  const size_t bytes = kept_bytes(tokens);
  if (!has_room(bytes + sizeof(KeptSet)) || kept_.size() == not_kept) return not_kept;
  const int64_t size = distinct_tokens(sorted(std::vector<Token>(tokens.begin(), tokens.end())));
  const bool similar = bounds_.satisfied(size, size, size);
  kept_.push_back({bytes_.size(), tokens.size(), row, SetFamilies::none,
                   similar ? similarity(bounds_.measure(), size, size, size) : no_similarity});
  write_tokens(tokens, bytes_.extend(bytes));
  return static_cast<uint32_t>(kept_.size() - 1);
}

template <typename Token>
bool SetCopies::equals(const KeptSet &kept, std::span<const Token> tokens) const {
  if (kept.tokens != tokens.size()) return false;
  const char *bytes = bytes_.data() + kept.begin;
  if (same_bytes(bytes, tokens)) return true;
  return sorted(read_tokens<Token>(bytes, tokens.size())) ==
         sorted(std::vector<Token>(tokens.begin(), tokens.end()));
}

// Puts the row into the family of the kept set, which begins with its first copy.
void SetCopies::put_into_family(uint32_t row, KeptSet &kept) {
  const auto put = [&](uint32_t member) {
    while (families_.size() <= member) families_.push_back(SetFamilies::none);
    families_[member] = kept.family;
  };
  if (kept.family == SetFamilies::none) {
    kept.family = static_cast<uint32_t>(similarities_.size());
    similarities_.push_back(kept.similarity);
    put(kept.row);
  }
  put(row);
}

// Puts a hash into the table, at a free slot that probing has ended at, while there is room.
void SetCopies::insert(size_t at, uint32_t tag) {
  if (too_full(used_ + 1, slots_.size())) {
    if (slots_.size() == most_slots || !has_room(2 * slots_.size() * sizeof(Slot))) return;
    grow();
    at = tag >> shift_;
    while (slots_[at].kept != free_slot) at = (at + 1) & (slots_.size() - 1);
  }
  slots_[at] = {tag, not_kept};
  ++used_;
}

// Moves every entry to a table of twice the size.
void SetCopies::grow() {
  const size_t size = slots_.size() * 2;
  Buffer<Slot> slots(memory_, size, Slot{0, free_slot});
  --shift_;
  for (const Slot &slot : slots_) {
    if (slot.kept == free_slot) continue;
    size_t at = slot.tag >> shift_;
    while (slots[at].kept != free_slot) at = (at + 1) & (size - 1);
    slots[at] = slot;
  }
  slots_ = std::move(slots);
}

size_t SetCopies::used_memory() const {
  return slots_.size() * sizeof(Slot) + kept_.size() * sizeof(KeptSet) + bytes_.size();
}

void SetCopies::finish() {
  slots_.release();
  kept_.release();
  bytes_.release();
  if (families_.empty()) return;
  while (families_.size() < rows_) families_.push_back(SetFamilies::none);
}

template bool SetCopies::add(std::span<const int32_t>);
template bool SetCopies::add(std::span<const int64_t>);
template bool SetCopies::add(std::span<const std::string_view>);

}  // namespace simjoin
