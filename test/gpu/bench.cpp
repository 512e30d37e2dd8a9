// simjoin_gpu_bench: times the GPU engine on collections in files (one set per line) and prints a table.
//   simjoin_gpu_bench [--strategy all|auto|bitmap|prefix|gssjoin|fgssjoin|sf_gssjoin|cpu_gpu,...]
//     [--kernel fastest|warpgroup|warp|popcount,...] [--group N,...] [--gpus N,...] [--gpu-memory
//     MEBIBYTES,...]
//     [--sets N,...] [--cpu THREADS,...] [--repeat N] [--time-limit SECONDS] [--reasons] [--csv FILE]
//     [--baseline FILE]... FILE... -- THRESHOLD...
// Every combination of lists such as 1,2,4 is timed. --gpus is the number of GPUs that share a join. --sets
// is the number of sets of a file, evenly spread over it. --cpu also times the CPU engine; 0 threads are one
// per core. The strategies of `all` are compared with each other. Files are named PROFILE-SCALE if their
// results are to be compared with baselines.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <initializer_list>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cuda/base/gpus.hpp"
#include "gpu/bench_report.hpp"

namespace {

using namespace simjoin;
using namespace simjoin::bench;

// The joins to time with each file.
struct Plan {
  std::vector<std::string> files;
  std::vector<double> thresholds;
  std::vector<std::string> strategies{"auto"}, kernels{"fastest"};
  std::vector<size_t> sets{SIZE_MAX}, gpus{1}, gpu_memory{0};  // mebibytes
  std::vector<size_t> groups{0};
  std::vector<size_t> cpu_threads;
  int repeat = 3;
  double time_limit_s = 60;
  bool reasons = false;
  std::string csv;
  std::vector<std::string> baselines;
};

std::vector<std::string> list_of(const std::string &text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, ',');) words.push_back(word);
  if (words.empty()) throw std::runtime_error("an empty list");
  return words;
}

std::vector<size_t> numbers_of(const std::string &text) {
  std::vector<size_t> numbers;
  for (const std::string &word : list_of(text)) numbers.push_back(std::stoull(word));
  return numbers;
}

template <typename Value>
Value value_named(const std::string &name, std::initializer_list<std::pair<const char *, Value>> names) {
  for (const auto &[known, value] : names) {
    if (name == known) return value;
  }
  throw std::runtime_error("unknown name: " + name);
}

Way way_of(const std::string &strategy, const std::string &kernel) {
  using Strategy = GpuOptions::Strategy;
  Way way;
  way.strategy = strategy;
  way.kernel = kernel;
  way.cpu_gpu = strategy == "cpu_gpu";
  if (!way.cpu_gpu) {
    way.options.strategy = value_named<Strategy>(strategy, {{"auto", Strategy::automatic},
                                                            {"bitmap", Strategy::bitmap},
                                                            {"prefix", Strategy::prefix},
                                                            {"gssjoin", Strategy::gssjoin},
                                                            {"fgssjoin", Strategy::fgssjoin},
                                                            {"sf_gssjoin", Strategy::sf_gssjoin}});
  }
  way.options.bitmap_kernel = value_named<BitmapKernel>(kernel, {{"fastest", BitmapKernel::fastest},
                                                                 {"warpgroup", BitmapKernel::warpgroup},
                                                                 {"warp", BitmapKernel::warp},
                                                                 {"popcount", BitmapKernel::popcount}});
  return way;
}

// Reads the arguments. Throws std::exception if they are not as above.
Plan plan_of(int argc, char **argv) {
  Plan plan;
  int i = 1;
  const auto value = [&]() -> std::string {
    if (++i >= argc) throw std::runtime_error(std::string(argv[argc - 1]) + " needs a value");
    return argv[i];
  };
  for (; i < argc && std::string(argv[i]) != "--"; ++i) {
    const std::string argument = argv[i];
    if (argument == "--strategy") {
      const std::string names = value();
      plan.strategies =
          list_of(names == "all" ? "bitmap,prefix,gssjoin,fgssjoin,sf_gssjoin,cpu_gpu,auto" : names);
    } else if (argument == "--kernel") {
      plan.kernels = list_of(value());
    } else if (argument == "--sets") {
      plan.sets = numbers_of(value());
    } else if (argument == "--group") {
      plan.groups = numbers_of(value());
    } else if (argument == "--gpus") {
      plan.gpus = numbers_of(value());
    } else if (argument == "--gpu-memory") {
      plan.gpu_memory = numbers_of(value());
    } else if (argument == "--cpu") {
      plan.cpu_threads = numbers_of(value());
    } else if (argument == "--repeat") {
      plan.repeat = std::stoi(value());
    } else if (argument == "--time-limit") {
      plan.time_limit_s = std::stod(value());
    } else if (argument == "--csv") {
      plan.csv = value();
    } else if (argument == "--baseline") {
      plan.baselines.push_back(value());
    } else if (argument == "--reasons") {
      plan.reasons = true;
    } else if (argument.starts_with("--")) {
      throw std::runtime_error("unknown option " + argument);
    } else {
      plan.files.push_back(argument);
    }
  }
  for (++i; i < argc; ++i) plan.thresholds.push_back(std::stod(argv[i]));
  if (plan.files.empty() || plan.thresholds.empty()) throw std::runtime_error("no file, or no threshold");
  return plan;
}

