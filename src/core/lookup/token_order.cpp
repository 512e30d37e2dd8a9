#include "core/lookup/token_order.hpp"

#include <algorithm>
#include <bit>

#include "core/base/interruption.hpp"
#include "core/base/probe_table.hpp"
#include "core/base/token_hash.hpp"

namespace simjoin {
namespace {

// The most tokens that are counted: sorting them takes 80 ms. More tokens are sampled, which orders frequent
// tokens nearly as well.
constexpr size_t most_sampled = size_t{1} << 20;

// Sizes of a class differ by a fifth at most. With smaller classes there would be more to look up. Larger
// classes would hold more sets that are too large or too small (1 M sets of 20 tokens, Jaccard 0.7: five
// classes each).
constexpr int64_t class_growth = 19, class_base = 16;
constexpr int64_t largest_size = INT32_MAX;

// The codes of smaller prefixes are compared each with each, before their order is looked up.
constexpr size_t most_compared = 4096;  // pairs of codes: about as long as looking up 100 of them

template <typename Token>
TokenCode code_of(const Token &token) {
  return static_cast<TokenCode>(token_value_hash(token) >> 32);
}

// With more codes to look up than this, in all classes together, partners are looked up by one code: with
// pairs there would be a lookup for nearly each code. With fewer codes, pairs find a tenth of the sets (1 M
// sets of 20 tokens).
constexpr size_t most_paired = 64;

// An index with fewer tokens than this has entries of all bits. With more of them, an entry is to have about
// this many sets: the entry itself then takes less than they do, and to read those of a hundred entries takes
// a millisecond.
constexpr uint64_t few_indexed = uint64_t{1} << 20, sets_per_entry = 16;

// The most entries that a set is asked to share in a lookup of an index. With more there are fewer sets to
// read, and more entries to look up.
constexpr int64_t most_shared = 4;
// The most ranges that the sizes of a class are divided into.
constexpr int64_t most_ranges = 512;

}  // namespace

void TokenCounts::add(TokenCode code) {
  // A random choice, since sets often have about the same size and their tokens in some order.
  if ((mix_bits(seen_++) & (one_in_ - 1)) != 0) return;
  sample_.push_back(code);
  if (sample_.size() < most_sampled) return;
  size_t kept = 0;
  for (size_t i = 0; i < sample_.size(); ++i)
    if ((mix_bits(i ^ seen_) & 1) != 0) sample_[kept++] = sample_[i];
  sample_.resize(kept);
  one_in_ *= 2;
}

template <typename Token>
void TokenCounts::add(std::span<const Token> tokens) {
  for (const Token &token : tokens) add(code_of(token));
}

std::vector<TokenCode> TokenCounts::most_frequent(size_t most) {
  struct Count {
    size_t count;
    TokenCode code;
  };
  std::sort(sample_.begin(), sample_.end());
  std::vector<Count> counts;
  for (size_t begin = 0, end = 0; begin < sample_.size(); begin = end) {
    while (end < sample_.size() && sample_[end] == sample_[begin]) ++end;
    if (end - begin > 1) counts.push_back({end - begin, sample_[begin]});
  }
  std::sort(counts.begin(), counts.end(), [](const Count &a, const Count &b) {
    return a.count > b.count || (a.count == b.count && a.code < b.code);
  });
  counts.resize(std::min(counts.size(), most));
  std::vector<TokenCode> codes;
  codes.reserve(counts.size());
  for (const Count &count : counts) codes.push_back(count.code);
  return codes;
}

int TokenCounts::entry_bits() const {
  if (seen_ < few_indexed) return most_entry_bits;
  return std::min(static_cast<int>(std::bit_width(seen_ / sets_per_entry)), most_entry_bits);
}

TokenOrder::TokenOrder(size_t frequent, int unused_bits, const Bounds &bounds, bool one_class)
    : bounds_(bounds), unused_bits_(unused_bits), slots_(std::bit_ceil(2 * frequent + 1)) {
  const int64_t last = one_class ? 1 : largest_size;
  for (int64_t size = 1; size <= last; size = std::max(size + 1, size * class_growth / class_base)) {
    class_salts_.push_back(class_salt(class_sizes_.size()));
    class_sizes_.push_back(size);
  }
}

TokenOrder::TokenOrder(std::span<const TokenCode> frequent, const Bounds &bounds)
    : TokenOrder(frequent.size(), 0, bounds, false) {
  auto place = static_cast<uint32_t>(frequent.size());
  for (const TokenCode code : frequent) add_frequent(static_cast<uint32_t>(code), place--);
}

TokenOrder TokenOrder::by_prints(std::span<const FrequentToken> frequent, const Bounds &bounds,
                                 int entry_bits) {
  // Sets that share a number of tokens are of all sizes, so classes would only multiply what is looked up.
  const bool one_class = bounds.measure() == Measure::overlap;
  TokenOrder order(frequent.size(), 32 - token_print_bits, bounds, one_class);
  order.unused_entry_bits_ = most_entry_bits - entry_bits;
  for (const FrequentToken &token : frequent) order.add_frequent(token.print, token.place);
  return order;
}

// Adds a token unless it is there.
void TokenOrder::add_frequent(uint32_t print, uint32_t place) {
  Slot &slot = slots_[slot_of(print)];
  if (slot.place == 0) slot = {print, place};
}

// Returns the class of a size from 1 on.
size_t TokenOrder::class_of(int64_t size) const {
  const auto next = std::upper_bound(class_sizes_.begin(), class_sizes_.end(), size);
  return static_cast<size_t>(next - class_sizes_.begin()) - 1;
}

// Returns the slot of the print, or the empty slot for it.
size_t TokenOrder::slot_of(uint32_t print) const {
  return probe(print & (slots_.size() - 1), slots_.size(),
               [&](size_t slot) { return slots_[slot].place == 0 || slots_[slot].print == print; });
}

template <typename Token>
void TokenOrder::keys_of(std::span<const Token> tokens, TokenKey *keys) const {
  for (const Token &token : tokens) *keys++ = key_of(code_of(token));
}

// Two similar sets share two tokens of their prefixes if they share two at all. The length is 0 if no set is
// similar to this one, not even itself.
int64_t TokenOrder::prefix_length(int64_t size) const {
  if (size == 0) return 0;
  const int64_t length = bounds_.prefix_length(size, bounds_.min_partner(size));
  return length > 0 ? std::min(length + 1, size) : 0;
}

void TokenOrder::entries_of(const SetPrefix &prefix, TokenCode *entries) const {
  if (prefix.keys.empty()) return;
  const TokenCode salt = salt_of(prefix.size);
  for (const TokenKey key : prefix.keys) *entries++ = entry_of(key, salt);
}

// Sets the codes to look up for each class of sizes, and returns their number. Larger sets must share more
// tokens, so fewer first codes suffice. Two sets that share n tokens each have the first shared one among all
// but n - 1 of their tokens, and the second one among all but n - 2.
size_t TokenOrder::find_partners(const SetPrefix &prefix, bool pairs) {
  partners_.clear();
  size_t all_codes = 0;
  const int64_t least = bounds_.min_partner(prefix.size);
  const int64_t largest = bounds_.max_partner(prefix.size, largest_size);
  for (size_t i = class_of(least); i < class_sizes_.size() && class_sizes_[i] <= largest; ++i) {
    const int64_t overlap = bounds_.min_overlap(prefix.size, std::max(class_sizes_[i], least));
    if (overlap > prefix.size) break;
    const bool two = pairs && overlap >= 2;
    const auto codes = static_cast<size_t>(prefix.size - overlap + (two ? 2 : 1));
    partners_.push_back({class_salts_[i], std::min(codes, prefix.keys.size()), two});
    all_codes += partners_.back().codes;
  }
  return all_codes;
}

// Adds lookups for the partners that one code finds.
void TokenOrder::look_for_one(std::span<const TokenKey> keys) {
  const size_t begin = entries_.size();
  for (const Partners &partners : partners_) {
    if (partners.pairs) continue;
    for (size_t i = 0; i < partners.codes; ++i) {
      check_interruption_at(i);
      entries_.push_back(code_of_key(keys[i]) ^ partners.salt);
    }
  }
  const auto entries = std::span<const TokenCode>(entries_).subspan(begin);
  for (size_t i = 0; i < entries.size(); i += looked_up_at_once) {
    check_interruption_at(i / looked_up_at_once);
    lookups_.push_back({entries.subspan(i, std::min(looked_up_at_once, entries.size() - i)), {}});
  }
}

// Adds lookups for the partners that two codes find: one lookup for each code that can be the first.
void TokenOrder::look_for_pairs(std::span<const TokenKey> keys) {
  for (size_t first = 0; first + 1 < keys.size(); ++first) {
    const size_t begin = entries_.size();
    for (const Partners &partners : partners_)
      if (partners.pairs && first + 1 < partners.codes)
        entries_.push_back(code_of_key(keys[first]) ^ partners.salt);
    const size_t middle = entries_.size();
    if (begin == middle) return;
    for (const Partners &partners : partners_)
      for (size_t i = first + 1; partners.pairs && i < partners.codes; ++i)
        entries_.push_back(code_of_key(keys[i]) ^ partners.salt);
    const auto entries = std::span<const TokenCode>(entries_);
    lookups_.push_back({entries.subspan(begin, middle - begin), entries.subspan(middle)});
  }
}

std::optional<std::span<const PrefixLookup>> TokenOrder::lookups(const SetPrefix &prefix, size_t most) {
  entries_.clear();
  lookups_.clear();
  if (prefix.keys.empty()) return lookups_;
  size_t codes = find_partners(prefix, true);
  const bool pairs = codes <= most_paired;
  if (!pairs) codes = find_partners(prefix, false);
  if (!pairs && codes > most) return std::nullopt;
  entries_.reserve(pairs ? codes * prefix.keys.size() : codes);  // so that none moves
  look_for_one(prefix.keys);
  look_for_pairs(prefix.keys);
  return lookups_;
}

// Returns how many of its entries in the index each similar set of `least` to `largest` tokens shares with
// the codes that are looked up. If sets of r and s tokens share n, the first r - n + k of one and the first
// s - n + k of the other share k, and the index has prefix_length(s) of them. At most 0 if it has too few.
int64_t TokenOrder::sure_shared(int64_t size, int64_t least, int64_t largest, const Bounds &wanted) const {
  if (prefix_length(least) == 0) return 0;
  // From here on prefix_length(s) - s never grows with s, and min_overlap never shrinks. So the ends of a
  // range of sizes bound what is between them.
  const int64_t step = std::max<int64_t>((largest - least) / most_ranges, 1);
  int64_t shared = size;
  for (int64_t begin = least; begin <= largest; begin += step) {
    const int64_t end = std::min(begin + step - 1, largest);
    shared = std::min(shared, prefix_length(end) - end + wanted.min_overlap(size, begin));
  }
  return shared;
}

IndexLookup TokenOrder::lookup(const SetPrefix &set, const Bounds &wanted) {
  const int64_t size = set.size;
  if (size == 0) return {IndexLookup::Kind::nothing, {}, {}};
  const int64_t smallest = wanted.min_partner(size);
  const int64_t largest = wanted.max_partner(size, largest_size);
  if (smallest > largest) return {IndexLookup::Kind::nothing, {}, {}};
  entries_.clear();
  size_classes_.clear();
  for (size_t i = class_of(smallest); i < class_sizes_.size() && class_sizes_[i] <= largest; ++i) {
    const int64_t begin = std::max(class_sizes_[i], smallest);
    const int64_t end = i + 1 < class_sizes_.size() ? std::min(class_sizes_[i + 1] - 1, largest) : largest;
    const int64_t overlap = wanted.min_overlap(size, begin);
    if (overlap > std::min(size, begin)) continue;
    const int64_t shared = std::min({sure_shared(size, begin, end, wanted), overlap, most_shared});
    const int64_t codes = size - overlap + shared;
    if (shared < 1 || entries_.size() + static_cast<size_t>(codes) > most_looked_up)
      return {IndexLookup::Kind::everything, {}, {}};
    for (int64_t k = 0; k < codes; ++k)
      entries_.push_back(entry_of(set.keys[static_cast<size_t>(k)], class_salts_[i]));
    size_classes_.push_back({static_cast<uint32_t>(codes), static_cast<uint32_t>(shared)});
  }
  return {entries_.empty() ? IndexLookup::Kind::nothing : IndexLookup::Kind::entries, entries_,
          size_classes_};
}

// A token that is skipped in one prefix comes before the rest of the other set. So beside the tokens that
// met, only tokens in the rest of both can be shared. This is tried before the order is looked up: at least
// one prefix is read to its end.
bool TokenOrder::may_be_similar(const SetPrefix &r, const IndexedPrefix &s) const {
  if (r.size == 0 || s.size == 0) return false;
  const int64_t wanted = bounds_.min_overlap(r.size, s.size);
  const TokenCode salt = salt_of(s.size);
  const auto r_codes = static_cast<int64_t>(r.keys.size()), s_codes = static_cast<int64_t>(s.entries.size());
  if (r.keys.size() * s.entries.size() <= most_compared) {
    int64_t equal = 0;
    for (const TokenKey key : r.keys) {
      const TokenCode code = code_of_key(key);
      bool found = false;
      for (const TokenCode entry : s.entries) found |= entry == (code ^ salt);
      equal += found;
    }
    if (equal + std::max(r.size - r_codes, s.size - s_codes) < wanted) return false;
  }
  int64_t i = 0, j = 0, shared = 0;
  for (size_t step = 0; i < r_codes && j < s_codes; ++step) {
    check_interruption_at(step);
    const TokenKey a = r.keys[i], b = key_of(s.entries[j] ^ salt);
    shared += a == b;
    i += a <= b;
    j += b <= a;
  }
  return shared > 0 && shared + std::min(r.size - i, s.size - j) >= wanted;
}

template void TokenCounts::add(std::span<const int32_t>);
template void TokenCounts::add(std::span<const int64_t>);
template void TokenCounts::add(std::span<const std::string_view>);
template void TokenOrder::keys_of(std::span<const int32_t>, TokenKey *) const;
template void TokenOrder::keys_of(std::span<const int64_t>, TokenKey *) const;
template void TokenOrder::keys_of(std::span<const std::string_view>, TokenKey *) const;

}  // namespace simjoin
