// Times the graph functions on R-MAT graphs, on the CPU and, in a build that has the device layer, on a GPU.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

#include "core/base/parallel_ranges.hpp"
#include "core/device/gpu.hpp"
#include "core/graph/components.hpp"
#include "core/graph/densest.hpp"
#include "core/graph/graph_device.hpp"
#include "core/graph/pagerank.hpp"
#include "core/graph/random.hpp"

namespace simjoin::bench {
namespace {

struct Options {
  uint64_t nodes = 1 << 16;
  uint64_t edges = 1 << 20;
  int threads = 2;
  int repeats = 1;
  std::vector<uint32_t> coupons = {10};  // walks per node
  double tolerance = 1e-9;
  uint32_t k = 100;
  bool scattered = false;  // ids far apart
  bool weighted = false;
  bool cpu = true;
  bool gpu = false;
  std::string functions = "plain,components,power,walk,bilinear,greedy";
};

constexpr const char *usage =
    "usage: simjoin_graph_bench [--nodes N] [--edges M] [--threads T] [--repeats R] [--functions LIST]\n"
    "  [--coupons C,...] [--tolerance E] [--k K] [--scattered] [--weighted] [--device cpu|gpu|both]\n"
    "Functions: plain (components by a plain union-find), components, power, walk, bilinear, greedy.\n";

// The edges of an R-MAT graph (Chakrabarti, Zhan and Faloutsos 2004) with the probabilities of the Graph 500
// benchmark. The nodes are scaled to any number. With `lone`, all of them occur.
class Rmat {
 public:
  explicit Rmat(const Options &options) : options_(options) {
    while (uint64_t{1} << levels_ < options.nodes) ++levels_;
  }

  int64_t id(uint64_t node) const {
    if (!options_.scattered) return static_cast<int64_t>(node);
    return static_cast<int64_t>(node * 0x9E3779B97F4A7C15u);
  }

  void edge(uint64_t number, int64_t ends[2]) const {
    WalkRandom random(1, number);
    uint64_t from = 0, to = 0;
    for (int level = 0; level < levels_; ++level) {
      const double draw = random.fraction();
      const bool right = draw >= 0.57 && (draw < 0.76 || draw >= 0.95), lower = draw >= 0.76;
      from = from << 1 | (lower ? 1u : 0u);
      to = to << 1 | (right ? 1u : 0u);
    }
    ends[0] = id(scaled(from));
    ends[1] = id(scaled(to));
  }
  double weight(uint64_t number) const { return 0.25 + WalkRandom(2, number).fraction(); }

  EdgeList edges(WorkerPool &pool, MemoryCounter &memory) const {
    EdgeList list(memory);
    if (options_.weighted) {
      for (uint64_t i = 0; i < options_.edges; ++i) {
        int64_t ends[2];
        edge(i, ends);
        list.add_edge(ends[0], ends[1], weight(i));
      }
      return list;
    }
    const int64_t last = static_cast<int64_t>(options_.nodes) - 1;
    int64_t *ends = options_.scattered ? list.add_edges(options_.edges, INT64_MIN, INT64_MAX)
                                       : list.add_edges(options_.edges, 0, last);
    for_ranges(pool, options_.edges, entries_per_range, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) edge(i, ends + 2 * i);
    });
    return list;
  }

 private:
  uint64_t scaled(uint64_t place) const {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(place) * options_.nodes >> levels_);
  }

  const Options &options_;
  int levels_ = 0;
};

// The result of a function in a form that can be compared and printed.
struct Outcome {
  std::string text;
  uint64_t hash = 0;
  size_t nodes = 0;
};

template <typename T>
uint64_t hash_of(const Buffer<T> &values, uint64_t hash = 0) {
  for (const T &value : values) {
    uint64_t bits;
    static_assert(sizeof value == sizeof bits);
    std::memcpy(&bits, &value, sizeof bits);
    hash = mix_bits(hash ^ bits);
  }
  return hash;
}

using Result = std::variant<Components, Ranks, DenseSubgraph>;

Outcome outcome(const Components &found) {
  size_t count = 0;
  for (size_t i = 0; i < found.nodes.size(); ++i) count += found.nodes[i] == found.components[i];
  return {std::to_string(count) + " components", hash_of(found.components, hash_of(found.nodes)),
          found.nodes.size()};
}

Outcome outcome(const Ranks &found) {
  char text[80];
  std::snprintf(text, sizeof text, "largest rank %.8f",
                *std::max_element(found.ranks.begin(), found.ranks.end()));
  return {text, hash_of(found.ranks, hash_of(found.nodes)), found.nodes.size()};
}

Outcome outcome(const DenseSubgraph &found) {
  char text[80];
  std::snprintf(text, sizeof text, "density %.2f of at most %.2f", found.density, found.upper_bound);
  return {text, hash_of(found.nodes), found.nodes.size()};
}

