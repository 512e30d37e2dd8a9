// Signatures: any bytes as a received signature, or as the text of one. A signature without a flaw survives
// every conversion there and back.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

#include "core/minhash/minhash.hpp"
#include "core/minhash/minhash_signature.hpp"
#include "core/minhash/minhash_text.hpp"
#include "fuzz/target.hpp"

namespace simjoin::fuzz {
namespace {

using Bytes = std::vector<uint8_t>;

void require(bool holds, const char *what) {
  if (holds) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::abort();
}

// Returns the signature of a text, or nothing if it has none.
Bytes signature_of_text(const std::string &text) {
  SignatureHeader header;
  const char *values;
  if (parse_signature_header(text.c_str(), &header, &values) != nullptr) return {};
  Bytes signature(header.bytes());
  if (parse_signature_values(header, values, signature.data()) != nullptr) return {};
  return signature;
}

std::string text_of(const Bytes &signature) {
  std::string text(max_signature_text(read_header(signature.data())), '\0');
  text.resize(write_signature_text(signature.data(), text.data()));
  return text;
}

// Applies the functions of signatures to a signature with values.
void check_values(const Bytes &signature, SignatureHeader header) {
  std::vector<uint32_t> values(header.permutations);
  read_values(signature.data(), 0, values.size(), values.data());
  Bytes copy(header.bytes());
  write_signature(header, values.data(), copy.data());
  require(copy == signature, "the values make the same signature");
  uint32_t last;
  read_values(signature.data(), values.size() - 1, 1, &last);
  require(last == values.back(), "a value read alone is the same");
  band_hash(header, 0, values.data(), header.permutations);
  header.bits = static_cast<uint8_t>((header.bits + 1) / 2);
  copy.resize(header.bytes());
  write_signature(header, values.data(), copy.data());
  require(signature_flaw(copy) == nullptr, "a truncated signature has no flaw");
  require(common_values(copy.data(), copy.data()) == header.permutations,
          "a signature has all values in common with itself");
  require(estimated_similarity(header, header.permutations) == 1, "a signature is similar to itself");
}

void check_signature(const Bytes &signature) {
  require(signature_flaw(signature) == nullptr, "a signature has no flaw");
  const SignatureHeader header = read_header(signature.data());
  require(header.bytes() == signature.size(), "a signature has its header's size");
  require(signature_of_text(text_of(signature)) == signature, "the text of a signature is that of the same");
  if (!header.empty) check_values(signature, header);
  require(estimated_similarity(header, common_values(signature.data(), signature.data())) ==
              (header.empty ? 0 : 1),
          "a signature is similar to itself, unless it is that of an empty set");
}

// Changes a few characters or bytes, in a third of the cases none.
template <class Sequence>
void change_some(Sequence &sequence, std::mt19937_64 &random) {
  constexpr char characters[] = ":0123456789abcdefxyz -+\0";
  for (uint64_t count = random() % 3; count > 0 && !sequence.empty(); --count) {
    auto &at = sequence[random() % sequence.size()];
    at = static_cast<std::decay_t<decltype(at)>>(
        random() % 2 == 0 ? static_cast<int>(characters[random() % sizeof characters])
                          : static_cast<int>(random() & 0xff));
  }
  if (random() % 8 == 0) sequence.resize(random() % (sequence.size() + 2));
}

}  // namespace

// The first byte says whether the others are a signature or its text.
void check_input(const uint8_t *data, size_t size) {
  if (size == 0) return;
  const bool is_text = data[0] % 2 == 1;
  Bytes signature(data + 1, data + size);
  if (is_text) signature = signature_of_text(std::string(signature.begin(), signature.end()));
  if (is_text ? !signature.empty() : signature_flaw(signature) == nullptr) check_signature(signature);
}

std::vector<uint8_t> random_input(std::mt19937_64 &random) {
  SignatureHeader header;
  header.family = random() % 2 == 0 ? SignatureFamily::minhash : SignatureFamily::weighted;
  header.empty = random() % 8 == 0;
  header.bits = static_cast<uint8_t>(1 + random() % full_bits);
  header.permutations = static_cast<uint16_t>(1 + random() % (random() % 16 == 0 ? max_permutations : 40));
  header.seed = random() >> random() % 64;
  std::vector<uint32_t> values(header.permutations);
  for (uint32_t &value : values) value = static_cast<uint32_t>(random());
  Bytes signature(header.bytes());
  write_signature(header, values.data(), signature.data());
  Bytes input{static_cast<uint8_t>(random() % 2)};
  if (input[0] == 1) {
    std::string text = text_of(signature);
    change_some(text, random);
    input.insert(input.end(), text.begin(), text.end());
  } else {
    change_some(signature, random);
    input.insert(input.end(), signature.begin(), signature.end());
  }
  return input;
}

}  // namespace simjoin::fuzz
