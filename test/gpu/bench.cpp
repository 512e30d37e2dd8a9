// simjoin_gpu_bench: times the GPU engine on collections as files (one set a line) and prints a table.
//   simjoin_gpu_bench [--strategy auto|bitmap|prefix] [--repeat N] [--cpu] [--reasons] [--gpus N]
//     [--gpu-memory MEBIBYTES] [--first ROWS] FILE... -- THRESHOLD...
// With --gpus so many GPUs share a join, and with --first only so many sets of a file are read.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "cuda/gpu_engine.hpp"

namespace {

using namespace simjoin;
using Clock = std::chrono::steady_clock;

struct Collection {
  std::vector<int32_t> tokens;
  std::vector<size_t> offsets{0};
};

Collection read_collection(const char *path, size_t most_sets) {
  Collection collection;
  std::FILE *file = std::fopen(path, "rb");
  if (file == nullptr) {
    std::perror(path);
    std::exit(1);
  }
  std::vector<char> buffer(size_t{1} << 24);
  int32_t value = 0;
  bool digits = false;
  const auto end_token = [&] {
    if (digits) collection.tokens.push_back(value);
    value = 0;
    digits = false;
  };
  for (size_t read; collection.offsets.size() <= most_sets &&
                    (read = std::fread(buffer.data(), 1, buffer.size(), file)) > 0;) {
    for (size_t i = 0; i < read; ++i) {
      const char c = buffer[i];
      if (c >= '0' && c <= '9') {
        value = value * 10 + (c - '0');
        digits = true;
      } else {
        end_token();
        if (c == '\n') collection.offsets.push_back(collection.tokens.size());
        if (collection.offsets.size() > most_sets) break;
      }
    }
  }
  std::fclose(file);
  return collection;
}

constexpr double once_from_seconds = 0.3;  // joins on the CPU that take longer are not repeated

struct Run {
  double seconds = 0;      // with add()
  double after_input = 0;  // from the first step to the last pair
  uint64_t pairs = 0;
  GpuFigures figures;
  JoinStats stats;
};

template <typename Engine>
Run time_join(Engine &engine, const Collection &collection) {
  Run run;
  const auto begin = Clock::now();
  for (size_t i = 0; i + 1 < collection.offsets.size(); ++i) {
    engine.add(Side::left,
               std::span(collection.tokens)
                   .subspan(collection.offsets[i], collection.offsets[i + 1] - collection.offsets[i]));
  }
  const auto added = Clock::now();
  Batch batch;
  for (;;) {
    const StepResult result = engine.step(std::chrono::milliseconds(10), batch);
    if (result == StepResult::done) break;
    if (result == StepResult::batch) run.pairs += batch.size();
  }
  const auto end = Clock::now();
  run.seconds = std::chrono::duration<double>(end - begin).count();
  run.after_input = std::chrono::duration<double>(end - added).count();
  run.stats = engine.stats();
  return run;
}

void print_run(const char *name, double threshold, const Run &run) {
  const GpuFigures &f = run.figures;
  std::printf(
      "%-14s %.2f %9llu %8.1f %8.1f | %6.1f %6.1f %6.1f %5.1f %7.2f %7.2f %6.2f | %9.3g %6.2f %9.3g %9.3g "
      "%9llu %llu %5.2f %s\n",
      name, threshold, static_cast<unsigned long long>(run.pairs), run.seconds * 1e3, run.after_input * 1e3,
      f.start_ms, f.upload_ms, f.build_ms, f.index_ms, f.filter_ms, f.verify_ms, f.download_ms,
      f.filter_pairs, f.filter_ms > 0 ? f.filter_pairs / f.filter_ms / 1e9 : 0, f.list_entries,
      static_cast<double>(f.candidates), static_cast<unsigned long long>(run.stats.verified),
      static_cast<unsigned long long>(f.launches_repeated), static_cast<double>(f.device_memory_peak) / 1e9,
      run.stats.algorithm.c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char **argv) {
  std::vector<const char *> files;
  std::vector<double> thresholds;
  GpuOptions options;
  int repeat = 3;
  size_t most_sets = SIZE_MAX;
  bool cpu = false, after = false, reasons = false;
  JoinSpec spec;
  spec.self_join = true;
  spec.memory_limit = size_t{64} << 30;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--cpu") {
      cpu = true;
    } else if (argument == "--reasons") {
      reasons = true;
    } else if (argument == "--first" && i + 1 < argc) {
      most_sets = static_cast<size_t>(std::atol(argv[++i]));
    } else if (argument == "--gpus" && i + 1 < argc) {
      options.workers = std::atoi(argv[++i]);
    } else if (argument == "--gpu-memory" && i + 1 < argc) {
      options.memory_limit = static_cast<size_t>(std::atol(argv[++i])) << 20;
    } else if (argument == "--repeat" && i + 1 < argc) {
      repeat = std::atoi(argv[++i]);
    } else if (argument == "--strategy" && i + 1 < argc) {
      const std::string name = argv[++i];
      options.strategy = name == "bitmap"   ? GpuOptions::Strategy::bitmap
                         : name == "prefix" ? GpuOptions::Strategy::prefix
                                            : GpuOptions::Strategy::automatic;
    } else if (argument == "--") {
      after = true;
    } else if (after) {
      thresholds.push_back(std::atof(argv[i]));
    } else {
      files.push_back(argv[i]);
    }
  }
  std::string reason;
  if (!gpu_available(&reason)) {
    std::printf("no GPU to measure: %s\n", reason.c_str());
    return 0;
  }
  std::printf(
      "collection     thr      pairs    total    engine |  start upload  build index  filter  verify   down "
      "|  compared    T/s   entries candidates verified again GB algorithm (ms)\n");
  for (const char *file : files) {
    const Collection collection = read_collection(file, most_sets);
    const char *name = std::strrchr(file, '/') != nullptr ? std::strrchr(file, '/') + 1 : file;
    for (double threshold : thresholds) {
      spec.threshold = threshold;
      Run best;
      for (int i = 0; i < repeat; ++i) {
        const auto engine = make_gpu_engine(spec, options);
        Run run = time_join(*engine, collection);
        run.figures = engine->figures();
        if (i == 0 || run.after_input < best.after_input) best = run;
      }
      print_run(name, threshold, best);
      if (reasons) {
        for (const std::string &reason : best.stats.reasons) std::printf("  %s\n", reason.c_str());
      }
      if (cpu) {
        Run fastest;
        for (int i = 0; i < repeat; ++i) {
          const auto engine = make_cpu_engine(spec);
          const Run run = time_join(*engine, collection);
          if (i == 0 || run.seconds < fastest.seconds) fastest = run;
          if (run.seconds > once_from_seconds) break;
        }
        print_run((std::string("cpu ") + name).c_str(), threshold, fastest);
      }
    }
  }
  return 0;
}
