#include "pg/sets/tokenizers.hpp"

extern "C" {
#include "catalog/namespace.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/varlena.h"
}

#include "core/text/tokenizer.hpp"
#include "pg/base/bound_symbol.hpp"
#include "pg/base/compat.hpp"
#include "pg/sets/prepared_texts.hpp"
#include "pg/sets/text_sets.hpp"
#include "pg/sets/word_bags.hpp"

namespace simjoin::pg {

struct SetMaker {
  bool of_lexemes;  // of a tsvector; the rest is about texts
  Tokenizer tokenizer;
  Oid configuration;  // of words
  bool blank_padded;  // texts have blanks at their end that do not belong to them
  Oid collation;
};

namespace {

// Returns the text search configuration of this name, which "simple" stands for where it is empty.
Oid configuration_of(std::string_view name) {
  List *names =
      name.empty()
          ? list_make2(makeString(pstrdup("pg_catalog")), makeString(pstrdup("simple")))
          : textToQualifiedNameList(cstring_to_text_with_len(name.data(), static_cast<int>(name.size())));
  const Oid configuration = get_ts_config_oid(names, true);
  if (!OidIsValid(configuration))
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
                    errmsg("text search configuration \"%s\" does not exist", NameListToString(names)),
                    errhint("Name one of pg_ts_config, as in words(english).")));
  return configuration;
}

// Returns the bytes of a text, which is detoasted.
std::string_view bytes_of(Datum value) {
  const text *input = DatumGetTextPP(value);
  return {VARDATA_ANY(input), VARSIZE_ANY_EXHDR(input)};
}

bool has_options(const Tokenizer &tokenizer) {
  return tokenizer.multi || tokenizer.preparation().any();
}

// Returns the words of a text as a text[]. A function in the query may have dropped the configuration.
Datum words_of_text(Oid configuration, Datum value, const Tokenizer &tokenizer) {
  if (!SearchSysCacheExists1(TSCONFIGOID, ObjectIdGetDatum(configuration)))
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("the text search configuration was dropped meanwhile")));
  const Preparation preparation = tokenizer.preparation();
  if (preparation.any()) {
    const std::string_view prepared = prepare_text(bytes_of(value), preparation);
    value = PointerGetDatum(cstring_to_text_with_len(prepared.data(), static_cast<int>(prepared.size())));
  }
  if (tokenizer.multi) return make_word_bag(configuration, bytes_of(value));
  return DirectFunctionCall1(tsvector_to_array,
                             DirectFunctionCall2(to_tsvector_byid, ObjectIdGetDatum(configuration), value));
}

[[noreturn]] void raise_unknown(const char *tokenizer) {
  ereport(
      ERROR,
      (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION), errmsg("unknown tokenizer: \"%s\"", tokenizer),
       errhint(
           "The tokenizers are alnum, qgrams(3), shingles(5), word_shingles(3), words, and words(english), "
           "with "
           "a text search configuration. alnum64, qgrams64, shingles64 and word_shingles64 have hashes of 64 "
           "bits. Options may follow, as in shingles(5, multi, nfkc, unaccent, casefold).")));
  pg_unreachable();
}

[[noreturn]] void raise_argument_of(const char *tokenizer, std::string_view argument) {
  ereport(
      ERROR,
      (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
       errmsg("tokenizer \"%s\" cannot have \"%s\"", tokenizer, pnstrdup(argument.data(), argument.size())),
       errhint("First comes what a tokenizer may have: qgrams a size from 1 to %d, shingles and "
               "word_shingles one from 1 on, words a text search configuration. The options multi, nfkc, "
               "unaccent and casefold may follow, each once, after commas.",
               longest_gram)));
  pg_unreachable();
}

// Returns the tokenizer of this name. Errors where there is none.
Tokenizer tokenizer_of(const char *name) {
  std::string_view wrong;
  const auto tokenizer = parse_tokenizer(name, &wrong);
  if (!tokenizer && !wrong.empty()) raise_argument_of(name, wrong);
  if (!tokenizer) raise_unknown(name);
  return *tokenizer;
}

