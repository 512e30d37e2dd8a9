// Streams of documents: clusters that are kept in a table from one call to the next.
#include "pg/base/pg.hpp"

extern "C" {
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/snapmgr.h"
#include "utils/varlena.h"
}

#include <algorithm>
#include <iterator>

#include "pg/base/errors.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/base/named_arguments.hpp"
#include "pg/base/relation_names.hpp"
#include "pg/base/statements.hpp"
#include "pg/clusters/cluster_documents.hpp"
#include "pg/query/query_source.hpp"
#include "pg/rows/row_context.hpp"
#include "pg/sets/arrays.hpp"
#include "pg/sets/terms.hpp"

namespace simjoin::pg {
namespace {

// The columns of a stream's table, in the order in which they are read and written.
enum Column {
  Column_cluster,
  Column_documents,
  Column_terms,
  Column_sums,
  Column_is_open,
  Column_pending_terms,
  Column_pending_sums,
  Column_merged_into,  // tables of version 0.1.0 have no such column
  Column_Count
};
constexpr const char *column_names[Column_Count] = {
    "cluster", "documents", "terms", "sums", "is_open", "pending_terms", "pending_sums", "merged_into"};

// The largest number of a cluster in a table, so that there is room for those that a call adds.
constexpr int64 largest_number = int64{1} << 62;

// Takes the clusters of a stream's table.
struct ClusterReader {
  void start(TupleDesc) {}  // the query is ours
  void take(const QueryRow &row);

  Clustering *clustering;
};

// Returns the type of a column of the table, InvalidOid where the table has no column of this name.
Oid column_type(Oid table, const char *name) {
  const AttrNumber number = get_attnum(table, name);
  return number == InvalidAttrNumber ? InvalidOid : get_atttype(table, number);
}

// Returns whether the table has room for what clusters have become part of.
bool can_merge(Oid table) {
  return column_type(table, column_names[Column_merged_into]) == INT8OID;
}

// Returns the type of a stream's terms. Errors where the table is no stream's.
TokenType check_table(Oid table, const char *function) {
  const Oid terms = column_type(table, column_names[Column_terms]);
  const Oid expected[] = {INT8OID, INT8OID, terms, INT8ARRAYOID, BOOLOID, terms, INT8ARRAYOID};
  static_assert(std::size(expected) == Column_merged_into);
  TokenType type;
  bool valid = get_rel_relkind(table) == RELKIND_RELATION && token_type_of(terms, &type);
  for (int i = 0; valid && i < Column_merged_into; ++i)
    valid = column_type(table, column_names[i]) == expected[i];
  if (!valid)
    ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                    errmsg("%s: %s is not the table of a stream", function, relation_name(table)),
                    errhint("Make one with cluster_stream_create.")));
  return type;
}

// Keeps other calls away until the transaction ends, with the caller's rights. Errors where the transaction
// has one snapshot for all its statements: it may not see what another call has stored since.
void lock_table(Oid table, const char *function) {
  execute_statement(psprintf("LOCK TABLE ONLY %s IN SHARE ROW EXCLUSIVE MODE", relation_name(table)));
  Relation relation = relation_open(table, AccessShareLock);
  // Its name may be another table's since.
  if (!CheckRelationLockedByMe(relation, ShareRowExclusiveLock, true))
    ereport(ERROR, (errcode(ERRCODE_OBJECT_IN_USE),
                    errmsg("%s: the table of the stream has been renamed meanwhile", function),
                    errhint("Call the function again.")));
  const bool created_here = relation->rd_createSubid != InvalidSubTransactionId;
  relation_close(relation, NoLock);
  if (IsolationUsesXactSnapshot() && !created_here)
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
             errmsg("%s: a stream cannot be continued in a transaction of isolation level REPEATABLE READ "
                    "or SERIALIZABLE",
                    function),
             errhint("Continue it in a transaction of isolation level READ COMMITTED.")));
}

// The error is not one of corruption, since the owner may change the table.
[[noreturn]] void raise_damaged(const Clustering &clustering, int64 number) {
  ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                  errmsg("%s: the row of cluster " INT64_FORMAT " is not one that the function has stored",
                         clustering.function, number),
                  errhint("Rows of the table may be deleted, but not changed.")));
  pg_unreachable();
}

// Takes a cluster that is part of another one, whose row may have been deleted.
void take_merged(Clustering *clustering, int64 number, const Datum *values, const bool *present) {
  const int64 survivor = DatumGetInt64(values[Column_merged_into]);
  const auto is_empty = [&](int column) {
    return present[column] && ArrayGetNItems(ARR_NDIM(DatumGetArrayTypeP(values[column])),
                                             ARR_DIMS(DatumGetArrayTypeP(values[column]))) == 0;
  };
  if (survivor < 1 || survivor >= number || DatumGetInt64(values[Column_documents]) != 0 ||
      !is_empty(Column_terms) || !is_empty(Column_sums) || DatumGetBool(values[Column_is_open]) ||
      present[Column_pending_terms])
    raise_damaged(*clustering, number);
  const GrowingArray<int64> &numbers = clustering->numbers;
  const int64 *at = std::lower_bound(numbers.begin(), numbers.end(), survivor);
  const bool is_there = at != numbers.end() && *at == survivor;
  const auto cluster = static_cast<uint32_t>(is_there ? at - numbers.begin() : numbers.size());
  call_cpp([&] { clustering->clusters->load_merged(cluster); });
}

