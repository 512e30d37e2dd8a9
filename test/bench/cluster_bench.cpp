// Times the clustering of documents, and compares the clusters of batches with those of the serial algorithm.
//   simjoin_cluster_bench [--documents N,...] [--vocabulary N] [--text FILE] [--batch N,...] [--threshold T]
//   [--merge T] [--threads N]
//   [--device cpu|gpu|recorded] [--no-serial]
// Prints a line per run. `processor` is the processor time of all threads in seconds. `ari` is the adjusted
// Rand index against batches of 1, and `stories` against the stories of a synthetic stream. `same` tells for
// --device gpu and recorded whether the clusters are those of the same batch size on the CPU. `recorded`
// (`host`) times the work of a host beside a GPU, with known results of searches.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/news.hpp"
#include "bench/recorded_device.hpp"
#include "core/clusters/document_clusters.hpp"
#include "core/device/gpu.hpp"

namespace simjoin::bench {
namespace {

struct Options {
  std::vector<size_t> documents = {62'500, 125'000, 250'000, 500'000};
  std::vector<uint32_t> batches = {1024};
  std::string text;
  size_t vocabulary = 300'000;
  double threshold = 0.7;
  double merge = 0;
  int threads = 1;
  std::string device = "cpu";
  bool serial = true;
};

struct Run {
  std::vector<uint32_t> clusters;  // of each document
  uint32_t count = 0;
  double seconds = 0;     // with the numbering of terms
  double clustering = 0;  // without
  double processor = 0;   // of clustering
  DocumentClusters::Figures figures;
};

// Returns the adjusted Rand index of two partitions (Hubert and Arabie, 1985).
double adjusted_rand_index(const std::vector<uint32_t> &a, const std::vector<uint32_t> &b) {
  std::map<std::pair<uint32_t, uint32_t>, double> both;
  std::map<uint32_t, double> of_a, of_b;
  for (size_t i = 0; i < a.size(); ++i) {
    ++both[{a[i], b[i]}];
    ++of_a[a[i]];
    ++of_b[b[i]];
  }
  const auto pairs = [](const auto &counts) {
    double sum = 0;
    for (const auto &[key, count] : counts) sum += count * (count - 1) / 2;
    return sum;
  };
  const double together = pairs(both), in_a = pairs(of_a), in_b = pairs(of_b);
  const double all = static_cast<double>(a.size()) * (static_cast<double>(a.size()) - 1) / 2;
  const double expected = in_a * in_b / all, most = (in_a + in_b) / 2;
  return most == expected ? 1 : (together - expected) / (most - expected);
}

Run run(const NewsStream &stream, uint32_t batch, Device device, const Options &options) {
  ClusterOptions cluster_options;
  cluster_options.threshold = options.threshold;
  cluster_options.batch = batch;
  cluster_options.merge = options.merge;
  cluster_options.device = device;
  cluster_options.threads = options.threads;
  DocumentClusters clusters(cluster_options);
  Run result;
  const auto begin = std::chrono::steady_clock::now();
  std::chrono::steady_clock::duration waited{};
  std::clock_t used = 0;
  size_t term = 0;
  for (size_t i = 0; i < stream.size(); ++i) {
    for (; term < stream.ends[i]; ++term)
      clusters.add_term(clusters.terms().id_of(int64_t{stream.terms[term].term}), stream.terms[term].weight);
    clusters.end_document();
    if (!clusters.full() && i + 1 < stream.size()) continue;
    if (i + 1 == stream.size() && options.merge > 0) clusters.end_batch();
    const auto wait = std::chrono::steady_clock::now();
    const std::clock_t before = std::clock();
    while (!clusters.step(std::chrono::milliseconds(10))) {
    }
    waited += std::chrono::steady_clock::now() - wait;
    used += std::clock() - before;
    for (size_t j = 0; j < clusters.size(); ++j) result.clusters.push_back(clusters[j].cluster);
    clusters.clear();
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  result.clustering = std::chrono::duration<double>(waited).count();
  result.processor = static_cast<double>(used) / CLOCKS_PER_SEC;
  clusters.settle();
  for (uint32_t &cluster : result.clusters) cluster = clusters.survivor_of(cluster);
  for (uint32_t i = 0; i < clusters.clusters(); ++i) result.count += clusters.survivor_of(i) == i;
  result.figures = clusters.figures();
  return result;
}

void print(const NewsStream &stream, const char *device, uint32_t batch, const Run &run, const Run *serial,
           const char *same) {
  std::printf("%8zu %4s %5u %8u %8.3f %8.3f %8.3f %7.3f %7.3f %7.3f %7.3f", stream.size(), device, batch,
              run.count, run.seconds, run.clustering, run.processor, run.figures.vectors_ms / 1000,
              run.figures.search_ms / 1000, run.figures.assign_ms / 1000, run.figures.publish_ms / 1000);
  std::printf(
      " %s %s",
      serial == nullptr ? "-" : std::to_string(adjusted_rand_index(run.clusters, serial->clusters)).c_str(),
      stream.stories.empty() ? "-"
                             : std::to_string(adjusted_rand_index(run.clusters, stream.stories)).c_str());
  std::printf(" %s\n", same);
  std::fflush(stdout);
}

// Returns a run whose searches take no time, with the requested threads.
Run run_with_recorded_searches(const NewsStream &stream, uint32_t batch, const Options &options) {
  RecordedSearches searches;
  const RecordingBackend backend(searches);
  run(stream, batch, Device::gpu, options);
  searches.complete = true;
  return run(stream, batch, Device::gpu, options);
}

// Returns whether the GPU's clusters, if requested, are those of the CPU.
bool bench(const NewsStream &stream, const Options &options) {
  bool right = true;
  Run serial;
  const Run *reference = nullptr;
  if (options.serial) {
    serial = run(stream, 1, Device::cpu, options);
    reference = &serial;
    print(stream, "cpu", 1, serial, reference, "-");
  }
  for (const uint32_t batch : options.batches) {
    const Run on_cpu = run(stream, batch, Device::cpu, options);
    print(stream, "cpu", batch, on_cpu, reference, "-");
    if (options.device == "cpu") continue;
    const bool recorded = options.device == "recorded";
    const Run on_gpu = recorded ? run_with_recorded_searches(stream, batch, options)
                                : run(stream, batch, Device::gpu, options);
    const bool same = on_gpu.clusters == on_cpu.clusters;
    print(stream, recorded ? "host" : "gpu", batch, on_gpu, reference, same ? "same" : "DIFFERENT");
    right = right && same;
  }
  return right;
}

std::vector<size_t> numbers(const char *list) {
  std::vector<size_t> result;
  for (char *at = const_cast<char *>(list); *at != '\0'; at += *at == ',') {
    char *end = nullptr;
    const size_t number = std::strtoull(at, &end, 10);
    if (end == at || number == 0) throw std::runtime_error(std::string("not a list of numbers: ") + list);
    result.push_back(number);
    at = end;
  }
  return result;
}

Options parse(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--no-serial") {
      options.serial = false;
      continue;
    }
    if (i + 1 == argc) throw std::runtime_error("unknown option, or one without a value: " + option);
    const char *value = argv[++i];
    if (option == "--documents") {
      options.documents = numbers(value);
    } else if (option == "--batch") {
      options.batches.clear();
      for (const size_t batch : numbers(value)) options.batches.push_back(static_cast<uint32_t>(batch));
    } else if (option == "--text") {
      options.text = value;
    } else if (option == "--vocabulary") {
      options.vocabulary = numbers(value).front();
    } else if (option == "--threshold") {
      options.threshold = std::atof(value);
    } else if (option == "--merge") {
      options.merge = std::atof(value);
    } else if (option == "--threads") {
      options.threads = std::atoi(value);
    } else if (option == "--device") {
      options.device = value;
    } else {
      throw std::runtime_error("unknown option: " + option);
    }
  }
  return options;
}

int run_all(const Options &options) {
  if (options.device == "gpu") {
#ifdef SIMJOIN_CUDA
    set_gpu_backend(&cuda_backend());
    std::string reason;
    if (!cuda_backend().available(reason)) {
      std::printf("no GPU: %s\n", reason.c_str());
      return 77;
    }
    Options warm_up = options;
    warm_up.threads = 1;
    run(news_stream(2048, 10'000, 9), 1024, Device::gpu, warm_up);
#else
    std::printf("no GPU: this build has no GPU engine\n");
    return 77;
#endif
  }
  std::printf(
      "documents on batch clusters total clustering processor vectors search assign publish (s) ari "
      "stories\n");
  bool right = true;
  if (!options.text.empty()) {
    right = bench(text_stream(options.text), options);
  } else {
    for (const size_t documents : options.documents)
      right = bench(news_stream(documents, options.vocabulary, 1), options) && right;
  }
  return right ? 0 : 1;
}

}  // namespace
}  // namespace simjoin::bench

int main(int argc, char **argv) {
  try {
    return simjoin::bench::run_all(simjoin::bench::parse(argc, argv));
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
