#include "pg/computation/engine.hpp"

extern "C" {
#include "commands/tablespace.h"
#include "utils/guc.h"
}

#include <fcntl.h>

#include <algorithm>
#include <cstdint>
#include <tuple>

#include "core/weighted/weighted_join.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/computation/steps.hpp"
#include "pg/computation/watch.hpp"

namespace simjoin::pg {
namespace {

void order_by_left_row(Batch &batch) {
  const bool weighted = !batch.similarity.empty();
  std::vector<std::tuple<uint32_t, uint32_t, uint32_t, double>> pairs(batch.size());
  for (size_t i = 0; i < pairs.size(); ++i)
    pairs[i] = {batch.left[i], batch.right[i], batch.overlap[i], weighted ? batch.similarity[i] : 0};
  std::sort(pairs.begin(), pairs.end());
  for (size_t i = 0; i < pairs.size(); ++i) {
    double similarity;
    std::tie(batch.left[i], batch.right[i], batch.overlap[i], similarity) = pairs[i];
    if (weighted) batch.similarity[i] = similarity;
  }
}

// Opens the engine's file and hands it a descriptor of its own: PostgreSQL may close its own descriptor at
// any time to open other files, and the engine's threads cannot ask PostgreSQL to open the file again.
void give_spill_file(JoinEngine *engine, File *file) {
  PrepareTempTablespaces();
  *file = OpenTemporaryFile(false);
  const int descriptor = fcntl(FileGetRawDesc(*file), F_DUPFD_CLOEXEC, 0);
  if (descriptor < 0)
    ereport(ERROR, (errcode_for_file_access(),
                    errmsg("could not open the temporary file of a similarity join: %m")));
  const uint64_t limit = temp_file_limit < 0 ? UINT64_MAX : static_cast<uint64_t>(temp_file_limit) * 1024;
  call_cpp([&] { engine->set_spill_file(descriptor, limit); });
}

void offer_spill_file(JoinEngine *engine, File *file) {
  if (*file == 0 && engine->wants_spill_file()) give_spill_file(engine, file);
}

}  // namespace

JoinEngine *create_engine(const JoinSpec &spec, bool weighted, MemoryContext context, const char *name,
                          const JoinEngine *instead_of) {
  prepare_gpu_use();
  JoinEngine *engine = own(context, [&] { return weighted ? make_weighted_join(spec) : make_engine(spec); });
  watch_join(engine, context, name, instead_of);
  return engine;
}

void end_rows(JoinEngine *engine, uint32_t count, File *file) {
  note_rows(engine, count);
  offer_spill_file(engine, file);
}

void close_spill_file(File *file) {
  if (*file != 0) FileClose(*file);
  *file = 0;
}

Batch *create_batch(MemoryContext context) {
  return own(context, [] { return std::make_unique<Batch>(); });
}

bool next_batch(JoinEngine *engine, File *spill_file, Batch *batch, bool by_left_row) {
  for (;;) {
    check_interrupts();
    offer_spill_file(engine, spill_file);  // a GPU that gives up hands its sets over late
    const StepResult result = call_step([&] { return engine->step(step_budget, *batch); });
    report_gpu_notice_of(engine);
    note_step(engine, result, batch->size());
    if (result == StepResult::done) return false;
    if (result != StepResult::batch || batch->size() == 0) continue;
    if (by_left_row) call_cpp([&] { order_by_left_row(*batch); });
    return true;
  }
}

}  // namespace simjoin::pg