// A sum of vectors as it is stored.
struct StoredSum {
  TermSum *terms;
  size_t count;
};

// Errors where there are more than `most` terms.
StoredSum read_sum(const Clustering &clustering, int64 number, Datum terms, Datum sums, size_t most) {
  const SetView set = view_set(terms, clustering.function);
  ArrayType *array = DatumGetArrayTypeP(sums);
  const int count = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
  if (ARR_NDIM(array) > 1 || array_contains_nulls(array) || static_cast<uint32_t>(count) != set.count ||
      set.count > most)
    raise_damaged(clustering, number);
  const auto *values = reinterpret_cast<const int64 *>(ARR_DATA_PTR(array));
  for (int i = 0; i < count; ++i)
    if (values[i] < 1 || static_cast<uint64_t>(values[i]) > largest_sum) raise_damaged(clustering, number);
  auto *result = allocate<TermSum>(set.count);
  number_terms(&clustering.clusters->terms(), set, [&](uint32_t i, uint32_t id) {
    result[i] = {id, static_cast<uint64_t>(values[i])};
  });
  return {result, set.count};
}

void ClusterReader::take(const QueryRow &row) {
  check_interrupts();
  Datum values[Column_Count];
  bool present[Column_Count];
  for (int i = 0; i < Column_Count; ++i) present[i] = row.get(i, &values[i]);
  const int64 number = present[Column_cluster] ? DatumGetInt64(values[Column_cluster]) : 0;
  const int64 last = clustering->numbers.empty() ? 0 : clustering->numbers.back();
  const bool pending = present[Column_pending_terms];
  const bool merged = present[Column_merged_into];
  if (number <= last || number > largest_number || !present[Column_documents] ||
      DatumGetInt64(values[Column_documents]) > static_cast<int64>(most_documents) ||
      (!merged && DatumGetInt64(values[Column_documents]) < 1) || !present[Column_terms] ||
      !present[Column_sums] || !present[Column_is_open] || pending != present[Column_pending_sums])
    raise_damaged(*clustering, number);
  in_row_context(clustering->row_context, [&] {
    if (merged) {
      take_merged(clustering, number, values, present);
      return;
    }
    const StoredSum sum =
        read_sum(*clustering, number, values[Column_terms], values[Column_sums], max_centroid_terms);
    StoredSum pending_sum = {nullptr, 0};
    if (pending)
      pending_sum =
          read_sum(*clustering, number, values[Column_pending_terms], values[Column_pending_sums], SIZE_MAX);
    call_cpp([&] {
      clustering->clusters->load(static_cast<uint64_t>(DatumGetInt64(values[Column_documents])),
                                 {sum.terms, sum.count}, DatumGetBool(values[Column_is_open]),
                                 {pending_sum.terms, pending_sum.count});
    });
  });
  clustering->numbers.append(number);
}

// Reads the clusters that the stream has now.
void load_clusters(Clustering *clustering, Oid table) {
  ClusterReader reader = {clustering};
  PushActiveSnapshot(GetTransactionSnapshot());
  read_query(psprintf("SELECT cluster, documents, terms, sums, is_open, pending_terms, pending_sums, %s "
                      "FROM ONLY %s ORDER BY cluster",
                      can_merge(table) ? "merged_into" : "CAST(NULL AS bigint)", relation_name(table)),
             &reader, clustering->function);
  PopActiveSnapshot();
}

// Sets the values of two columns, terms and sums.
void fill_sum(const Clustering &clustering, const TermSum *sums, size_t count, Datum *terms, Datum *values) {
  *terms = PointerGetDatum(make_term_array(clustering.clusters->terms(), clustering.term_type, count,
                                           [&](size_t i) { return sums[i].term; }));
  const auto array = make_array<int64>(count);
  for (size_t i = 0; i < count; ++i) array.elements[i] = static_cast<int64>(sums[i].sum);
  *values = array.datum();
}

