#include "pg/query/row_columns.hpp"

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
}

#include <cstring>

#include "pg/base/arguments.hpp"
#include "pg/query/query_source.hpp"

namespace simjoin::pg {
namespace {

bool is_named(Oid type, const char *name) {
  HeapTuple tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
  if (!HeapTupleIsValid(tuple)) return false;
  const bool result =
      std::strcmp(NameStr(reinterpret_cast<Form_pg_type>(GETSTRUCT(tuple))->typname), name) == 0;
  ReleaseSysCache(tuple);
  return result;
}

// Returns the type of a column without domains, or InvalidOid where there is no such column.
Oid type_of(TupleDesc columns, int column) {
  return column < columns->natts ? getBaseType(TupleDescAttr(columns, column)->atttypid) : InvalidOid;
}

// Returns how a value of the type becomes a set, as a hint.
const char *hint_for_type(Oid type, bool takes_tokenizers) {
  if (is_text_type(type))
    return takes_tokenizers
               ? "Tell how a text becomes a set, as in tokens => 'shingles(5)' or tokens => 'words(english)'."
               : "A set of the pieces or words of a text is made as in SELECT id, shingles(body) FROM "
                 "documents or SELECT id, string_to_array(body, ' ') FROM documents.";
  switch (type) {
    case INT2ARRAYOID:
      return "Cast the sets, as in SELECT id, tokens::integer[] FROM documents.";
    case NUMERICARRAYOID:
      return "Cast sets of whole numbers, as in SELECT id, tokens::bigint[] FROM documents. As "
             "tokens::text[], 1 and 1.0 are different.";
    case TSVECTOROID:
      return "The set of lexemes is made as in SELECT id, tsvector_to_array(body) FROM documents.";
    case JSONBOID:
      return "A set of the elements of an array is made as in SELECT id, ARRAY(SELECT "
             "jsonb_array_elements_text(tokens)) FROM documents.";
    case JSONOID:
      return "A set of the elements of an array is made as in SELECT id, ARRAY(SELECT "
             "json_array_elements_text(tokens)) FROM documents.";
  }
  if (is_named(type, "hstore"))
    return "A set of the keys is made as in SELECT id, akeys(tokens) FROM documents.";
  return "Name the columns and cast where necessary, as in SELECT id, tokens::text[] FROM documents.";
}

// Returns whether the ids are of another type than integers, and no key tells which.
bool has_other_ids(TupleDesc columns, const ColumnCheck &check) {
  return check.keys == nullptr && TypeCategory(type_of(columns, 0)) != TYPCATEGORY_NUMERIC;
}

const char *hint_for_ids(TupleDesc columns, const ColumnCheck &check) {
  if (check.key_name != nullptr)
    return psprintf(
        "Tell the type of the ids by the argument %s, as in %s => NULL::%s. The arguments before it must be "
        "given, too.",
        check.key_name, check.key_name, format_type_be(TupleDescAttr(columns, 0)->atttypid));
  return "Give rows with another key a number, as in SELECT row_number() OVER (ORDER BY key), tokens FROM "
         "documents, or a column GENERATED ALWAYS AS IDENTITY.";
}

// Errors: a query does not return an id and `what`. `wanted` says so with an example.
[[noreturn]] void raise_row_columns(TupleDesc columns, const ColumnCheck &check, const char *what,
                                    const char *wanted, const char *hint) {
  if (columns->natts > 2) hint = psprintf("Select nothing but %s.", wanted);
  raise_columns(columns, check.function,
                psprintf("a query must return two columns, an id%s and %s",
                         check.keys == nullptr ? " (smallint, integer or bigint)" : "", what),
                hint);
}

SetMaker *check_text_column(TupleDesc columns, const ColumnCheck &check, const char *tokenizer,
                            MemoryContext context) {
  const Oid type = type_of(columns, 1);
  const bool are_texts = is_text_type(type);
  if (columns->natts == 2 && are_texts && check_id_column(columns, check.keys))
    return create_set_maker(tokenizer, type, TupleDescAttr(columns, 1)->attcollation, context);
  TokenType token_type;
  const char *hint = "Name the columns and cast where necessary, as in SELECT id, body::text FROM documents.";
  if (are_texts && has_other_ids(columns, check)) hint = hint_for_ids(columns, check);
  if (token_type_of(type, &token_type) || has_lexemes(type))
    hint = "Leave tokens out: the query returns sets.";
  raise_row_columns(columns, check, "a text, because of the argument tokens",
                    "an id and a text, as in SELECT id, body FROM documents", hint);
}

}  // namespace

bool check_id_column(TupleDesc columns, RowKeys *keys) {
  if (keys != nullptr) check_key_column(keys, TupleDescAttr(columns, 0));
  return keys != nullptr || is_id_type(TupleDescAttr(columns, 0)->atttypid);
}

TokenType check_row_columns(TupleDesc columns, const ColumnCheck &check) {
  TokenType token_type;
  const Oid type = type_of(columns, 1);
  const bool are_sets = token_type_of(type, &token_type);
  if (columns->natts == 2 && are_sets && check_id_column(columns, check.keys)) return token_type;
  raise_row_columns(
      columns, check, "a set (integer[], bigint[] or text[])",
      "an id and a set, as in SELECT id, tokens FROM documents",
      (are_sets || (check.takes_tokenizers && has_lexemes(type))) && has_other_ids(columns, check)
          ? hint_for_ids(columns, check)
          : hint_for_type(type, check.takes_tokenizers));
}

SetColumn check_set_column(TupleDesc columns, const ColumnCheck &check, const char *tokenizer,
                           MemoryContext context) {
  SetMaker *maker = nullptr;
  if (tokenizer != nullptr)
    maker = check_text_column(columns, check, tokenizer, context);
  else if (columns->natts == 2 && has_lexemes(type_of(columns, 1)) && check_id_column(columns, check.keys))
    maker = create_lexeme_maker(context);
  if (maker != nullptr) return {token_type_of(*maker), maker};
  return {check_row_columns(columns, check), nullptr};
}

SetColumn check_weighted_columns(TupleDesc columns, const ColumnCheck &check, const char *tokenizer) {
  if (tokenizer != nullptr)
    raise_argument(
        check.function, "tokens", tokenizer,
        "With weighted_jaccard and weighted_cosine queries return sets and their weights. Leave tokens out.");
  TokenType token_type;
  const bool are_sets = columns->natts == 3 && token_type_of(type_of(columns, 1), &token_type) &&
                        is_of_kind(type_of(columns, 2), ColumnKind::reals);
  if (are_sets && check_id_column(columns, check.keys)) return {token_type, nullptr};
  raise_columns(
      columns, check.function,
      psprintf("a query must return three columns, an id%s, a set (integer[], bigint[] or text[]) and "
               "its weights (real[])",
               check.keys == nullptr ? " (smallint, integer or bigint)" : ""),
      are_sets && has_other_ids(columns, check)
          ? hint_for_ids(columns, check)
          : "Name the columns and cast where necessary, as in SELECT id, tokens::text[], "
            "weights::real[] FROM documents. The functions tf_idf and idf make terms and weights.");
}

}  // namespace simjoin::pg
