// Sets from text as SQL functions.
#include "pg/base/pg.hpp"

extern "C" {
#include "utils/builtins.h"
}

#include "pg/base/arguments.hpp"
#include "pg/base/text_sets.hpp"

namespace simjoin::pg {
namespace {

Datum shingles_of_call(FunctionCallInfo fcinfo, ShingleUnit unit, bool wide, const char *function) {
  const int32 size = PG_GETARG_INT32(1);
  check_count(size, INT_MAX, function, "size",
              unit == ShingleUnit::character ? "A shingle has at least 1 character."
                                             : "A shingle has at least 1 word.");
  return make_shingles(PG_GETARG_TEXT_PP(0), PG_GET_COLLATION(), unit, wide, size);
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_shingles);
Datum simjoin_shingles(PG_FUNCTION_ARGS) {
  return shingles_of_call(fcinfo, ShingleUnit::character, false, "shingles");
}

PG_FUNCTION_INFO_V1(simjoin_shingles64);
Datum simjoin_shingles64(PG_FUNCTION_ARGS) {
  return shingles_of_call(fcinfo, ShingleUnit::character, true, "shingles64");
}

PG_FUNCTION_INFO_V1(simjoin_word_shingles);
Datum simjoin_word_shingles(PG_FUNCTION_ARGS) {
  return shingles_of_call(fcinfo, ShingleUnit::word, false, "word_shingles");
}

PG_FUNCTION_INFO_V1(simjoin_word_shingles64);
Datum simjoin_word_shingles64(PG_FUNCTION_ARGS) {
  return shingles_of_call(fcinfo, ShingleUnit::word, true, "word_shingles64");
}
}

}  // namespace simjoin::pg