// The components by the straightforward way: a hash table of the standard library and a union-find.
Components plain_components(const EdgeList &edges, MemoryCounter &memory) {
  std::unordered_map<int64_t, uint32_t> numbers;
  std::vector<int64_t> nodes;
  std::vector<uint32_t> parents;
  const auto number_of = [&](int64_t node) {
    const auto [at, added] = numbers.try_emplace(node, static_cast<uint32_t>(nodes.size()));
    if (added) {
      nodes.push_back(node);
      parents.push_back(at->second);
    }
    return at->second;
  };
  const auto find = [&](uint32_t number) {
    while (parents[number] != number) number = parents[number] = parents[parents[number]];
    return number;
  };
  for (size_t i = 0; i < edges.size(); ++i) {
    const uint32_t a = find(number_of(edges.ends()[2 * i])), b = find(number_of(edges.ends()[2 * i + 1]));
    if (a != b) parents[nodes[a] < nodes[b] ? b : a] = nodes[a] < nodes[b] ? a : b;
  }
  Components result(memory);
  std::vector<uint32_t> order(nodes.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return nodes[a] < nodes[b]; });
  for (const uint32_t number : order) {
    result.nodes.push_back(nodes[number]);
    result.components.push_back(nodes[find(number)]);
  }
  return result;
}

Components components(const EdgeList &edges, WorkerPool &pool, MemoryCounter &memory) {
  ComponentFinder finder(memory);
  for (size_t i = 0; i < edges.size(); ++i) finder.add_edge(edges.ends()[2 * i], edges.ends()[2 * i + 1]);
  return finder.components(pool);
}

Result run_on_cpu(const std::string &function, uint32_t coupons, EdgeList &edges, const Options &options,
                  WorkerPool &pool, MemoryCounter &memory) {
  if (function == "plain") return plain_components(edges, memory);
  if (function == "components") return components(edges, pool, memory);
  if (function == "power")
    return pagerank_power(edges, EdgeUse::directed, 0.85, options.tolerance, pool, memory);
  if (function == "walk")
    return pagerank_random_walk(edges, EdgeUse::directed, 0.85, coupons, 1, pool, memory);
  const DensestMethod method = function == "bilinear" ? DensestMethod::bilinear : DensestMethod::greedy;
  return densest_subgraph(edges, options.k, method, pool, memory);
}

GraphFigures figures;

Result run_on_gpu(const std::string &function, uint32_t coupons, EdgeList &edges, const Options &options,
                  WorkerPool &pool, MemoryCounter &memory) {
  const HostSide host{pool, memory, 0, &figures};
  GraphDevice &device = *gpu_backend()->graphs();
  if (function == "components") return device.components(edges, host);
  if (function == "power")
    return device.pagerank_power(edges, EdgeUse::directed, 0.85, options.tolerance, host);
  if (function == "walk")
    return device.pagerank_random_walk(edges, EdgeUse::directed, 0.85, coupons, 1, host);
  const auto spectrum = [&](const Graph &graph, WorkerPool &, MemoryCounter &) {
    return device.leading_eigenvectors(graph, host);
  };
  return densest_subgraph(edges, options.k, DensestMethod::bilinear, pool, memory, spectrum);
}

void print_figures() {
  const GraphFigures &f = figures;
  std::printf(" %.0f | %.0f | %.1f | %.0f | %.3g | %.1f |", f.upload_ms, f.lists_ms, f.compute_ms,
              f.download_ms, static_cast<double>(f.steps),
              static_cast<double>(f.device_memory_peak) / (1 << 30));
}

double user_ms() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec) * 1e3 +
         static_cast<double>(usage.ru_utime.tv_usec) * 1e-3;
}

// The edges of one graph, which are made again after a function has used them up. A GPU leaves them
// unchanged.
class Edges {
 public:
  Edges(const Options &options, WorkerPool &pool) : options_(options), pool_(pool) {}

  MemoryCounter &memory() { return memory_; }
  EdgeList &take(bool kept) {
    if (!edges_) edges_.emplace(Rmat(options_).edges(pool_, memory_));
    EdgeList &edges = *edges_;
    used_up_ = !kept;
    return edges;
  }
  // Forgets edges that were used up.
  void give_back() {
    if (used_up_) edges_.reset();
  }

 private:
  const Options &options_;
  WorkerPool &pool_;
  MemoryCounter memory_;
  std::optional<EdgeList> edges_;
  bool used_up_ = false;
};

