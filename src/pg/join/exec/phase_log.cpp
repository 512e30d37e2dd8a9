#include "pg/join/exec/phase_log.hpp"

#include "pg/base/errors.hpp"

namespace simjoin::pg {
namespace {

// The figures of the engine that the log shows: JoinStats without what has to be destroyed.
struct PhaseFigures {
  double order_ms, build_ms, filter_ms, verify_ms, join_ms;
  uint64_t bytes;
};

bool logs_phases(const JoinState *state) {
  return state->engine.join != nullptr && message_level_is_interesting(DEBUG2);
}

PhaseFigures figures_of(const JoinState *state) {
  PhaseFigures figures = {};
  call_cpp([&] {
    const JoinStats stats = state->engine.join->stats();
    figures = {stats.order_ms,  stats.build_ms, stats.filter_ms,
               stats.verify_ms, stats.join_ms,  stats.memory_peak};
  });
  return figures;
}

// Returns the bytes of the rows that wait for their pairs, in memory and in files.
uint64_t bytes_of_rows(const JoinState *state) {
  uint64_t bytes = 0;
  for (int side = 0; side < (state->facts.read_once ? 1 : 2); ++side)
    if (const RowStore *rows = state->inputs.sides[side].reader.store; rows != nullptr)
      bytes += rows->memory_bytes + rows->file_bytes;
  return bytes;
}

void log_phase(const char *phase, double ms, uint64_t bytes, const char *what) {
  if (ms <= 0) return;
  ereport(DEBUG2, (errmsg_internal("similarity join, %s: %.3f ms, " UINT64_FORMAT " bytes of %s", phase, ms,
                                   static_cast<uint64>(bytes), what)));
}

}  // namespace

void log_input(const JoinState *state, double ms) {
  if (!logs_phases(state)) return;
  log_phase("input", ms, bytes_of_rows(state), "rows");
}

void log_build(JoinState *state) {
  if (state->engine.build_logged || !logs_phases(state)) return;
  state->engine.build_logged = true;
  const PhaseFigures figures = figures_of(state);
  log_phase("order", figures.order_ms, figures.bytes, "engine memory");
  log_phase("build", figures.build_ms - figures.order_ms, figures.bytes, "engine memory");
}

void log_search(JoinState *state) {
  if (!logs_phases(state)) return;
  log_build(state);
  const PhaseFigures figures = figures_of(state);
  log_phase("filter", figures.filter_ms, figures.bytes, "engine memory");
  log_phase("verify", figures.verify_ms, figures.bytes, "engine memory");
  log_phase("hand-over", figures.join_ms, bytes_of_rows(state), "rows");
}

}  // namespace simjoin::pg
