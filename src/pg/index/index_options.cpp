#include "pg/index/index_options.hpp"

extern "C" {
#include "access/reloptions.h"
#include "common/base64.h"
#include "utils/memutils.h"
}

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/lookup/frequent_tokens.hpp"
#include "pg/base/arguments.hpp"
#include "pg/base/bound_symbol.hpp"
#include "pg/base/compat.hpp"
#include "pg/base/errors.hpp"

namespace simjoin::pg {
namespace {

constexpr const char *index_name = "similarity index";
constexpr double largest_threshold = 1e9;  // of an overlap

relopt_enum_elt_def measures[] = {{"jaccard", static_cast<int>(Measure::jaccard)},
                                  {"cosine", static_cast<int>(Measure::cosine)},
                                  {"dice", static_cast<int>(Measure::dice)},
                                  {"overlap", static_cast<int>(Measure::overlap)},
                                  {"overlap_coefficient", static_cast<int>(Measure::overlap_coefficient)},
                                  {"containment", static_cast<int>(Measure::containment)},
                                  {nullptr, 0}};

// An order takes longer to make than to look a set up.
constexpr size_t kept_orders = 4;
struct KeptOrder {
  std::string options;
  std::unique_ptr<TokenOrder> order;
};

// Returns the bytes that the text has in base 64, and their number; -1 if it is not base 64.
char *decode_bytes(const char *text, int *count) {
  const int length = static_cast<int>(std::strlen(text)), room = pg_b64_dec_len(length) + 1;
  auto *bytes = static_cast<char *>(palloc(static_cast<Size>(room)));
  *count = pg_b64_decode(text, length, reinterpret_cast<compat::Base64Byte *>(bytes), room);
  return bytes;
}

bool stands_for_tokens(const char *text) {
  int count;
  const char *bytes = decode_bytes(text, &count);
  return count >= 0 && call_cpp([&] {
           return decode_frequent_tokens({bytes, static_cast<size_t>(count)}).has_value();
         });
}

void check_frequent(const char *text) {
  if (text == nullptr || stands_for_tokens(text)) return;
  ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                  errmsg("%s: the parameter frequent does not stand for tokens", index_name),
                  errhint("Use what similarity_index_tokens() returns, or leave it out.")));
}

void check_options(void *parsed, relopt_value *, int) {
  const auto *options = static_cast<const IndexOptions *>(parsed);
  check_similarity(options->threshold, static_cast<Measure>(options->measure), index_name);
}

}  // namespace

bool is_of_set_class(Oid extract_query) {
  if (!OidIsValid(extract_query)) return false;
  char *symbol = bound_symbol(extract_query);
  if (symbol == nullptr) return false;
  const bool is = symbol == std::string_view("simjoin_index_extract_query");
  pfree(symbol);
  return is;
}

bool are_valid_options(const bytea *options) {
  if (options == nullptr) return true;
  const auto *set = reinterpret_cast<const IndexOptions *>(options);
  const Measure measure = static_cast<Measure>(set->measure);
  return is_similarity(set->threshold, measure) && set->bits >= least_entry_bits &&
         set->bits <= most_entry_bits &&
         (set->frequent == 0 || stands_for_tokens(reinterpret_cast<const char *>(set) + set->frequent));
}

Bounds indexed_bounds(const bytea *options) {
  if (options == nullptr) return {Measure::jaccard, default_index_threshold};
  const auto *set = reinterpret_cast<const IndexOptions *>(options);
  const auto measure = static_cast<Measure>(set->measure);
  // Of the sets that contain a query, any token may be the shared one, whatever the threshold.
  if (measure == Measure::containment) return {Measure::overlap, 1};
  return {measure, set->threshold};
}

int entry_bits(const bytea *options) {
  return options == nullptr ? most_entry_bits : reinterpret_cast<const IndexOptions *>(options)->bits;
}

TokenOrder *index_order(const bytea *options) {
  static KeptOrder kept[kept_orders];
  static size_t oldest = 0;
  const std::string_view key =
      options == nullptr ? std::string_view()
                         : std::string_view(reinterpret_cast<const char *>(options), VARSIZE(options));
  for (KeptOrder &order : kept)
    if (order.order != nullptr && order.options == key) return order.order.get();

  const auto *set = reinterpret_cast<const IndexOptions *>(options);
  const char *text =
      set != nullptr && set->frequent != 0 ? reinterpret_cast<const char *>(set) + set->frequent : "";
  const Bounds bounds = indexed_bounds(options);
  int count;
  char *bytes = decode_bytes(text, &count);
  KeptOrder &order = kept[oldest];
  call_cpp([&] {
    // The parameter was checked when the index was made.
    const auto frequent = decode_frequent_tokens({bytes, static_cast<size_t>(std::max(count, 0))}).value();
    // Where memory is short, the order that was there stays.
    KeptOrder made = {std::string(key), std::make_unique<TokenOrder>(
                                            TokenOrder::by_prints(frequent, bounds, entry_bits(options)))};
    order = std::move(made);
  });
  oldest = (oldest + 1) % kept_orders;
  pfree(bytes);
  return order.order.get();
}

char *frequent_parameter(TokenCounts *counts) {
  auto *bytes = own(CurrentMemoryContext, [&] {
    return std::make_unique<std::string>(encode_frequent_tokens(counts->most_frequent(most_stored_tokens)));
  });
  const int count = static_cast<int>(bytes->size()), room = pg_b64_enc_len(count);
  auto *text = static_cast<char *>(palloc(static_cast<Size>(room) + 1));
  const int length =
      pg_b64_encode(reinterpret_cast<const compat::Base64Byte *>(bytes->data()), count, text, room);
  if (length < 0) elog(ERROR, "%s: tokens cannot be encoded", index_name);
  text[length] = '\0';
  return text;
}

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_index_options);
Datum simjoin_index_options(PG_FUNCTION_ARGS) {
  auto *options = reinterpret_cast<local_relopts *>(PG_GETARG_POINTER(0));
  init_local_reloptions(options, sizeof(IndexOptions));
  add_local_enum_reloption(
      options, "measure", "measure of the threshold", measures, static_cast<int>(Measure::jaccard),
      "Measures are jaccard, cosine, dice, overlap, overlap_coefficient and containment.",
      offsetof(IndexOptions, measure));
  add_local_real_reloption(options, "threshold", "lowest threshold that the index serves",
                           default_index_threshold, 0, largest_threshold, offsetof(IndexOptions, threshold));
  add_local_string_reloption(options, "frequent", "the most frequent tokens", nullptr, check_frequent,
                             nullptr, offsetof(IndexOptions, frequent));
  add_local_int_reloption(options, "bits", "bits of an entry", most_entry_bits, least_entry_bits,
                          most_entry_bits, offsetof(IndexOptions, bits));
  register_reloptions_validator(options, check_options);
  PG_RETURN_VOID();
}
}

}  // namespace simjoin::pg
