#include "pg/functions/pair_query.hpp"

extern "C" {
#include "utils/builtins.h"
}

#include "pg/base/errors.hpp"
#include "pg/query/query_source.hpp"
#include "pg/query/result_rows.hpp"

namespace simjoin::pg {
namespace {

// Pairs whose keys have no numbers yet.
struct WaitingPairs {
  explicit WaitingPairs(MemoryCounter &memory) : left(memory), right(memory), similarities(memory) {}

  Buffer<int64_t> left;  // ids, or the numbers of keys
  Buffer<int64_t> right;
  Buffer<double> similarities;
};

struct PairReader {
  void start(TupleDesc columns);
  void take(const QueryRow &row);

  const char *function;
  const PairKeys &keys;
  MatchFinder *finder;    // of integers
  WaitingPairs *waiting;  // of keys, or nullptr
};

// Returns whether a column has ids of a side.
bool has_ids(const FormData_pg_attribute *column, RowKeys *keys) {
  if (keys == nullptr) return is_of_kind(column->atttypid, ColumnKind::id);
  check_key_column(keys, column);
  return true;
}

void PairReader::start(TupleDesc columns) {
  const bool has_similarity =
      columns->natts == 3 && is_of_kind(TupleDescAttr(columns, 2)->atttypid, ColumnKind::number);
  if (has_similarity && has_ids(TupleDescAttr(columns, 0), keys.left) &&
      has_ids(TupleDescAttr(columns, 1), keys.right))
    return;
  const char *hint = "Name the columns, as in SELECT a, b, similarity FROM pairs.";
  if (has_similarity)
    hint = psprintf("Tell the types of ids by both keys, as in left_key => NULL::%s, right_key => NULL::%s.",
                    format_type_be(TupleDescAttr(columns, 0)->atttypid),
                    format_type_be(TupleDescAttr(columns, 1)->atttypid));
  raise_columns(columns, function,
                keys.left == nullptr
                    ? "a query for pairs must return two ids (smallint, integer or bigint) and a similarity "
                      "(a number)"
                    : "a query for pairs must return two ids and a similarity (a number)",
                hint);
}

// Returns an id of a pair if it is an integer. Otherwise adds it to the keys.
int64 id_or_key(const QueryRow &row, int column, RowKeys *keys) {
  const Datum id = row.value(column);
  if (are_integers(keys)) return id_of(id, row.types[column]);
  add_key(keys, id);
  return 0;
}

void PairReader::take(const QueryRow &row) {
  const int64 left = id_or_key(row, 0, keys.left), right = id_or_key(row, 1, keys.right);
  const double similarity = row.number(2);
  call_cpp([&] {
    if (waiting == nullptr) return finder->add(left, right, similarity);
    waiting->left.push_back(left);
    waiting->right.push_back(right);
    waiting->similarities.push_back(similarity);
  });
}

// Hands the pairs to the finder, by the numbers of their keys.
void hand_over(WaitingPairs *waiting, const PairKeys &keys, MatchFinder *finder) {
  if (!are_integers(keys.left)) number_keys(keys.left, waiting->left.data());
  if (!are_integers(keys.right)) number_keys(keys.right, waiting->right.data());
  return_rows(waiting->left.size(), [&](size_t i) {
    call_cpp([&] { finder->add(waiting->left[i], waiting->right[i], waiting->similarities[i]); });
  });
  waiting->left.release();
  waiting->right.release();
  waiting->similarities.release();
}

}  // namespace

void read_pairs(const char *query, const char *function, const PairKeys &keys, MatchFinder *finder,
                MemoryCounter *memory, MemoryContext context) {
  WaitingPairs *waiting = nullptr;
  if (!keys.are_integers()) waiting = own(context, [&] { return std::make_unique<WaitingPairs>(*memory); });
  PairReader reader = {function, keys, finder, waiting};
  read_watched_query(query, &reader, function, context);
  if (waiting != nullptr) hand_over(waiting, keys, finder);
}

}  // namespace simjoin::pg
