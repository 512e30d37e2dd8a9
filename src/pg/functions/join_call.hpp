// The arguments that the functions for pairs and for neighbours share.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/base/arguments.hpp"
#include "pg/query/row_keys.hpp"

namespace simjoin::pg {

struct JoinCall {
  const char *function;
  const char *left_query;
  const char *right_query;  // NULL in a self-join
  RowMeasure measure;
  KeyArgument left_key, right_key;
  const char *tokenizer = nullptr;  // makes the sets where the queries return texts
};

}  // namespace simjoin::pg
