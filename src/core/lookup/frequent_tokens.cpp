// The tokens are divided into groups by their rank. Each group is twice as large as those before it, since in
// most collections the frequency falls about as 1/rank. The prints of a group ascend, and the differences are
// Rice-coded: the upper bits as that many ones and a zero, the lower bits as they are.
//
// What comes out is masked by the stream of random numbers that its hash begins, and the hash stands before
// it. So no choice of tokens gives bytes that can be compressed. PostgreSQL must not compress a parameter of
// an index: where it does, CREATE INDEX damages the catalog (seen in 15.20).
#include "core/lookup/frequent_tokens.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/base/mix.hpp"
#include "core/base/token_hash.hpp"

namespace simjoin {
namespace {

constexpr size_t first_group = 64;
constexpr uint32_t prints = uint32_t{1} << token_print_bits;

// Returns how many lower bits of a difference are stored as they are, in a group of `count` prints.
int lower_bits(size_t count) {
  return static_cast<int>(std::bit_width(prints / static_cast<uint32_t>(count))) - 1;
}

class BitWriter {
 public:
  explicit BitWriter(std::string *bytes) : bytes_(bytes) {}
  void write(uint32_t value, int bits) {
    for (int i = bits - 1; i >= 0; --i) {
      if (used_ == 0) bytes_->push_back(0);
      bytes_->back() = static_cast<char>(bytes_->back() | static_cast<char>((value >> i & 1) << (7 - used_)));
      used_ = (used_ + 1) % 8;
    }
  }

 private:
  std::string *bytes_;
  int used_ = 0;  // bits of the last byte
};

class BitReader {
 public:
  explicit BitReader(std::string_view bytes) : bytes_(bytes) {}
  uint32_t read(int bits) {
    uint32_t value = 0;
    for (int i = 0; i < bits; ++i) {
      if (next_ >= 8 * bytes_.size()) ended_ = true;
      const uint32_t bit = ended_ ? 0 : static_cast<unsigned char>(bytes_[next_ / 8]) >> (7 - next_ % 8) & 1;
      value = value << 1 | bit;
      ++next_;
    }
    return value;
  }
  bool ended() const { return ended_; }  // whether more was read than there is
  size_t bytes_read() const { return (next_ + 7) / 8; }

 private:
  std::string_view bytes_;
  size_t next_ = 0;
  bool ended_ = false;
};

void encode_group(std::vector<uint32_t> group, std::string *bytes) {
  std::sort(group.begin(), group.end());
  group.erase(std::unique(group.begin(), group.end()), group.end());
  const int lower = lower_bits(group.size());
  BitWriter writer(bytes);
  writer.write(static_cast<uint32_t>(group.size()), 16);
  uint32_t last = 0;
  for (const uint32_t print : group) {
    const uint32_t difference = print - last;
    for (uint32_t upper = difference >> lower; upper > 0; --upper) writer.write(1, 1);
    writer.write(0, 1);
    writer.write(difference, lower);
    last = print;
  }
}

// Reads a group of the place from the front of the bytes. Returns false if there is none.
bool decode_group(std::string_view *bytes, uint32_t place, std::vector<FrequentToken> *tokens) {
  BitReader reader(*bytes);
  const uint32_t count = reader.read(16);
  if (count == 0 || count > most_stored_tokens) return false;
  const int lower = lower_bits(count);
  uint32_t print = 0;
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t upper = 0;
    while (reader.read(1) == 1) ++upper;
    print += upper << lower | reader.read(lower);
    if (reader.ended() || print >= prints) return false;
    tokens->push_back({print, place});
  }
  bytes->remove_prefix(reader.bytes_read());
  return true;
}

// Masks the bytes, or takes the mask off.
void mask(uint64_t seed, std::string *bytes) {
  for (size_t i = 0; i < bytes->size(); ++i)
    (*bytes)[i] = static_cast<char>((*bytes)[i] ^ static_cast<char>(mix_bits(seed + i) & 0xff));
}

// Returns the hash and the masked bytes.
std::string seal(std::string bytes) {
  if (bytes.empty()) return bytes;
  const uint64_t hash = token_value_hash(std::string_view(bytes));
  std::string sealed(sizeof(hash), '\0');
  for (size_t i = 0; i < sizeof(hash); ++i) sealed[i] = static_cast<char>(hash >> (8 * i) & 0xff);
  mask(hash, &bytes);
  return sealed + bytes;
}

// Returns the bytes that were sealed, nothing if there are none.
std::optional<std::string> unseal(std::string_view sealed) {
  if (sealed.empty()) return std::string();
  uint64_t hash = 0;
  if (sealed.size() <= sizeof(hash)) return std::nullopt;
  for (size_t i = 0; i < sizeof(hash); ++i)
    hash |= uint64_t{static_cast<unsigned char>(sealed[i])} << (8 * i);
  std::string bytes(sealed.substr(sizeof(hash)));
  mask(hash, &bytes);
  if (token_value_hash(std::string_view(bytes)) != hash) return std::nullopt;
  return bytes;
}

}  // namespace

std::string encode_frequent_tokens(std::span<const int32_t> codes) {
  std::string bytes;
  codes = codes.first(std::min(codes.size(), most_stored_tokens));
  for (size_t begin = 0, end = first_group; begin < codes.size(); begin = end, end *= 2) {
    std::vector<uint32_t> group;
    for (const int32_t code : codes.subspan(begin, std::min(end, codes.size()) - begin))
      group.push_back(static_cast<uint32_t>(code) >> (32 - token_print_bits));
    encode_group(group, &bytes);
  }
  return seal(std::move(bytes));
}

std::optional<std::vector<FrequentToken>> decode_frequent_tokens(std::string_view sealed) {
  const std::optional<std::string> unsealed = unseal(sealed);
  if (!unsealed.has_value()) return std::nullopt;
  std::string_view bytes = *unsealed;
  std::vector<FrequentToken> tokens;
  uint32_t groups = 0;
  while (!bytes.empty())
    if (!decode_group(&bytes, groups++, &tokens) || tokens.size() > most_stored_tokens) return std::nullopt;
  for (FrequentToken &token : tokens) token.place = groups - token.place;
  return tokens;
}

}  // namespace simjoin
