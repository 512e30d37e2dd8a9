#include "pg/engine.hpp"

#include "pg/errors.hpp"

namespace simjoin::pg {
namespace {

// How long the engine works between two interrupt checks.
constexpr std::chrono::microseconds step_budget{10'000};

}  // namespace

JoinEngine *create_engine(const JoinSpec &spec, MemoryContext context) {
  return own(context, [&] { return make_cpu_engine(spec); });
}

Batch *create_batch(MemoryContext context) {
  return own(context, [] { return std::make_unique<Batch>(); });
}

bool next_batch(JoinEngine *engine, Batch *batch) {
  for (;;) {
    CHECK_FOR_INTERRUPTS();
    const StepResult result = call_cpp([&] { return engine->step(step_budget, *batch); });
    if (result == StepResult::done) return false;
    if (result == StepResult::batch && batch->size() > 0) return true;
  }
}

}  // namespace simjoin::pg
