#include "gpu/bench_run.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>

#include "core/base/memory.hpp"
#include "core/candidates/pair_verifier.hpp"
#include "core/sets/set_blocks.hpp"
#include "cuda/engine/pair_verifier.hpp"

namespace simjoin::bench {
namespace {

using Clock = std::chrono::steady_clock;

// A join whose engine takes longer is not repeated.
constexpr double once_from_ms_on_cpu = 300, once_from_ms_on_gpu = 1000;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

std::span<const int32_t> tokens_of(const Collection &collection, size_t row) {
  const auto set = collection.set(row);
  return {reinterpret_cast<const int32_t *>(set.data()), set.size()};
}

// Returns the sets in blocks, as a server passes them to an engine.
std::vector<SharedBlock> blocks_of(const Collection &collection, MemoryCounter &memory) {
  std::vector<SharedBlock> blocks;
  BlockWriter writer(memory);
  for (size_t row = 0; row < collection.size(); ++row) {
    const auto set = tokens_of(collection, row);
    const auto count = static_cast<uint32_t>(set.size());
    SetSlice slice = row_of(set, count);
    if (SharedBlock full = writer.append(Side::left, slice)) blocks.push_back(std::move(full));
  }
  if (SharedBlock last = writer.take_last(Side::left)) blocks.push_back(std::move(last));
  return blocks;
}

// A new engine. `gpu` points at the same engine if it has figures of a device.
struct Engine {
  Engine(double threshold, const Way &way) {
    JoinSpec spec;
    spec.self_join = true;
    spec.threshold = threshold;
    spec.threads = way.threads;
    spec.memory_limit = size_t{64} << 30;
    if (way.cpu_gpu) {
      join = make_cpu_engine(spec, make_gpu_verifier(way.options.memory_limit));
    } else if (way.gpu) {
      auto engine = make_gpu_engine(spec, way.options);
      gpu = engine.get();
      join = std::move(engine);
    } else {
      join = make_cpu_engine(spec);
    }
  }

  std::unique_ptr<JoinEngine> join;
  const GpuJoinEngine *gpu = nullptr;
};

struct TimeLimit : std::runtime_error {
  TimeLimit() : std::runtime_error("stopped at the time limit") {}
};

// Takes all pairs and returns their number. Throws TimeLimit after the limit.
uint64_t take_pairs(JoinEngine &engine, Clock::time_point begin, double limit_s) {
  uint64_t pairs = 0;
  Batch batch;
  for (StepResult result; (result = engine.step(std::chrono::milliseconds(10), batch)) != StepResult::done;) {
    if (result == StepResult::batch) pairs += batch.size();
    if (ms_since(begin) > 1000 * limit_s) throw TimeLimit();
  }
  return pairs;
}

// Adds the sets one by one: to a GPU in blocks, which the counter counts.
void add_sets(const Collection &collection, Engine &engine, MemoryCounter &memory) {
  BlockWriter writer(memory);
  for (size_t row = 0; row < collection.size(); ++row) {
    const auto set = tokens_of(collection, row);
    const auto count = static_cast<uint32_t>(set.size());
    SetSlice slice = row_of(set, count);
    if (engine.gpu == nullptr) {
      engine.join->add(Side::left, slice);
    } else if (SharedBlock full = writer.append(Side::left, slice)) {
      engine.join->add_block(std::move(full));
    }
  }
  if (SharedBlock last = writer.take_last(Side::left)) engine.join->add_block(std::move(last));
}

// Joins sets that are added one by one.
Run join_sets(const Collection &collection, double threshold, const Way &way, double limit_s) {
  MemoryCounter memory;
  Engine engine(threshold, way);
  Run run;
  const auto begin = Clock::now();
  add_sets(collection, engine, memory);
  const auto added = Clock::now();
  run.pairs = take_pairs(*engine.join, begin, limit_s);
  run.engine_ms = ms_since(added);
  run.total_ms = ms_since(begin);
  run.stats = engine.join->stats();
  if (engine.gpu != nullptr) run.figures = engine.gpu->figures();
  return run;
}

// Returns the milliseconds of a join of sets in host memory.
double join_blocks(const Collection &collection, double threshold, const Way &way, double limit_s,
                   uint64_t pairs) {
  MemoryCounter memory;
  const std::vector<SharedBlock> blocks = blocks_of(collection, memory);
  Engine engine(threshold, way);
  const auto begin = Clock::now();
  for (const SharedBlock &block : blocks) engine.join->add_block(block);
  const uint64_t found = take_pairs(*engine.join, begin, limit_s);
  const double ms = ms_since(begin);
  if (found != pairs) throw std::runtime_error("two joins found different numbers of pairs");
  return ms;
}

}  // namespace

Collection read_collection(const std::string &path) {
  std::FILE *file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) throw std::runtime_error("cannot read " + path);
  Collection collection;
  std::vector<char> buffer(size_t{1} << 24);
  uint32_t value = 0;
  bool digits = false;
  for (size_t read; (read = std::fread(buffer.data(), 1, buffer.size(), file)) > 0;) {
    for (const char c : std::span(buffer).first(read)) {
      if (c >= '0' && c <= '9') {
        value = value * 10 + static_cast<uint32_t>(c - '0');
        digits = true;
        continue;
      }
      if (digits) collection.tokens.push_back(value);
      value = 0;
      digits = false;
      if (c == '\n') collection.offsets.push_back(collection.tokens.size());
    }
  }
  std::fclose(file);
  return collection;
}

Run time_join(const Collection &collection, double threshold, const Way &way, int repeats, double limit_s) {
  Run best;
  const double once_from_ms = way.gpu ? once_from_ms_on_gpu : once_from_ms_on_cpu;
  try {
    for (int i = 0; i < repeats; ++i) {
      Run run = join_sets(collection, threshold, way, limit_s);
      if (way.gpu) run.upload_ms = join_blocks(collection, threshold, way, limit_s, run.pairs);
      if (i > 0) {
        run.total_ms = std::min(run.total_ms, best.total_ms);
        run.upload_ms = std::min(run.upload_ms, best.upload_ms);
      }
      if (i == 0 || run.engine_ms < best.engine_ms) {
        best = run;
      } else {
        best.total_ms = run.total_ms;
        best.upload_ms = run.upload_ms;
      }
      if (best.engine_ms > once_from_ms) break;
    }
  } catch (const TimeLimit &limit) {
    best = {};
    best.error = limit.what();
    best.stopped = true;
  } catch (const std::exception &error) {
    best = {};
    best.error = error.what();
  }
  return best;
}

}  // namespace simjoin::bench
