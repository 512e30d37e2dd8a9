#include "bench/cell.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <span>
#include <stdexcept>
#include <vector>

#include "core/set_slices.hpp"

namespace simjoin::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::microseconds step_budget{10'000};

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Returns the milliseconds that all threads of the process have worked.
double cpu_ms() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const auto ms = [](const timeval &t) {
    return 1e3 * static_cast<double>(t.tv_sec) + 1e-3 * static_cast<double>(t.tv_usec);
  };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
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

size_t array_bytes(const Collection &collection) {
  constexpr size_t header = 24;  // before the elements
  return collection.tokens.size() * sizeof(collection.tokens[0]) + collection.size() * header;
}

void run_cell(const Collection &collection, const RunSettings &settings, Cell &cell) {
  JoinSpec spec;
  spec.measure = cell.measure;
  spec.threshold = cell.threshold;
  spec.algorithm = cell.algorithm;
  spec.self_join = true;
  spec.threads = settings.threads;
  spec.memory_limit = cell.memory_limit;
  try {
    const auto engine = make_cpu_engine(spec);
    const Clock::time_point start = Clock::now();
    const double cpu_before = cpu_ms();
    for (size_t row = 0; row < collection.size(); ++row) {
      const auto set = collection.set(row);
      const auto size = static_cast<uint32_t>(set.size());
      engine->add(Side::left, row_of(std::span(reinterpret_cast<const int32_t *>(set.data()), size), size));
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
    cell.cpu_ms = cpu_ms() - cpu_before;
    cell.stats = engine->stats();
  } catch (const std::exception &error) {
    cell.outcome = Outcome::failed;
    cell.error = error.what();
  }
}

}  // namespace simjoin::bench