// Returns the value of type tokenizer that names it.
text *name_of_tokenizer(const Tokenizer &tokenizer) {
  auto *name = static_cast<char *>(palloc(tokenizer.configuration.size() + longest_canonical_name));
  text *value = cstring_to_text_with_len(name, static_cast<int>(write_canonical_name(tokenizer, name)));
  pfree(name);
  return value;
}

Expr *call(Oid function, Oid type, List *arguments, Oid collation, Oid input_collation) {
  return reinterpret_cast<Expr *>(
      makeFuncExpr(function, type, arguments, collation, input_collation, COERCE_EXPLICIT_CALL));
}

// Returns the function that makes the sets of text and size, NULL where there is none.
const char *function_of(const Tokenizer &tokenizer) {
  if (has_options(tokenizer)) return nullptr;
  switch (tokenizer.unit) {
    case ShingleUnit::character:
      return tokenizer.wide ? "shingles64" : "shingles";
    case ShingleUnit::word:
      return tokenizer.wide ? "word_shingles64" : "word_shingles";
    case ShingleUnit::run:
    case ShingleUnit::gram:
      break;
  }
  return nullptr;
}

Const *tokenizer_constant(const Tokenizer &tokenizer, Oid tokenizer_type) {
  return makeConst(tokenizer_type, -1, InvalidOid, -1, PointerGetDatum(name_of_tokenizer(tokenizer)), false,
                   false);
}

Expr *shingles_expression(const SetMaker &maker, Expr *text, Oid schema, Oid tokenizer_type) {
  const Tokenizer &tokenizer = maker.tokenizer;
  const Oid type = tokenizer.wide ? INT8ARRAYOID : INT4ARRAYOID;
  const char *name = function_of(tokenizer);
  const Oid argument = name != nullptr ? Oid{INT4OID} : tokenizer_type;
  if (name == nullptr) name = tokenizer.wide ? "token_set64" : "token_set";
  const Oid function = find_function(schema, name, {TEXTOID, argument}, type);
  if (!OidIsValid(function)) return nullptr;
  Const *how = argument == INT4OID ? makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
                                               Int32GetDatum(tokenizer.size), false, true)
                                   : tokenizer_constant(tokenizer, tokenizer_type);
  return call(function, type, list_make2(text, how), InvalidOid, maker.collation);
}

Expr *words_expression(const SetMaker &maker, Expr *text, Oid schema, Oid tokenizer_type) {
  Const *configuration = makeConst(REGCONFIGOID, -1, InvalidOid, sizeof(Oid),
                                   ObjectIdGetDatum(maker.configuration), false, true);
  if (has_options(maker.tokenizer)) {
    Tokenizer options = maker.tokenizer;
    options.configuration = {};
    const Oid function =
        find_function(schema, "word_set", {TEXTOID, REGCONFIGOID, tokenizer_type}, TEXTARRAYOID);
    if (!OidIsValid(function)) return nullptr;
    return call(function, TEXTARRAYOID,
                list_make3(text, configuration, tokenizer_constant(options, tokenizer_type)),
                DEFAULT_COLLATION_OID, maker.collation);
  }
  if (!compat::may_execute(F_TO_TSVECTOR_REGCONFIG_TEXT) || !compat::may_execute(F_TSVECTOR_TO_ARRAY))
    return nullptr;
  Expr *vector = call(F_TO_TSVECTOR_REGCONFIG_TEXT, TSVECTOROID, list_make2(configuration, text), InvalidOid,
                      maker.collation);
  return call(F_TSVECTOR_TO_ARRAY, TEXTARRAYOID, list_make1(vector), DEFAULT_COLLATION_OID, InvalidOid);
}

TokenType token_type_of(const Tokenizer &tokenizer) {
  if (!tokenizer.shingled) return TokenType::text;
  return tokenizer.wide ? TokenType::int8 : TokenType::int4;
}

// Returns a maker of sets by the tokenizer, without a configuration.
SetMaker *make_maker(const char *tokenizer, Oid type, Oid collation, MemoryContext context) {
  auto *maker = static_cast<SetMaker *>(MemoryContextAllocZero(context, sizeof(SetMaker)));
  maker->tokenizer = tokenizer_of(MemoryContextStrdup(context, tokenizer));
  check_preparation(maker->tokenizer.preparation(), tokenizer);
  maker->blank_padded = getBaseType(type) == BPCHAROID;
  maker->collation = collation;
  return maker;
}

}  // namespace

