#include "pg/report/row_texts.hpp"

extern "C" {
#include "access/detoast.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/json.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
}

#include <algorithm>
#include <cstring>

#include "pg/base/interrupts.hpp"
#include "pg/query/query_source.hpp"

namespace simjoin::pg {
namespace {

constexpr Size largest_blank = 1000;  // bytes; longer values are not looked at
constexpr const char *white_space = " \t\n\r\f\v";

// A type's output, and that of its elements where it is an array.
struct ValueOutput {
  FmgrInfo output;
  Oid element_type;  // InvalidOid where it is no array
  int16 length;
  bool by_value;
  char alignment;
};

// `by_element` says whether elements of an array are printed, and not the whole.
ValueOutput output_of(Oid type, bool by_element) {
  ValueOutput value = {};
  value.element_type = by_element ? get_base_element_type(type) : InvalidOid;
  const Oid printed = OidIsValid(value.element_type) ? value.element_type : type;
  if (OidIsValid(value.element_type))
    get_typlenbyvalalign(printed, &value.length, &value.by_value, &value.alignment);
  Oid function;
  bool varlena;
  getTypeOutputInfo(printed, &function, &varlena);
  fmgr_info(function, &value.output);
  return value;
}

// Appends the first characters of a text, and returns how many it has.
int append_text(const char *text, int most, StringInfo json) {
  const int bytes = static_cast<int>(std::strlen(text));
  const int shown = pg_mbcharcliplen(text, bytes, most);
  escape_json(json, shown == bytes ? text : pnstrdup(text, shown));
  return pg_mbstrlen_with_len(text, bytes);
}

// Appends the first elements of a set, and returns how many it has.
int append_elements(ValueOutput *type, Datum set, StringInfo json) {
  Datum *elements;
  bool *nulls;
  int count;
  deconstruct_array(DatumGetArrayTypeP(set), type->element_type, type->length, type->by_value,
                    type->alignment, &elements, &nulls, &count);
  appendStringInfoChar(json, '[');
  for (int i = 0; i < std::min(count, most_elements); ++i) {
    if (i > 0) appendStringInfoChar(json, ',');
    if (nulls[i])
      appendStringInfoString(json, "null");
    else
      append_text(OutputFunctionCall(&type->output, elements[i]), most_element_characters, json);
  }
  appendStringInfoChar(json, ']');
  return count;
}

int compare_ids(const void *a, const void *b) {
  return std::strcmp(*static_cast<char *const *>(a), *static_cast<char *const *>(b));
}

// Reads the rows. What one needs is freed before the next.
class TextReader {
 public:
  TextReader(ArrayType *ids, MemoryContext row_context) : row_context_(row_context) {
    Datum *elements;
    bool *nulls;
    deconstruct_array(ids, TEXTOID, -1, false, TYPALIGN_INT, &elements, &nulls, &count_);
    ids_ = static_cast<char **>(palloc(sizeof(char *) * static_cast<Size>(count_ + 1)));
    for (int i = 0; i < count_; ++i) ids_[i] = TextDatumGetCString(elements[i]);
    qsort(ids_, static_cast<size_t>(count_), sizeof(char *), compare_ids);
    initStringInfo(&texts_);
  }

  // The query runs once more, and may return other columns than before.
  void start(TupleDesc columns) {
    if (columns->natts < 2)
      ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                      errmsg("similarity_report: the query returns fewer columns than before"),
                      errhint("Leave out functions that change settings.")));
    id_ = output_of(TupleDescAttr(columns, 0)->atttypid, false);
    value_ = output_of(TupleDescAttr(columns, 1)->atttypid, true);
    has_length_ = TupleDescAttr(columns, 1)->attlen == -1;
  }

  void take(const QueryRow &row) {
    ++rows_;
    MemoryContext context = MemoryContextSwitchTo(row_context_);
    Datum value;
    const bool known = row.get(1, &value);
    if (!known)
      ++nulls_;
    else if (is_blank(value))
      ++blank_;
    char *id = OutputFunctionCall(&id_.output, row.key());
    if (bsearch(&id, ids_, static_cast<size_t>(count_), sizeof(char *), compare_ids) != nullptr)
      append(id, known, value);
    MemoryContextSwitchTo(context);
    MemoryContextReset(row_context_);
  }

  void append_to(StringInfo json) const {
    appendStringInfo(json,
                     "\"rows\":" INT64_FORMAT ",\"nulls\":" INT64_FORMAT ",\"blank\":" INT64_FORMAT
                     ",\"texts\":[%s]",
                     rows_, nulls_, blank_, texts_.data);
  }

 private:
  bool is_blank(Datum value) {
    if (has_length_ && toast_raw_datum_size(value) > largest_blank) return false;
    if (OidIsValid(value_.element_type)) {
      const ArrayType *set = DatumGetArrayTypeP(value);
      return ArrayGetNItems(ARR_NDIM(set), ARR_DIMS(set)) == 0;
    }
    const char *text = OutputFunctionCall(&value_.output, value);
    return text[std::strspn(text, white_space)] == '\0';
  }

  void append(const char *id, bool known, Datum value) {
    if (texts_.len > 0) appendStringInfoChar(&texts_, ',');
    appendStringInfoChar(&texts_, '[');
    escape_json(&texts_, id);
    appendStringInfoChar(&texts_, ',');
    int size = 0;
    if (!known)
      appendStringInfoString(&texts_, "null");
    else if (OidIsValid(value_.element_type))
      size = append_elements(&value_, value, &texts_);
    else
      size = append_text(OutputFunctionCall(&value_.output, value), most_characters, &texts_);
    appendStringInfo(&texts_, ",%d]", size);
  }

  MemoryContext row_context_;
  char **ids_;  // sorted
  int count_;
  StringInfoData texts_;
  int64 rows_ = 0, nulls_ = 0, blank_ = 0;
  ValueOutput id_ = {}, value_ = {};
  bool has_length_ = false;  // values have one of their own
};

}  // namespace

void append_row_texts(const char *query, ArrayType *ids, const char *function, StringInfo json) {
  MemoryContext row_context =
      AllocSetContextCreate(CurrentMemoryContext, "row of a report", ALLOCSET_DEFAULT_SIZES);
  TextReader reader(ids, row_context);
  read_query(query, &reader, function);
  reader.append_to(json);
  MemoryContextDelete(row_context);
}

}  // namespace simjoin::pg
