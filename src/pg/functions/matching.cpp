// Matches of the rows of two tables, as SQL functions: over a query of pairs, and over two queries of sets.
#include "pg/base/pg.hpp"

extern "C" {
#include "utils/memutils.h"
}

#include <optional>

#include "core/base/memory_shares.hpp"
#include "core/matching/match_finder.hpp"
#include "pg/base/arguments.hpp"
#include "pg/base/computation_memory.hpp"
#include "pg/base/named_arguments.hpp"
#include "pg/computation/background.hpp"
#include "pg/computation/engine.hpp"
#include "pg/computation/watch.hpp"
#include "pg/functions/join_functions.hpp"
#include "pg/functions/pair_query.hpp"
#include "pg/query/result_rows.hpp"

namespace simjoin::pg {
namespace {

struct MatchWork {
  MatchWork(MatchMethod method, size_t memory_limit, const char *rest) : finder(method, memory) {
    memory.set_limit(memory_limit,
                     {"the matches need",
                      "match fewer pairs, or use the method best or mutual, which keeps no pairs", rest});
  }

  MemoryCounter memory;
  MatchFinder finder;
  std::optional<Matches> result;
};

MatchMethod method_argument(const NamedArguments &arguments, const char *function) {
  return static_cast<MatchMethod>(number_of_name(arguments.string("method"), match_method_names, function,
                                                 "method",
                                                 "The methods are best, mutual, one_to_one and assignment."));
}

// Finds the matches of the work, which belongs to the context.
void find_matches(MatchWork *work, const char *function, MemoryContext context) {
  run_interruptibly(context, [work](WorkerPool &pool) { work->result.emplace(work->finder.matches(pool)); });
  if (work->result->greedy_components > 0)
    ereport(NOTICE,
            (errmsg("%s: %zu components of the pairs are matched greedily", function,
                    work->result->greedy_components),
             errhint("The search for the greatest sum looks at no more than %llu pairs in a component. Leave "
                     "out pairs of low similarity, so that components are smaller.",
                     static_cast<unsigned long long>(most_pairs_looked_at))));
}

void return_matches(const Matches &matches, const PairKeys &keys, ResultRows *result) {
  return_rows(matches.left.size(), [&](size_t i) {
    result->add({key_at(keys.left, matches.left[i], 0), key_at(keys.right, matches.right[i], 1),
                 Float8GetDatum(matches.similarities[i])});
  });
}

// Shows the work, which belongs to the context, to other sessions. The context is its key.
void watch_matching(const MatchWork *work, MemoryContext context, const char *function) {
  watch_computation(context, context, function, work, [](const void *of) {
    WatchFigures figures;
    figures.memory_peak = static_cast<const MatchWork *>(of)->memory.peak();
    figures.device = "cpu";
    return figures;
  });
}

// Gives the join the rows of both queries, each of which has an id of its own.
void read_rows_to_match(FunctionJoin *join, const char *left_query, const char *right_query) {
  join->left = read_side(join, Side::left, left_query, KeyNumbers::distinct);
  check_distinct_ids(join->left, join->function);
  join->right = read_side(join, Side::right, right_query, KeyNumbers::distinct);
  check_distinct_ids(join->right, join->function);
}

void add_pairs_to_match(FunctionJoin *join, MatchWork *work) {
  while (next_batch(join->engine, &join->spill_file, join->batch))
    call_cpp([&] {
      for (size_t i = 0; i < join->batch->size(); ++i)
        work->finder.add(join->left.ids[join->batch->left[i]], join->right.ids[join->batch->right[i]],
                         pair_similarity(*join, i));
    });
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_best_matches);
Datum simjoin_best_matches(PG_FUNCTION_ARGS) {
  const char *function = "best_matches";
  ResultRows result(fcinfo);
  const NamedArguments arguments(fcinfo);
  arguments.refuse_null(function, {"left_key", "right_key"});
  const MatchMethod method = method_argument(arguments, function);
  MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "matching", ALLOCSET_DEFAULT_SIZES);
  give_up_at_conflict(context);
  const PairKeys keys = {create_row_keys(key_argument(arguments, "left_key", result.column_type(0)),
                                         KeyNumbers::shared, function, context),
                         create_row_keys(key_argument(arguments, "right_key", result.column_type(1)),
                                         KeyNumbers::shared, function, context)};
  const size_t limit = memory_limit_of(context);
  auto *work = own(context, [&] {
    return keys.are_integers()
               ? std::make_unique<MatchWork>(method, limit, "")
               : std::make_unique<MatchWork>(method, limit - 4 * key_share(limit), " that the keys leave");
  });
  watch_matching(work, context, function);
  read_pairs(arguments.string("pairs"), function, keys, &work->finder, &work->memory, context);
  note_work(context);
  find_matches(work, function, context);
  note_end(context);
  return_matches(*work->result, keys, &result);
  close_row_keys(keys.left);
  close_row_keys(keys.right);
  MemoryContextDelete(context);
  return 0;
}

PG_FUNCTION_INFO_V1(simjoin_similarity_match);
Datum simjoin_similarity_match(PG_FUNCTION_ARGS) {
  const char *function = "similarity_match";
  ResultRows result(fcinfo);
  const NamedArguments arguments(fcinfo);
  arguments.refuse_null(function, {"left_key", "right_key"});
  const MatchMethod method = method_argument(arguments, function);
  const RowMeasure measure = row_measure_by_name(arguments.string("measure"), function);
  const double threshold = arguments.real("threshold");
  check_similarity(threshold, measure, function);
  FunctionJoin *join = create_function_join(function, measure, false);
  join->left_key = key_argument(arguments, "left_key", result.column_type(0));
  join->right_key = key_argument(arguments, "right_key", result.column_type(1));
  join->tokenizer = arguments.optional_string("tokens");
  create_function_engine(join, threshold);
  read_rows_to_match(join, arguments.string("left_query"), arguments.string("right_query"));
  const PairKeys keys = {join->left.keys, join->right.keys};
  const size_t limit = memory_limit_of(join->context);
  auto *work = own(join->context, [&] {
    return std::make_unique<MatchWork>(
        method, keys.are_integers() ? pair_share(limit) : pair_share_beside_keys(limit),
        " that the join leaves");
  });
  add_pairs_to_match(join, work);
  find_matches(work, function, join->context);
  return_matches(*work->result, keys, &result);
  end_join(join);
  return 0;
}
}

}  // namespace simjoin::pg