// Returns the plan's ways of joining, each with its label in the table.
std::vector<std::pair<Way, std::string>> ways_of(const Plan &plan, bool with_gpu) {
  std::vector<std::pair<Way, std::string>> ways;
  for (const std::string &strategy : plan.strategies) {
    for (const std::string &kernel : plan.kernels) {
      for (const size_t gpus : plan.gpus) {
        for (const size_t memory : plan.gpu_memory) {
          for (const size_t group : plan.groups) {
            Way way = way_of(strategy, kernel);
            way.options.workers = static_cast<int>(gpus);
            way.options.gpus = 0;  // with 0 workers, as many as pay
            way.options.memory_limit = memory << 20;
            way.options.bitmap_group = static_cast<uint32_t>(group);
            std::string label;
            if (plan.strategies.size() > 1) label.append(" ").append(strategy);
            if (plan.kernels.size() > 1) label.append(" ").append(kernel);
            if (plan.gpus.size() > 1) label.append(" on ").append(std::to_string(gpus));
            if (memory != 0) label.append(" in ").append(std::to_string(memory)).append("MB");
            if (group != 0) label.append(" groups of ").append(std::to_string(group));
            if (with_gpu) ways.emplace_back(std::move(way), std::move(label));
          }
        }
      }
    }
  }
  for (const size_t threads : plan.cpu_threads) {
    Way way;
    way.gpu = false;
    way.threads = static_cast<int>(threads);
    way.strategy = "auto";
    std::string label = " cpu";
    if (threads > 0) label.append(" ").append(std::to_string(threads));
    ways.emplace_back(std::move(way), std::move(label));
  }
  return ways;
}

void time_file(const Plan &plan, const std::vector<std::pair<Way, std::string>> &ways,
               const std::string &path, GpuReport &report) {
  const Collection whole = read_collection(path);
  Joined joined;
  joined.file = path.substr(path.rfind('/') + 1);
  for (const size_t sets : plan.sets) {
    joined.whole = sets >= whole.size();
    const Collection some = joined.whole ? Collection{} : whole.spread(sets);
    const Collection &collection = joined.whole ? whole : some;
    joined.sets = collection.size();
    joined.tokens = collection.tokens.size();
    for (const double threshold : plan.thresholds) {
      joined.threshold = threshold;
      for (const auto &[way, label] : ways) {
        const Run run = time_join(collection, threshold, way, plan.repeat, plan.time_limit_s);
        std::string name = joined.file;
        if (!joined.whole) name.append(" ").append(std::to_string(sets));
        report.add(joined, way, name.append(label), run);
        if (!plan.reasons) continue;
        for (const std::string &reason : run.stats.reasons) std::printf("  %s\n", reason.c_str());
      }
      report.compare_strategies();
    }
  }
}

// Sets the device up, so that the first timed join does not wait for that.
void warm_up() {
  Collection sets;
  for (const uint32_t token : {1u, 2u}) sets.append(std::span(&token, 1));
  const Run run = time_join(sets, 0.5, way_of("auto", "fastest"), 1, 60);
  if (!run.error.empty()) throw std::runtime_error(run.error);
}

}  // namespace

int main(int argc, char **argv) try {
  const Plan plan = plan_of(argc, argv);
  std::string reason;
  const bool with_gpu = gpu_available(&reason);
  if (!with_gpu) std::printf("no GPU to measure: %s\n", reason.c_str());
  const auto ways = ways_of(plan, with_gpu);
  if (ways.empty()) return 0;
  if (with_gpu) warm_up();
  GpuReport report(plan.csv, plan.baselines);
  report.print_heading();
  for (const std::string &file : plan.files) time_file(plan, ways, file, report);
  return report.print_summary() ? 0 : 1;
} catch (const std::exception &error) {
  std::fprintf(stderr, "simjoin_gpu_bench: %s\n", error.what());
  return 2;
}
