// The rows that a report shows, as values of JSON, and how many rows of a query are blank.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "lib/stringinfo.h"
#include "utils/array.h"
}

namespace simjoin::pg {

// How much of a row is shown.
constexpr int most_characters = 4000;         // of a text
constexpr int most_elements = 1000;           // of a set
constexpr int most_element_characters = 200;  // of one of its elements

// Runs the query, (id, text or set), and appends members of a JSON object: "rows", how many it returns, of
// these "nulls" and "blank", texts of nothing but white space or sets without elements, and "texts", an array
// of [id, value, size] for each row with one of the ids: the value is NULL, a text, or an array of elements,
// each cut to what is shown, and the size is that of the whole.
void append_row_texts(const char *query, ArrayType *ids, const char *function, StringInfo json);

}  // namespace simjoin::pg
