#include "core/dedup/set_copies.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <type_traits>
#include <vector>

#include "core/base/interruption.hpp"
#include "core/dedup/set_hash.hpp"

namespace simjoin {
namespace {

// At least this number of hashes is kept: the first table has room for them.
constexpr size_t least_hashes = 1024;

// Returns 32 bits that are the same for the same tokens with the same weights in any order.
template <typename Token>
uint32_t tag_of(std::span<const Token> tokens, std::span<const double> weights) {
  uint64_t sum = tokens.size();
  if (weights.empty()) {
    sum += sum_of_hashes(tokens);
  } else {
    for (size_t i = 0; i < tokens.size(); ++i) {
      check_interruption_at(i);
      sum += mix_bits(token_value_hash(tokens[i]) + std::bit_cast<uint64_t>(weights[i]));
    }
  }
  return static_cast<uint32_t>(mix_bits(sum) >> 32);
}

// Returns the bytes in which the tokens are kept: texts one after the other, each after its size.
template <typename Token>
size_t kept_bytes(std::span<const Token> tokens) {
  if constexpr (std::is_same_v<Token, std::string_view>) {
    size_t bytes = 0;
    for (size_t i = 0; i < tokens.size(); ++i) {
      check_interruption_at(i);
      bytes += sizeof(size_t) + tokens[i].size();
    }
    return bytes;
  } else {
    return tokens.size_bytes();
  }
}

template <typename Token>
void write_tokens(std::span<const Token> tokens, char *to) {
  if constexpr (std::is_same_v<Token, std::string_view>) {
    for (size_t i = 0; i < tokens.size(); ++i) {
      check_interruption_at(i);
      const Token token = tokens[i];
      const size_t size = token.size();
      std::memcpy(to, &size, sizeof size);
      if (size > 0) std::memcpy(to + sizeof size, token.data(), size);
      to += sizeof size + size;
    }
  } else {
    copy_interruptibly(to, tokens.data(), tokens.size_bytes());
  }
}

template <typename Token>
std::vector<Token> read_tokens(const char *from, size_t count) {
  std::vector<Token> tokens;
  tokens.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    check_interruption_at(i);
    if constexpr (std::is_same_v<Token, std::string_view>) {
      size_t size;
      std::memcpy(&size, from, sizeof size);
      tokens.emplace_back(from + sizeof size, size);
      from += sizeof size + size;
    } else {
      std::memcpy(&tokens.emplace_back(), from, sizeof(Token));
      from += sizeof(Token);
    }
  }
  return tokens;
}

// Returns whether the kept tokens are `tokens`, in the same order.
template <typename Token>
bool same_bytes(const char *kept, std::span<const Token> tokens) {
  if constexpr (std::is_same_v<Token, std::string_view>) {
    for (size_t i = 0; i < tokens.size(); ++i) {
      check_interruption_at(i);
      size_t size;
      std::memcpy(&size, kept, sizeof size);
      if (std::string_view(kept + sizeof size, size) != tokens[i]) return false;
      kept += sizeof size + size;
    }
  } else {
    bool same = true;
    for_runs(tokens, [&](auto some) {
      same = same && std::memcmp(kept, some.data(), some.size_bytes()) == 0;
      kept += some.size_bytes();
    });
    return same;
  }
  return true;
}

template <typename Token>
std::vector<Token> copy_of(std::span<const Token> tokens) {
  std::vector<Token> copy;
  copy.reserve(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    check_interruption_at(i);
    copy.push_back(tokens[i]);
  }
  return copy;
}

// Returns the tokens in ascending order.
template <typename Token>
std::vector<Token> sorted(std::vector<Token> tokens) {
  std::sort(tokens.begin(), tokens.end(), interruptible(std::less<>()));
  return tokens;
}

// Returns the number of distinct tokens.
template <typename Token>
int64_t distinct_tokens(std::span<const Token> tokens) {
  if (std::ranges::adjacent_find(tokens, interruptible(std::greater_equal<>())) == tokens.end())
    return static_cast<int64_t>(tokens.size());
  std::vector<Token> in_order = sorted(copy_of(tokens));
  const auto end = std::unique(in_order.begin(), in_order.end(), interruptible(std::equal_to<>()));
  return end - in_order.begin();
}

}  // namespace

SetCopies::SetCopies(Measure measure, double threshold, size_t memory_limit, MemoryCounter &memory)
    : bounds_(measure, threshold),
      memory_limit_(memory_limit),
      joined_(memory),
      families_(memory),
      similarities_(memory),
      table_(memory, Entry{0, free_place}),
      kept_(memory),
      bytes_(memory) {}

