// simjoin_gpu_weighted_bench: times self-joins of documents with tf-idf weights on the CPU and on a GPU.
//   simjoin_gpu_weighted_bench [DOCUMENTS [THREADS [REPEATS [THRESHOLD...]]]]
// Documents have 20 to 100 terms, as those of test/bench/weighted.sql. One in five is a variant of an earlier
// one. Prints milliseconds from the end of the input to the last pair, the best of the repeats.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <random>
#include <set>
#include <span>
#include <vector>

#include "core/device/gpu.hpp"
#include "core/set_slices.hpp"
#include "core/weighted/weighted_join.hpp"
#include "cuda/base/gpus.hpp"

namespace {

using namespace simjoin;

struct Document {
  std::vector<int32_t> terms;
  std::vector<double> weights;
};

std::vector<Document> documents_of(size_t count) {
  std::mt19937_64 random(5);
  const double words = 100 * std::sqrt(static_cast<double>(count));
  const auto fraction = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  std::vector<std::vector<int32_t>> drawn(count);
  for (size_t i = 0; i < count; ++i) {
    if (i % 5 == 4) {
      drawn[i] = drawn[i - 1 - i % 3];
      for (int32_t &term : drawn[i])
        if (fraction() < 0.08) term = static_cast<int32_t>(fraction() * words);
      continue;
    }
    const size_t size = 20 + random() % 81;
    for (size_t j = 0; j < size; ++j)
      drawn[i].push_back(static_cast<int32_t>(std::pow(words, std::pow(fraction(), 0.8))));
  }
  std::vector<uint32_t> frequency(static_cast<size_t>(words) + 2, 0);
  for (auto &terms : drawn) {
    std::sort(terms.begin(), terms.end());
    for (const int32_t term : std::set<int32_t>(terms.begin(), terms.end()))
      ++frequency[static_cast<size_t>(term)];
  }
  std::vector<Document> documents(count);
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0, end = 0; j < drawn[i].size(); j = end) {
      while (end < drawn[i].size() && drawn[i][end] == drawn[i][j]) ++end;
      const double idf = std::log(static_cast<double>(count) / frequency[static_cast<size_t>(drawn[i][j])]);
      documents[i].terms.push_back(drawn[i][j]);
      documents[i].weights.push_back(static_cast<float>(static_cast<double>(end - j) * idf));
    }
  }
  return documents;
}

double time_join(const std::vector<Document> &documents, const JoinSpec &spec, JoinStats &stats) {
  const auto join = make_weighted_join(spec);
  for (const Document &document : documents) {
    const auto count = static_cast<uint32_t>(document.terms.size());
    join->add(Side::left, row_of(std::span<const int32_t>(document.terms), count, document.weights.data()));
  }
  const auto begun = std::chrono::steady_clock::now();
  Batch batch;
  while (join->step(std::chrono::milliseconds(10), batch) != StepResult::done) {
  }
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begun;
  stats = join->stats();
  return taken.count();
}

void measure(const std::vector<Document> &documents, JoinSpec spec, int repeats) {
  std::printf("%-8s %.2f", spec.measure == Measure::cosine ? "cosine" : "jaccard", spec.threshold);
  for (const Device device : {Device::cpu, Device::gpu}) {
    spec.device = device;
    double best = 0;
    JoinStats best_stats;
    for (int i = 0; i < repeats; ++i) {
      JoinStats stats;
      const double ms = time_join(documents, spec, stats);
      if (i > 0 && ms >= best) continue;
      best = ms;
      best_stats = stats;
    }
    std::printf("  %s %.0f (build %.0f, filter %.0f, verify %.0f, join %.0f)",
                device == Device::cpu ? "cpu" : "gpu", best, best_stats.build_ms, best_stats.filter_ms,
                best_stats.verify_ms, best_stats.join_ms);
    if (device == Device::gpu)
      std::printf("  candidates %llu  pairs %llu", static_cast<unsigned long long>(best_stats.after_prefix),
                  static_cast<unsigned long long>(best_stats.output));
  }
  spec.device = Device::automatic;
  JoinStats stats;
  time_join(documents, spec, stats);
  std::printf("  auto: %s\n", stats.device.c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char **argv) try {
  std::string reason;
  if (!gpu_available(&reason)) {
    std::printf("no GPU to measure on: %s\n", reason.c_str());
    return 0;
  }
  set_gpu_backend(&cuda_backend());
  const auto documents = documents_of(argc > 1 ? static_cast<size_t>(std::atoll(argv[1])) : 100'000);
  JoinSpec spec;
  spec.self_join = true;
  spec.memory_limit = size_t{64} << 30;
  spec.threads = argc > 2 ? std::atoi(argv[2]) : 0;
  const int repeats = argc > 3 ? std::max(1, std::atoi(argv[3])) : 3;
  std::vector<double> thresholds;
  for (int i = 4; i < argc; ++i) thresholds.push_back(std::atof(argv[i]));
  if (thresholds.empty()) thresholds = {0.9, 0.8, 0.7, 0.5};
  for (const Measure measured : {Measure::jaccard, Measure::cosine}) {
    for (const double threshold : thresholds) {
      spec.measure = measured;
      spec.threshold = threshold;
      measure(documents, spec, repeats);
    }
  }
  return 0;
} catch (const std::exception &error) {
  std::fprintf(stderr, "simjoin_gpu_weighted_bench: %s\n", error.what());
  return 1;
}
