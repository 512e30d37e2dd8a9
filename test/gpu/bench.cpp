// simjoin_gpu_bench: times the GPU engine on collections as files (one set a line) and prints a table.
//   simjoin_gpu_bench [--strategy auto|bitmap|prefix|gssjoin|fgssjoin|sf_gssjoin]
//     [--kernel fastest|warp|popcount] [--repeat N] [--cpu] [--reasons] [--csv FILE] [--baseline FILE]...
//     [--gpus N,...] [--gpu-memory MEBIBYTES,...] [--first SETS,...] FILE... -- THRESHOLD...
// With --gpus so many GPUs share a join, and with --first only so many sets of a file are joined. These two
// and --gpu-memory take lists, as in 1,2,4: every combination is timed. Files are named PROFILE-SCALE where
// their results are to be compared with baselines.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cuda/gpu_engine.hpp"
#include "gpu/bench_report.hpp"

namespace {

using namespace simjoin;
using Clock = std::chrono::steady_clock;

struct Collection {
  std::vector<int32_t> tokens;
  std::vector<size_t> offsets{0};
};

Collection read_collection(const char *path) {
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
  for (size_t read; (read = std::fread(buffer.data(), 1, buffer.size(), file)) > 0;) {
    for (size_t i = 0; i < read; ++i) {
      const char c = buffer[i];
      if (c >= '0' && c <= '9') {
        value = value * 10 + (c - '0');
        digits = true;
      } else {
        end_token();
        if (c == '\n') collection.offsets.push_back(collection.tokens.size());
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
Run time_join(Engine &engine, const Collection &collection, size_t most_sets) {
  Run run;
  const auto begin = Clock::now();
  for (size_t i = 0; i < std::min(most_sets, collection.offsets.size() - 1); ++i) {
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

std::vector<size_t> list_of(const char *text) {
  std::vector<size_t> numbers;
  for (char *end; *text != 0; text = *end == ',' ? end + 1 : end) {
    numbers.push_back(std::strtoull(text, &end, 10));
    if (end == text) break;
  }
  return numbers;
}

// What to time of each file and threshold.
struct Plan {
  std::vector<double> thresholds;
  std::vector<size_t> first{SIZE_MAX}, gpus{1}, gpu_memory{0};  // mebibytes
  int repeat = 3;
  bool cpu = false, reasons = false;
};

// Notes the run and says how it compares with published programs.
void compare(bench::GpuReport &report, const char *name, double threshold, const Collection &collection,
             const Run &run) {
  bool wrong = false;
  const std::optional<double> ratio =
      report.add({name, threshold, collection.offsets.size() - 1, collection.tokens.size(),
                  1000 * (run.seconds - run.after_input), run.after_input, run.pairs, run.stats},
                 wrong);
  if (wrong) std::printf("  WRONG number of pairs\n");
  if (ratio) std::printf("  %.1f times faster than the best published program\n", *ratio);
}

GpuOptions::Strategy strategy_of(const std::string &name) {
  using Strategy = GpuOptions::Strategy;
  constexpr std::pair<const char *, Strategy> names[] = {
      {"bitmap", Strategy::bitmap},     {"prefix", Strategy::prefix},         {"gssjoin", Strategy::gssjoin},
      {"fgssjoin", Strategy::fgssjoin}, {"sf_gssjoin", Strategy::sf_gssjoin},
  };
  for (const auto &[known, strategy] : names) {
    if (name == known) return strategy;
  }
  return Strategy::automatic;
}

void time_on_gpu(const JoinSpec &spec, const GpuOptions &options, const Plan &plan,
                 const Collection &collection, size_t sets, const std::string &name,
                 bench::GpuReport &report) {
  Run best;
  for (int i = 0; i < plan.repeat; ++i) {
    const auto engine = make_gpu_engine(spec, options);
    Run run = time_join(*engine, collection, sets);
    run.figures = engine->figures();
    if (i == 0 || run.after_input < best.after_input) best = run;
  }
  print_run(name.c_str(), spec.threshold, best);
  if (sets >= collection.offsets.size() - 1) compare(report, name.c_str(), spec.threshold, collection, best);
  if (!plan.reasons) return;
  for (const std::string &reason : best.stats.reasons) std::printf("  %s\n", reason.c_str());
}

void time_on_cpu(const JoinSpec &spec, const Plan &plan, const Collection &collection, size_t sets,
                 const std::string &name) {
  Run fastest;
  for (int i = 0; i < plan.repeat; ++i) {
    const auto engine = make_cpu_engine(spec);
    const Run run = time_join(*engine, collection, sets);
    if (i == 0 || run.seconds < fastest.seconds) fastest = run;
    if (run.seconds > once_from_seconds) break;
  }
  print_run(std::string("cpu ").append(name).c_str(), spec.threshold, fastest);
}

void time_file(const char *file, JoinSpec spec, GpuOptions options, const Plan &plan,
               bench::GpuReport &report) {
  const Collection collection = read_collection(file);
  const char *name = std::strrchr(file, '/') != nullptr ? std::strrchr(file, '/') + 1 : file;
  for (const size_t sets : plan.first) {
    for (const double threshold : plan.thresholds) {
      spec.threshold = threshold;
      for (const size_t gpus : plan.gpus) {
        for (const size_t memory : plan.gpu_memory) {
          options.workers = static_cast<int>(gpus);
          options.memory_limit = memory << 20;
          std::string label = name;
          if (sets != SIZE_MAX) label.append(" ").append(std::to_string(sets));
          if (plan.gpus.size() > 1) label.append(" on ").append(std::to_string(gpus));
          if (memory != 0) label.append(" in ").append(std::to_string(memory)).append("MB");
          time_on_gpu(spec, options, plan, collection, sets, label, report);
        }
      }
      if (plan.cpu) time_on_cpu(spec, plan, collection, sets, name);
    }
  }
}

}  // namespace

int main(int argc, char **argv) {
  std::vector<const char *> files;
  GpuOptions options;
  Plan plan;
  std::string csv;
  std::vector<std::string> baselines;
  bool after = false;
  JoinSpec spec;
  spec.self_join = true;
  spec.memory_limit = size_t{64} << 30;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--cpu") {
      plan.cpu = true;
    } else if (argument == "--reasons") {
      plan.reasons = true;
    } else if (argument == "--first" && i + 1 < argc) {
      plan.first = list_of(argv[++i]);
    } else if (argument == "--gpus" && i + 1 < argc) {
      plan.gpus = list_of(argv[++i]);
    } else if (argument == "--gpu-memory" && i + 1 < argc) {
      plan.gpu_memory = list_of(argv[++i]);
    } else if (argument == "--repeat" && i + 1 < argc) {
      plan.repeat = std::atoi(argv[++i]);
    } else if (argument == "--strategy" && i + 1 < argc) {
      options.strategy = strategy_of(argv[++i]);
    } else if (argument == "--csv" && i + 1 < argc) {
      csv = argv[++i];
    } else if (argument == "--baseline" && i + 1 < argc) {
      baselines.emplace_back(argv[++i]);
    } else if (argument == "--kernel" && i + 1 < argc) {
      const std::string name = argv[++i];
      options.bitmap_kernel = name == "warp"       ? BitmapKernel::warp
                              : name == "popcount" ? BitmapKernel::popcount
                                                   : BitmapKernel::fastest;
    } else if (argument == "--") {
      after = true;
    } else if (after) {
      plan.thresholds.push_back(std::atof(argv[i]));
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
  bench::GpuReport report(csv, baselines);
  for (const char *file : files) time_file(file, spec, options, plan, report);
  report.print_summary();
  return 0;
}
