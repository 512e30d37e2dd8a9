// The words of a text with each of their occurrences.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "tsearch/ts_utils.h"
}

#include <string_view>

namespace simjoin::pg {

// Returns the words of a text, as the text search configuration sees them, as a text[] in the current memory
// context. The n-th occurrence of a word is WORD#n, but for the first one of a word without #. So no two
// words have an element in common. Processes interrupts.
Datum make_word_bag(Oid configuration, std::string_view text);

// Returns the words of a text as they come, with their positions, in the current memory context.
ParsedText parsed_words(Oid configuration, std::string_view text);

// Returns the element, a text, that stands for the n-th occurrence of a word, from 1 on.
Datum occurrence_of(std::string_view word, size_t n);

}  // namespace simjoin::pg