// Sets the values of a cluster's row. `nulls` gets ' ' or 'n' for each value, as SPI needs it.
void fill_row(const Clustering &clustering, uint32_t cluster, Datum *values, char *nulls) {
  const DocumentClusters &clusters = *clustering.clusters;
  values[Column_cluster] = Int64GetDatum(cluster_number(clustering, cluster));
  values[Column_documents] = Int64GetDatum(static_cast<int64>(clusters.documents_of(cluster)));
  values[Column_is_open] = BoolGetDatum(clusters.is_open(cluster));
  const size_t count = clusters.sum_size(cluster), pending_count = clusters.pending_size(cluster);
  auto *sums = allocate<TermSum>(count + pending_count);
  call_cpp([&] {
    clusters.copy_sum(cluster, sums);
    clusters.copy_pending(cluster, sums + count);
  });
  fill_sum(clustering, sums, count, &values[Column_terms], &values[Column_sums]);
  const uint32_t survivor = clusters.survivor_of(cluster);
  values[Column_merged_into] = Int64GetDatum(cluster_number(clustering, survivor));
  nulls[Column_merged_into] = survivor == cluster ? 'n' : ' ';
  nulls[Column_pending_terms] = nulls[Column_pending_sums] = pending_count == 0 ? 'n' : ' ';
  if (pending_count > 0)
    fill_sum(clustering, sums + count, pending_count, &values[Column_pending_terms],
             &values[Column_pending_sums]);
}

// Stores the clusters that are new or have changed.
void store_clusters(Clustering *clustering, Oid table) {
  const Oid terms = array_type_of(clustering->term_type);
  Oid types[Column_Count] = {INT8OID, INT8OID, terms, INT8ARRAYOID, BOOLOID, terms, INT8ARRAYOID, INT8OID};
  const bool merging = can_merge(table);
  const int columns = merging ? Column_Count : Column_merged_into;
  connect_spi();
  SPIPlanPtr insert = prepare_statement(
      psprintf("INSERT INTO %s (cluster, documents, terms, sums, is_open, pending_terms, pending_sums%s) "
               "VALUES ($1, $2, $3, $4, $5, $6, $7%s)",
               relation_name(table), merging ? ", merged_into" : "", merging ? ", $8" : ""),
      columns, types);
  SPIPlanPtr update = prepare_statement(
      psprintf("UPDATE ONLY %s SET documents = $2, terms = $3, sums = $4, is_open = $5, pending_terms = $6, "
               "pending_sums = $7%s WHERE cluster OPERATOR(pg_catalog.=) $1",
               relation_name(table), merging ? ", merged_into = $8" : ""),
      columns, types);
  for (uint32_t cluster = 0; cluster < clustering->clusters->clusters(); ++cluster) {
    check_interrupts();
    if (!clustering->clusters->changed(cluster)) continue;
    Datum values[Column_Count] = {};
    char nulls[Column_Count + 1] = "        ";
    MemoryContext caller = MemoryContextSwitchTo(clustering->row_context);
    fill_row(*clustering, cluster, values, nulls);
    MemoryContextSwitchTo(caller);
    check_spi(
        SPI_execute_plan(cluster < clustering->numbers.size() ? update : insert, values, nulls, false, 0));
    MemoryContextReset(clustering->row_context);
  }
  SPI_finish();
  CommandCounterIncrement();  // so that another call in the same statement sees the clusters
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_cluster_stream_create);
Datum simjoin_cluster_stream_create(PG_FUNCTION_ARGS) {
  constexpr const char *function = "cluster_stream_create";
  if (PG_ARGISNULL(0))
    ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("%s: the name is NULL", function)));
  const TokenType type = kind_argument(get_fn_expr_argtype(fcinfo->flinfo, 1), function);
  const char *terms = format_type_be(array_type_of(type));
  RangeVar *range = makeRangeVarFromNameList(textToQualifiedNameList(PG_GETARG_TEXT_PP(0)));
  const char *schema = get_namespace_name(RangeVarGetCreationNamespace(range));
  const char *table = quote_qualified_identifier(schema, range->relname);
  execute_statement(
      psprintf("CREATE TABLE %s (cluster bigint PRIMARY KEY, documents bigint NOT NULL, terms %s NOT NULL, "
               "sums bigint[] NOT NULL, is_open bool NOT NULL, pending_terms %s, pending_sums bigint[], "
               "merged_into bigint);"
               "COMMENT ON TABLE %s IS 'clusters of a stream of documents, of simjoin'",
               table, terms, terms, table));
  PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(simjoin_cluster_stream);
Datum simjoin_cluster_stream(PG_FUNCTION_ARGS) {
  constexpr const char *function = "cluster_stream";
  ResultRows result(fcinfo);
  const NamedArguments arguments(fcinfo);
  Clustering *clustering = start_clustering(arguments, &result, function);
  const Oid table = PG_GETARG_OID(0);
  check_table(table, function);
  lock_table(table, function);
  clustering->is_stream = true;
  clustering->term_type = check_table(table, function);  // it may have been altered before it was locked
  if (arguments.has("merge") && !can_merge(table))
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
             errmsg("%s: %s has no column merged_into", function, relation_name(table)),
             errhint("Add it with ALTER TABLE %s ADD COLUMN merged_into bigint.", relation_name(table))));
  load_clusters(clustering, table);
  cluster_query(clustering, arguments.string("query"));
  store_clusters(clustering, table);
  MemoryContextDelete(clustering->context);
  return 0;
}
}

}  // namespace simjoin::pg