bool is_text_type(Oid type) {
  const Oid base = OidIsValid(type) ? getBaseType(type) : InvalidOid;
  return base == BPCHAROID || (OidIsValid(base) && IsBinaryCoercible(base, TEXTOID));
}

bool has_lexemes(Oid type) {
  return OidIsValid(type) && getBaseType(type) == TSVECTOROID;
}

SetMaker *create_set_maker(const char *tokenizer, Oid type, Oid collation, MemoryContext context) {
  SetMaker *maker = make_maker(tokenizer, type, collation, context);
  if (!maker->tokenizer.shingled) maker->configuration = configuration_of(maker->tokenizer.configuration);
  return maker;
}

SetMaker *create_word_maker(const char *tokenizer, Oid configuration, MemoryContext context) {
  SetMaker *maker = make_maker(tokenizer, TEXTOID, DEFAULT_COLLATION_OID, context);
  if (maker->tokenizer.shingled || !maker->tokenizer.configuration.empty()) return nullptr;
  maker->configuration = configuration;
  return maker;
}

SetMaker *create_lexeme_maker(MemoryContext context) {
  auto *maker = static_cast<SetMaker *>(MemoryContextAllocZero(context, sizeof(SetMaker)));
  maker->of_lexemes = true;
  return maker;
}

text *tokenizer_name(const SetMaker &maker) {
  return name_of_tokenizer(maker.tokenizer);
}

TokenType token_type_of(const SetMaker &maker) {
  return maker.of_lexemes ? TokenType::text : token_type_of(maker.tokenizer);
}

TokenType token_type_of_tokenizer(const char *tokenizer) {
  return token_type_of(tokenizer_of(tokenizer));
}

const Tokenizer &tokenizer_of(const SetMaker &maker, Oid *configuration) {
  *configuration = maker.configuration;
  return maker.tokenizer;
}

Datum make_set(const SetMaker &maker, Datum value) {
  if (maker.of_lexemes) return DirectFunctionCall1(tsvector_to_array, value);
  if (maker.blank_padded) value = DirectFunctionCall1(rtrim1, value);
  if (!maker.tokenizer.shingled) return words_of_text(maker.configuration, value, maker.tokenizer);
  std::string_view text = bytes_of(value);
  const Preparation preparation = maker.tokenizer.preparation();
  if (!preparation.any()) return make_shingles(text, maker.collation, maker.tokenizer);
  text = prepare_text(text, preparation);
  const Datum set = make_shingles(text, maker.collation, maker.tokenizer);
  pfree(const_cast<char *>(text.data()));
  return set;
}

Expr *set_expression(const SetMaker &maker, Expr *text, Oid schema, Oid tokenizer_type) {
  return maker.tokenizer.shingled ? shingles_expression(maker, text, schema, tokenizer_type)
                                  : words_expression(maker, text, schema, tokenizer_type);
}

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_tokenizer_in);
Datum simjoin_tokenizer_in(PG_FUNCTION_ARGS) {
  return PointerGetDatum(name_of_tokenizer(tokenizer_of(PG_GETARG_CSTRING(0))));
}

PG_FUNCTION_INFO_V1(simjoin_tokenizer_out);
Datum simjoin_tokenizer_out(PG_FUNCTION_ARGS) {
  PG_RETURN_CSTRING(TextDatumGetCString(PG_GETARG_DATUM(0)));
}

PG_FUNCTION_INFO_V1(simjoin_tokenizer_recv);
Datum simjoin_tokenizer_recv(PG_FUNCTION_ARGS) {
  const char *name = TextDatumGetCString(textrecv(fcinfo));
  return PointerGetDatum(name_of_tokenizer(tokenizer_of(name)));
}

PG_FUNCTION_INFO_V1(simjoin_tokenizer_send);
Datum simjoin_tokenizer_send(PG_FUNCTION_ARGS) {
  return textsend(fcinfo);
}
}

}  // namespace simjoin::pg
