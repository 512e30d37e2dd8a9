#include "pg/join/exec/explain.hpp"

extern "C" {
#include "nodes/makefuncs.h"
#include "utils/float.h"
#include "utils/ruleutils.h"
}

#include <cmath>
#include <cstdlib>

#include "core/base/memory_shares.hpp"
#include "core/weighted/weighted_join.hpp"
#include "pg/base/arguments.hpp"
#include "pg/base/compat.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/settings.hpp"
#include "pg/join/clause/method.hpp"
#include "pg/join/clause/threshold.hpp"
#include "pg/join/exec/join_state.hpp"

namespace simjoin::pg {
namespace {

// Returns whether properties that few users look at are shown. Text has to fit a screen, and programs find
// what they look for.
bool wants_details(const ExplainState *es) {
  return es->verbose || es->format != EXPLAIN_FORMAT_TEXT;
}

void show_count(const char *label, uint64_t count, ExplainState *es) {
  ExplainPropertyUInteger(label, nullptr, count, es);
}

void show_ms(const char *label, double ms, ExplainState *es) {
  ExplainPropertyFloat(label, "ms", ms, 3, es);
}

void show_kilobytes(const char *label, uint64_t bytes, ExplainState *es) {
  ExplainPropertyUInteger(label, "kB", (bytes + 1023) / 1024, es);
}

void show_text(const char *label, std::string_view text, ExplainState *es) {
  char *copy = pnstrdup(text.data(), text.size());
  ExplainPropertyText(label, copy, es);
  pfree(copy);
}

char *clause_text(Node *clause, JoinState *state, List *ancestors, ExplainState *es) {
  List *context = set_deparse_context_plan(es->deparse_cxt, state->css.ss.ps.plan, ancestors);
  const bool prefix = list_length(es->rtable) > 1 || es->verbose;
  return deparse_expression(clause, context, prefix, false);
}

void show_clause(const char *label, Node *clause, JoinState *state, List *ancestors, ExplainState *es) {
  if (clause == nullptr) return;
  if (IsA(clause, List)) clause = reinterpret_cast<Node *>(make_ands_explicit(castNode(List, clause)));
  ExplainPropertyText(label, clause_text(clause, state, ancestors, es), es);
}

const char *join_type_name(JoinType jointype) {
  switch (jointype) {
    case JOIN_LEFT:
      return "Left";
    case JOIN_FULL:
      return "Full";
    case JOIN_SEMI:
      return "Semi";
    case JOIN_ANTI:
      return "Anti";
    default:
      return "Inner";
  }
}

// Shows a number with the digits that tell it from others. In JSON it is a number, too, where that is
// possible.
void show_number(const char *label, double value, ExplainState *es) {
  constexpr int most_digits = 20;  // thresholds with more decimals are text
  for (int digits = 0; digits <= most_digits && std::isfinite(value); ++digits) {
    char *text = psprintf("%.*f", digits, value);
    const bool same = std::strtod(text, nullptr) == value;
    pfree(text);
    if (!same) continue;
    ExplainPropertyFloat(label, nullptr, value, digits, es);
    return;
  }
  ExplainPropertyText(label, float8out_internal(value), es);
}

// Shows the threshold of the clause: the number that the last execution used or, before, what the plan knows
// of it.
void show_threshold(JoinState *state, List *ancestors, ExplainState *es) {
  const char *label = state->facts.distance ? "Distance Threshold" : "Threshold";
  Node *threshold = plan_expression(castNode(CustomScan, state->css.ss.ps.plan), JoinExpr::threshold);
  const auto *constant = threshold != nullptr && IsA(threshold, Const) ? castNode(Const, threshold) : nullptr;
  if (state->terms.known && state->terms.limit_isnull) {
    ExplainPropertyText(label, "NULL", es);
  } else if (state->terms.known) {
    show_number(label, state->terms.limit, es);
  } else if (state->facts.from_settings) {
    show_number(label, Settings::similarity_threshold(), es);
  } else if (constant != nullptr && !constant->constisnull) {
    show_number(label, threshold_value(constant->constvalue, constant->consttype), es);
  } else {
    show_clause(label, threshold, state, ancestors, es);
  }
}

// Finds the method that was used or, before, that the settings ask for. Returns false where only the executor
// can tell.
bool find_method(const JoinState *state, JoinMethod *choice) {
  *choice = {};
  if (state->facts.ranked) return true;
  if (state->terms.known) {
    *choice = state->terms.method;
    return true;
  }
  const JoinPlanFacts &facts = state->facts;
  if (facts.from_settings) {
    *choice = choose_method(Settings::measure(), Settings::similarity_threshold(), facts.jointype, false);
    return true;
  }
  Node *threshold = plan_expression(castNode(CustomScan, state->css.ss.ps.plan), JoinExpr::threshold);
  if (!IsA(threshold, Const)) return false;
  auto *constant = castNode(Const, threshold);
  *choice =
      choose_method(facts.measure,
                    clause_threshold(facts, constant->constvalue, constant->constisnull, constant->consttype),
                    facts.jointype, facts.weighted());
  return true;
}

// Shows how pairs are found. Returns whether by bands.
bool show_method(const JoinState *state, ExplainState *es) {
  JoinMethod choice;
  if (!find_method(state, &choice)) {
    show_text("Method", method_names[static_cast<int>(Settings::method())], es);
    return false;
  }
  show_text("Method", method_names[static_cast<int>(choice.by_bands ? Method::minhash : Method::exact)], es);
  if (choice.refused != nullptr) show_text("MinHash Not Used", choice.refused, es);
  if (!choice.by_bands) return false;
  show_count("Bands", choice.plan.bands, es);
  show_count("Rows per Band", choice.plan.rows, es);
  ExplainPropertyFloat("Expected Recall", nullptr, choice.recall, 4, es);
  if (es->costs && state->facts.exact_is_cheaper)
    show_text("Cheaper Method", method_names[static_cast<int>(Method::exact)], es);
  return true;
}

// Shows the clauses that could drive the join and do not, with their estimates: a group for each, or a line
// of text.
void show_other_clauses(JoinState *state, List *ancestors, ExplainState *es) {
  auto *plan = castNode(CustomScan, state->css.ss.ps.plan);
  auto *others = reinterpret_cast<List *>(plan_expression(plan, JoinExpr::other_clauses));
  const JoinChoice choice = read_choice(plan);
  if (!es->costs || others == NIL) return;
  if (choice.why_not != nullptr) return show_text("Candidates Not Estimated", choice.why_not, es);
  if (choice.candidates == NIL) return;
  ExplainPropertyFloat("Estimated Candidates", nullptr, floatVal(linitial(choice.candidates)), 0, es);
  const bool text = es->format == EXPLAIN_FORMAT_TEXT;
  if (!text) ExplainOpenGroup("Other Clauses", "Other Clauses", false, es);
  for (int i = 0; i < list_length(others); ++i) {
    auto *clause = static_cast<Node *>(list_nth(others, i));
    auto *candidates = static_cast<Node *>(list_nth(choice.candidates, i + 1));
    if (text) {
      char *shown = psprintf("%s (estimated candidates: %.0f)", clause_text(clause, state, ancestors, es),
                             floatVal(candidates));
      ExplainPropertyText("Other Clause", shown, es);
      continue;
    }
    ExplainOpenGroup("Other Clause", nullptr, true, es);
    show_clause("Clause", clause, state, ancestors, es);
    ExplainPropertyFloat("Estimated Candidates", nullptr, floatVal(candidates), 0, es);
    ExplainCloseGroup("Other Clause", nullptr, true, es);
  }
  if (!text) ExplainCloseGroup("Other Clauses", "Other Clauses", false, es);
}

// Shows what the plan says: the clauses, the measure, how the inputs are read. Returns whether the join is by
// bands.
bool show_plan(JoinState *state, List *ancestors, ExplainState *es) {
  auto *plan = castNode(CustomScan, state->css.ss.ps.plan);
  ExplainPropertyText("Join Type", join_type_name(state->facts.jointype), es);
  show_clause(state->facts.ranked ? "Similarity Order" : "Similarity Clause",
              plan_expression(plan, JoinExpr::clause), state, ancestors, es);
  show_other_clauses(state, ancestors, es);
  show_clause("Partitioned By", plan_expression(plan, JoinExpr::partition_clauses), state, ancestors, es);
  auto *join_quals = plan_expression(plan, JoinExpr::join_quals);
  show_clause("Join Filter", join_quals, state, ancestors, es);
  if (es->analyze && join_quals != nullptr && state->css.ss.ps.instrument != nullptr)
    ExplainPropertyFloat(
        "Rows Removed by Join Filter", nullptr,
        state->css.ss.ps.instrument->nfiltered1 / Max(1, state->css.ss.ps.instrument->nloops), 0, es);
  const Measure expected = state->facts.from_settings ? Settings::measure() : state->facts.measure;
  show_text("Measure",
            row_measure_name({state->terms.known ? state->terms.measure : expected, state->facts.weighted()}),
            es);
  if (state->terms.known || !state->facts.ranked) show_threshold(state, ancestors, es);
  const bool by_bands = show_method(state, es);
  ExplainPropertyBool("Inputs Are the Same Rows", state->facts.read_once, es);
  return by_bands;
}

// Returns whether one side streamed past an index of the other one in all executions. Such a join has no
// other filters and takes no times, and the tokens of the streamed side are not counted.
bool streamed_only(const JoinStats &stats) {
  return stats.algorithm == StreamedJoin::algorithm_name;
}

// Shows what the filters left, one after the other. Counts of work that did not take place are not shown. A
// GPU's prefix index does not count.
void show_filters(const JoinStats &stats, ExplainState *es) {
  if (streamed_only(stats)) return show_count("Pairs", stats.pairs, es);
  // A join in tiles does not know them.
  if (stats.distinct_tokens != 0 || stats.tokens[0] + stats.tokens[1] == 0)
    show_count("Distinct Tokens", stats.distinct_tokens, es);
  show_count("Pairs", stats.pairs, es);
  show_count("Pairs After Length Filter", stats.after_length, es);
  if (stats.used_prefix && stats.after_prefix >= stats.verified) {
    show_count("Pairs After Prefix Filter", stats.after_prefix, es);
    show_count("Pairs After Positional Filter", stats.after_positional, es);
  }
  if (stats.used_bitmap) show_count("Pairs After Bitmap Filter", stats.after_bitmap, es);
}

// Shows the sides whose rows came from the session's cache, in some execution.
void show_cached_inputs(const JoinState *state, ExplainState *es) {
  const auto is_cached = [&](int side) {
    return state->inputs.sides[side].blocks != nullptr && state->inputs.sides[side].blocks->was_cached;
  };
  if (!is_cached(0) && !is_cached(1)) return;
  show_text("Cached Inputs", !is_cached(1) ? "left" : is_cached(0) ? "left, right" : "right", es);
}

// Shows what the engine got.
void show_input(const JoinStats &stats, ExplainState *es) {
  const bool details = wants_details(es);
  show_count("Sets Left", stats.sets[0], es);
  const bool streamed_left = stats.streamed.starts_with("left"),
             streamed_right = stats.streamed.ends_with("right");
  if (details && !streamed_left) show_count("Tokens Left", stats.tokens[0], es);
  if (stats.sets[1] == 0 && stats.tokens[1] == 0) return;
  show_count("Sets Right", stats.sets[1], es);
  if (details && !streamed_right) show_count("Tokens Right", stats.tokens[1], es);
}

// Shows what the engine made of it.
void show_counts(const JoinStats &stats, ExplainState *es) {
  if (wants_details(es)) show_filters(stats, es);
  show_count("Pairs Verified", stats.verified, es);
  if (stats.left_out > 0) show_count("Pairs Left Out", stats.left_out, es);
  show_count("Pairs Output", stats.output, es);
}

// Shows the largest chained buckets: a group for each, or a line of text for all.
void show_chained_buckets(const LshStats &stats, ExplainState *es) {
  if (es->format == EXPLAIN_FORMAT_TEXT) {
    char *line = largest_buckets(stats);
    ExplainPropertyText("Largest Buckets", line, es);
    pfree(line);
    return;
  }
  ExplainOpenGroup("Largest Buckets", "Largest Buckets", false, es);
  for (const ChainedBucket &bucket : stats.largest) {
    if (bucket.rows == 0) break;
    ExplainOpenGroup("Bucket", nullptr, true, es);
    show_count("Rows", bucket.rows, es);
    ExplainPropertyFloat("Share of Comparisons", "%", share_of_comparisons(bucket, stats), 1, es);
    ExplainCloseGroup("Bucket", nullptr, true, es);
  }
  ExplainCloseGroup("Largest Buckets", "Largest Buckets", false, es);
}

// Shows what a join by bands did.
void show_band_counts(const LshStats &stats, ExplainState *es) {
  if (wants_details(es)) show_count("Bucket Comparisons", stats.comparisons, es);
  if (wants_details(es)) show_count("Candidate Pairs", stats.candidates, es);
  show_count("Pairs Verified", stats.candidates - stats.left_out, es);
  if (stats.left_out > 0) show_count("Pairs Left Out", stats.left_out, es);
  show_count("Pairs Output", stats.output, es);
  if (stats.chained_buckets == 0) return;
  show_count("Chained Buckets", stats.chained_buckets, es);
  show_chained_buckets(stats, es);
}

// Shows the time of all threads, or of a GPU's kernels.
void show_search(const JoinStats &stats, ExplainState *es) {
  const bool gpu = stats.device_memory_peak != 0;
  const bool filtered_by_gpu =
      gpu && stats.algorithm != algorithm_names[static_cast<int>(Algorithm::cpu_gpu)];
  const bool verified_by_gpu = gpu && stats.algorithm != weighted_algorithm;
  show_ms(filtered_by_gpu ? "Filter GPU Time" : "Filter CPU Time", stats.filter_ms, es);
  show_ms(verified_by_gpu ? "Verify GPU Time" : "Verify CPU Time", stats.verify_ms, es);
}

// Shows the memory that was drawn for the join and what it asked for, if either was too little.
void show_drawn_memory(const JoinTotals &totals, const JoinStats &stats, ExplainState *es) {
  const bool too_little = totals.memory_drawn < totals.memory_asked || stats.partitions > 0;
  if (totals.memory_drawn == 0 || !(too_little || wants_details(es))) return;
  show_kilobytes("Memory Drawn", totals.memory_drawn, es);
  show_kilobytes("Memory Asked", totals.memory_asked, es);
}

// Shows time and memory. They depend on the machine, so TIMING OFF hides them.
void show_resources(const JoinState *state, const JoinStats &stats, bool by_bands, ExplainState *es) {
  const bool details = wants_details(es);
  show_ms("Scan Time", INSTR_TIME_GET_MILLISEC(state->totals.scan_time), es);
  if (!by_bands) show_ms("Build Time", stats.build_ms, es);
  if (!by_bands && details && !streamed_only(stats)) show_search(stats, es);
  if (!streamed_only(stats))
    show_ms("Wait for Engine", INSTR_TIME_GET_MILLISEC(state->totals.engine_time), es);
  if (details) show_count("Threads", static_cast<uint64_t>(stats.threads), es);
  show_kilobytes("Engine Memory", stats.memory_peak, es);
  if (stats.device_memory_peak != 0) show_kilobytes("Device Memory", stats.device_memory_peak, es);
  if (stats.partitions > 0) {
    constexpr size_t megabyte = size_t{1} << 20;
    const size_t limit = limit_for_engine(stats.one_part_limit);
    show_count("Partitions", stats.partitions, es);
    ExplainPropertyUInteger("Memory Limit for One Part", "MB", (limit + megabyte - 1) / megabyte, es);
    show_kilobytes("Engine Temporary File", stats.spilled_bytes, es);
  }
  show_drawn_memory(state->totals, stats, es);
  show_kilobytes("Row Memory", state->totals.row_memory, es);
  if (state->totals.row_file > 0 || details)
    show_kilobytes("Row Temporary Files", state->totals.row_file, es);
}

}  // namespace

void add_execution_to_totals(JoinState *state) {
  if (state->engine.join == nullptr || !state->totals.keep) return;
  call_cpp([&] { *state->totals.engine += state->engine.join->stats(); });
  state->totals.engine->output -= Min(state->engine.beyond, state->totals.engine->output);
  if (const LshJoin *bands = band_join(state)) {
    state->totals.bands += bands->lsh_stats();
    state->totals.bands.output -= Min(state->engine.beyond, state->totals.bands.output);
  }
  state->engine.beyond = 0;
  for (int side = 0; side < (state->facts.read_once ? 1 : 2); ++side) {
    const RowStore *rows = state->inputs.sides[side].reader.store;
    if (rows == nullptr) continue;
    state->totals.row_memory = Max(state->totals.row_memory, rows->memory_bytes);
    state->totals.row_file += rows->file_bytes;
  }
}

void explain_join(CustomScanState *node, List *ancestors, ExplainState *es) {
  auto *state = reinterpret_cast<JoinState *>(node);
  const bool by_bands = show_plan(state, ancestors, es);
  if (es->analyze) add_execution_to_totals(state);
  state->totals.keep &= !es->analyze;  // the totals are complete
  if (es->analyze) show_cached_inputs(state, es);
  const JoinStats &stats = *state->totals.engine;
  // Nothing ran where only pairs of a row with itself were asked for.
  const bool ran = es->analyze && !stats.algorithm.empty();
  // A weighted join has one algorithm, whatever the settings, and by bands one device.
  const bool known = ran || state->facts.weighted();
  const bool on_cpu = state->facts.weighted() && by_bands;
  if (!by_bands)
    show_text("Algorithm",
              ran     ? std::string_view(stats.algorithm)
              : known ? weighted_algorithm
                      : algorithm_names[static_cast<int>(Settings::algorithm())],
              es);
  if (ran && !stats.streamed.empty()) show_text("Streamed Side", stats.streamed, es);
  if (Settings::explain_device())
    show_text("Device", on_cpu || ran ? stats.device : device_names[static_cast<int>(Settings::device())],
              es);
  if (!ran) return;
  if (Settings::explain_device() && !stats.gpu_refused.empty())
    show_text("GPU Not Used", stats.gpu_refused, es);
  show_input(stats, es);
  if (by_bands) {
    show_band_counts(state->totals.bands, es);
  } else {
    show_counts(stats, es);
  }
  if (counts_equal_pairs(state) && (state->totals.equal_pairs > 0 || wants_details(es)))
    show_count("Pairs of Equal Sets", state->totals.equal_pairs, es);
  if (es->timing) show_resources(state, stats, by_bands, es);
  if (es->verbose)
    for (const std::string &reason : stats.reasons) show_text("Reason", reason, es);
}

}  // namespace simjoin::pg
