// The text form of signatures, "family:version:permutations:bits:seed:values": the values are "empty" or
// hexadecimal digits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/minhash/minhash_signature.hpp"

namespace simjoin {

// Reads the header of a text. Returns what is wrong with it, as a sentence, or null if nothing is. Then
// `values` points at the text after the header.
const char *parse_signature_header(const char *text, SignatureHeader *header, const char **values);

// Writes the signature (header.bytes() bytes) with these values. Returns what is wrong with them, as a
// sentence, or null.
const char *parse_signature_values(const SignatureHeader &header, const char *values, uint8_t *signature);

// Returns the largest number of characters that the text of a signature has.
size_t max_signature_text(const SignatureHeader &header);

// Writes the text of a valid signature, without a zero at its end. Returns the number of characters.
size_t write_signature_text(const uint8_t *signature, char *text);

}  // namespace simjoin