// Runs the function and prints its best time. Returns its result.
Outcome measure(const std::string &function, uint32_t coupons, bool gpu, const Options &options,
                Edges &source, WorkerPool &pool) {
  Outcome found;
  double best = 0, best_user = 0;
  for (int repeat = 0; repeat < options.repeats; ++repeat) {
    const bool used_up = function == "bilinear" || function == "greedy" ||
                         (!gpu && (function == "power" || function == "walk"));
    EdgeList &edges = source.take(!used_up);
    MemoryCounter &memory = source.memory();
    const double user = user_ms();
    const auto begin = std::chrono::steady_clock::now();
    const Result result = (gpu ? run_on_gpu : run_on_cpu)(function, coupons, edges, options, pool, memory);
    const double time =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    if (repeat == 0 || time < best) {
      best = time;
      best_user = user_ms() - user;
    }
    found = std::visit([](const auto &some) { return outcome(some); }, result);
    source.give_back();
  }
  const std::string name = function == "walk" ? "walk " + std::to_string(coupons) : function;
  std::printf("| %s | %s | %d | %zu | %llu | %.*f | %.*f | %.0f |", name.c_str(), gpu ? "gpu" : "cpu",
              options.threads, found.nodes, static_cast<unsigned long long>(options.edges), best < 10 ? 3 : 0,
              best, best < 10 ? 3 : 0, best_user, static_cast<double>(source.memory().peak()) / (1 << 20));
  if (gpu)
    print_figures();
  else
    std::printf(" | | | | | |");
  std::printf(" %s |\n", found.text.c_str());
  std::fflush(stdout);
  return found;
}

// Returns whether all devices agree.
bool run_all(const Options &options) {
  const StopFlag stop;
  WorkerPool pool(options.threads, stop);
  std::printf(
      "| function | device | th | nodes | edges | ms | user ms | peak MB | upload | lists | compute | "
      "download "
      "| steps | GPU GB | result |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  bool agree = true;
  Edges edges(options, pool);
  if (options.gpu) {  // sets the device up
    EdgeList one(edges.memory());
    one.add_edge(1, 2);
    gpu_backend()->graphs()->components(one, {pool, edges.memory(), 0});
  }
  for (size_t begin = 0; begin < options.functions.size();) {
    const size_t end = std::min(options.functions.find(',', begin), options.functions.size());
    const std::string function = options.functions.substr(begin, end - begin);
    begin = end + 1;
    const bool on_gpu = options.gpu && function != "plain" && function != "greedy";
    for (size_t i = 0; i < (function == "walk" ? options.coupons.size() : 1); ++i) {
      Outcome cpu, gpu;
      if (options.cpu) cpu = measure(function, options.coupons[i], false, options, edges, pool);
      if (on_gpu) gpu = measure(function, options.coupons[i], true, options, edges, pool);
      if (!options.cpu || !on_gpu || cpu.hash == gpu.hash) continue;
      std::printf("%s: THE DEVICES DISAGREE\n", function.c_str());
      agree = false;
    }
  }
  return agree;
}

std::vector<uint32_t> numbers_of(const char *list) {
  std::vector<uint32_t> numbers;
  for (const char *at = list; at != nullptr; at = std::strchr(at, ',')) {
    if (*at == ',') ++at;
    numbers.push_back(static_cast<uint32_t>(std::atoi(at)));
  }
  return numbers;
}

bool parse(int argc, char **argv, Options &options) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--scattered") {
      options.scattered = true;
      continue;
    }
    if (name == "--weighted") {
      options.weighted = true;
      continue;
    }
    if (++i == argc) return false;
    const char *value = argv[i];
    if (name == "--nodes")
      options.nodes = std::strtoull(value, nullptr, 10);
    else if (name == "--edges")
      options.edges = std::strtoull(value, nullptr, 10);
    else if (name == "--threads")
      options.threads = std::atoi(value);
    else if (name == "--repeats")
      options.repeats = std::atoi(value);
    else if (name == "--coupons")
      options.coupons = numbers_of(value);
    else if (name == "--tolerance")
      options.tolerance = std::atof(value);
    else if (name == "--k")
      options.k = static_cast<uint32_t>(std::atoi(value));
    else if (name == "--functions")
      options.functions = value;
    else if (name == "--device")
      options.cpu = std::strcmp(value, "gpu") != 0, options.gpu = std::strcmp(value, "cpu") != 0;
    else
      return false;
  }
  return options.nodes > 1 && options.nodes < uint64_t{1} << 32 && options.edges > 0 && options.threads > 0 &&
         options.repeats > 0 && std::ranges::find(options.coupons, 0u) == options.coupons.end() &&
         options.k > 0;
}

}  // namespace
}  // namespace simjoin::bench

int main(int argc, char **argv) {
  simjoin::bench::Options options;
  if (!simjoin::bench::parse(argc, argv, options)) {
    std::fputs(simjoin::bench::usage, stderr);
    return 2;
  }
  std::string reason = "this build has no GPU engine";
#ifdef SIMJOIN_CUDA
  simjoin::set_gpu_backend(&simjoin::cuda_backend());
  if (simjoin::gpu_backend()->available(reason)) reason.clear();
#endif
  if (options.gpu && !reason.empty()) {
    std::printf("no GPU to run on: %s\n", reason.c_str());
    return options.cpu ? 1 : 0;
  }
  return simjoin::bench::run_all(options) ? 0 : 1;
}
