#include "bench/cell.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <vector>

namespace simjoin::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::microseconds step_budget{10'000};

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Returns a descriptor of a new file that vanishes when it is closed.
int unlinked_file() {
  std::FILE *file = std::tmpfile();
  if (file == nullptr) throw std::runtime_error("no temporary file to be had");
  const int descriptor = dup(fileno(file));
  std::fclose(file);
  return descriptor;
}

// Reads every pair of the batch, as a caller would.
void take(const Batch &batch, Cell &cell) {
  const Clock::time_point start = Clock::now();
  for (size_t i = 0; i < batch.size(); ++i)
    cell.checksum += batch.left[i] ^ batch.right[i] ^ batch.overlap[i];
  cell.pairs += batch.size();
  cell.emit_ms += ms_since(start);
}

}  // namespace

void run_cell(const Collection &collection, const RunSettings &settings, Cell &cell) {
  JoinSpec spec;
  spec.measure = cell.measure;
  spec.threshold = cell.threshold;
  spec.algorithm = cell.algorithm;
  spec.self_join = true;
  spec.threads = settings.threads;
  spec.memory_limit = settings.memory_limit;
  if (settings.memory_share > 0) {
    // An array of PostgreSQL's has a header before its elements.
    constexpr size_t header = 24;
    const size_t data = collection.tokens.size() * sizeof(collection.tokens[0]) + collection.size() * header;
    spec.memory_limit = static_cast<size_t>(settings.memory_share * static_cast<double>(data));
  }
  try {
    const auto engine = make_cpu_engine(spec);
    const Clock::time_point start = Clock::now();
    for (size_t row = 0; row < collection.size(); ++row) {
      const auto set = collection.set(row);
      engine->add(Side::left, std::span(reinterpret_cast<const int32_t *>(set.data()), set.size()));
      if (engine->wants_spill_file()) engine->set_spill_file(unlinked_file(), UINT64_MAX);
    }
    cell.scan_ms = ms_since(start);
    cell.outcome = Outcome::done;
    Batch batch;
    for (StepResult result; (result = engine->step(step_budget, batch)) != StepResult::done;) {
      if (result == StepResult::batch) take(batch, cell);
      if (ms_since(start) > 1000 * settings.time_limit_s) {
        cell.outcome = Outcome::cancelled;
        break;
      }
    }
    cell.total_ms = ms_since(start);
    cell.stats = engine->stats();
  } catch (const std::exception &error) {
    cell.outcome = Outcome::failed;
    cell.error = error.what();
  }
}

}  // namespace simjoin::bench
