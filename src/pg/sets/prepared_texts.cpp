#include "pg/sets/prepared_texts.hpp"

extern "C" {
#include "mb/pg_wchar.h"
#include "utils/memutils.h"
}

#include <cstring>
#include <memory>

#include "pg/base/errors.hpp"
#include "pg/computation/steps.hpp"

namespace simjoin::pg {
namespace {

// Bytes that are prepared between two interrupt checks. Runs of marks, which have to be ordered, take long.
constexpr size_t prepared_bytes = 1 << 15;
// Texts of up to this many bytes are prepared in memory that the session keeps.
constexpr size_t most_kept = 1 << 14;

// Returns the prepared text in the memory context.
std::string_view prepare_with(PreparedText *prepared, std::string_view text, const Preparation &preparation,
                              MemoryContext context) {
  prepared->begin(preparation, text);
  run_steps([&] { return !prepared->step(prepared_bytes); });
  const std::string_view result = prepared->text();
  if (!AllocSizeIsValid(result.size() + VARHDRSZ))
    ereport(ERROR,
            (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
             errmsg("a prepared text of %zu bytes is too large", result.size()), errhint("Split the text.")));
  auto *copy = static_cast<char *>(MemoryContextAlloc(context, result.size() + 1));
  std::memcpy(copy, result.data(), result.size());
  return {copy, result.size()};
}

}  // namespace

void check_preparation(const Preparation &preparation, const char *tokenizer) {
  if (!preparation.any() || GetDatabaseEncoding() == PG_UTF8) return;
  ereport(
      ERROR,
      (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
       errmsg("tokenizer \"%s\" needs a database whose encoding is UTF8", tokenizer),
       errhint("Leave out nfkc, unaccent and casefold, and prepare the texts in the query, by lower() for "
               "example.")));
}

std::string_view prepare_text(std::string_view text, const Preparation &preparation) {
  static PreparedText kept;
  MemoryContext result_context = CurrentMemoryContext;
  if (text.size() <= most_kept) return prepare_with(&kept, text, preparation, result_context);
  MemoryContext context = AllocSetContextCreate(result_context, "prepared text", ALLOCSET_SMALL_SIZES);
  auto *prepared = own(context, [] { return std::make_unique<PreparedText>(); });
  const std::string_view result = prepare_with(prepared, text, preparation, result_context);
  MemoryContextDelete(context);
  return result;
}

}  // namespace simjoin::pg