template <typename Token>
bool SetCopies::add(std::span<const Token> tokens, std::span<const double> weights) {
  return add(tokens, weights, tag_of(tokens, weights));
}

template <typename Token>
uint32_t SetCopies::prepare(std::span<const Token> tokens) const {
  const Entry entry = {tag_of(tokens, {}), not_kept};
  table_.prefetch(entry.hash());
  return entry.tag;
}

template <typename Token>
bool SetCopies::add(std::span<const Token> tokens, std::span<const double> weights, uint32_t tag) {
  const uint32_t row = rows_++;
  if (!tokens.empty() && is_copy(row, tokens, weights, tag)) return false;
  joined_.push_back(row);
  return true;
}

// Returns whether the row belongs to a family of an earlier row. Otherwise the set is remembered.
template <typename Token>
bool SetCopies::is_copy(uint32_t row, std::span<const Token> tokens, std::span<const double> weights,
                        uint32_t tag) {
  const Entry entry = {tag, not_kept};
  Entry *const place = table_.find(entry.hash(), [&](const Entry &known) {
    return known.tag == entry.tag && (known.kept == not_kept || equals(kept_[known.kept], tokens, weights));
  });
  if (place->free()) {
    const size_t hashes = table_.size() + 1;
    if (hashes <= least_hashes || used_memory(hashes) <= memory_limit_) table_.add(place, entry);
    return false;
  }
  if (place->kept == not_kept) {
    place->kept = keep(row, tokens, weights);
    return false;
  }
  KeptSet &kept = kept_[place->kept];
  if (kept.similarity == not_known) kept.similarity = similarity_with_itself(tokens, weights);
  if (kept.similarity == no_similarity) return false;
  put_into_family(row, kept);
  return true;
}

// Returns the similarity of the set with a copy of it. A token of weight 0 counts as missing.
template <typename Token>
double SetCopies::similarity_with_itself(std::span<const Token> tokens,
                                         std::span<const double> weights) const {
  const int64_t size = weights.empty()
                           ? distinct_tokens(tokens)
                           : std::ranges::count_if(weights, [](double weight) { return weight > 0; });
  if (!bounds_.satisfied(size, size, size)) return no_similarity;
  return similarity(bounds_.measure(), size, size, size);
}

// Keeps a set whose hash has come for the second time, and returns its number. Returns not_kept if there is
// no room. Most sets that come twice come no third time, so what only a third one needs is left for it.
template <typename Token>
uint32_t SetCopies::keep(uint32_t row, std::span<const Token> tokens, std::span<const double> weights) {
  const size_t bytes = weights.size_bytes() + kept_bytes(tokens);
  if (used_memory(table_.size()) + bytes + sizeof(KeptSet) > memory_limit_ || kept_.size() == not_kept)
    return not_kept;
  kept_.push_back({bytes_.size(), tokens.size(), row, SetFamilies::none, not_known});
  char *to = bytes_.extend(bytes);
  write_tokens(weights, to);
  write_tokens(tokens, to + weights.size_bytes());
  return static_cast<uint32_t>(kept_.size() - 1);
}

template <typename Token>
bool SetCopies::equals(const KeptSet &kept, std::span<const Token> tokens,
                       std::span<const double> weights) const {
  if (kept.tokens != tokens.size()) return false;
  const char *bytes = bytes_.data() + kept.begin;
  if (!weights.empty()) return same_bytes(bytes, weights) && same_bytes(bytes + weights.size_bytes(), tokens);
  if (same_bytes(bytes, tokens)) return true;
  return std::ranges::equal(sorted(read_tokens<Token>(bytes, tokens.size())), sorted(copy_of(tokens)),
                            interruptible(std::equal_to<>()));
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

// Returns the bytes in use when the table has `hashes` hashes.
size_t SetCopies::used_memory(size_t hashes) const {
  return ProbeTable<Entry>::bytes_of(hashes) + kept_.size() * sizeof(KeptSet) + bytes_.size();
}

void SetCopies::finish() {
  table_.release();
  kept_.release();
  bytes_.release();
  if (families_.empty()) return;
  while (families_.size() < rows_) families_.push_back(SetFamilies::none);
}

template uint32_t SetCopies::prepare(std::span<const int32_t>) const;
template uint32_t SetCopies::prepare(std::span<const int64_t>) const;
template bool SetCopies::add(std::span<const int32_t>, std::span<const double>, uint32_t);
template bool SetCopies::add(std::span<const int64_t>, std::span<const double>, uint32_t);
template bool SetCopies::add(std::span<const int32_t>, std::span<const double>);
template bool SetCopies::add(std::span<const int64_t>, std::span<const double>);
template bool SetCopies::add(std::span<const std::string_view>, std::span<const double>);

}  // namespace simjoin
