#include "bench/report.hpp"

#include <stdexcept>

namespace simjoin::bench {

namespace {

constexpr double mebibyte = 1024.0 * 1024.0;

const char *name_of(Outcome outcome) {
  constexpr const char *names[] = {"done", "cancelled", "failed"};
  return names[static_cast<size_t>(outcome)];
}

void print_ratio(const Cell &cell, const BaselineTime *baseline) {
  if (baseline == nullptr) return;
  std::printf("  %s%.2f x %s", baseline->at_least ? "> " : "", ratio(cell, *baseline),
              baseline->source.c_str());
}

// Index and join: the total without scan, ranks and order.
double index_and_join_ms(const Cell &cell) {
  return cell.stats.build_ms - cell.stats.order_ms + cell.stats.join_ms;
}

}  // namespace

double ratio(const Cell &cell, const BaselineTime &baseline) {
  const double ms = baseline.index_and_join ? index_and_join_ms(cell) : cell.total_ms;
  return 1000 * baseline.seconds / ms;
}

void print_heading(const std::string &shape, double scale, const Collection &collection,
                   double generation_s) {
  std::printf("\n%s %g: %zu sets, %zu tokens, average %.1f (made in %.1f s)\n", shape.c_str(), scale,
              collection.size(), collection.tokens.size(),
              static_cast<double>(collection.tokens.size()) / static_cast<double>(collection.size()),
              generation_s);
  std::printf("%-8s %9s %-10s %2s %11s %12s %8s %8s %8s %9s %9s %9s %9s %8s  %s\n", "measure", "threshold",
              "algorithm", "th", "pairs", "verified", "scan", "order", "index", "filter", "verify", "join",
              "total ms", "peak MB", "times faster than");
}

void print_cell(const Cell &cell, const Comparison &comparison) {
  std::printf("%-8s %9.3g %-10s ", measure_names[static_cast<size_t>(cell.measure)].data(), cell.threshold,
              algorithm_names[static_cast<size_t>(cell.algorithm)].data());
  if (cell.outcome == Outcome::failed) {
    std::printf("failed: %s\n", cell.error.c_str());
    return;
  }
  const JoinStats &stats = cell.stats;
  std::printf("%2d %11llu %12llu %8.0f %8.0f %8.0f %9.0f %9.0f %9.0f %9.0f %8.1f", stats.threads,
              static_cast<unsigned long long>(cell.pairs), static_cast<unsigned long long>(stats.verified),
              cell.scan_ms, stats.order_ms, stats.build_ms - stats.order_ms, stats.filter_ms, stats.verify_ms,
              stats.join_ms, cell.total_ms, static_cast<double>(stats.memory_peak) / mebibyte);
  if (cell.outcome == Outcome::cancelled) {
    std::printf("  cancelled");
  } else {
    print_ratio(cell, comparison.published);
    print_ratio(cell, comparison.own);
  }
  if (cell.algorithm == Algorithm::automatic) std::printf("  [%s]", stats.algorithm.c_str());
  if (stats.partitions > 0) {
    std::printf("  %u parts, %.1f MB on disk", stats.partitions,
                static_cast<double>(stats.spilled_bytes) / mebibyte);
  }
  std::printf("\n");
  std::fflush(stdout);
}

void print_times_as_long(const Cell &whole, const Cell &limited) {
  if (whole.outcome != Outcome::done || limited.outcome != Outcome::done) return;
  std::printf(
      "    %.2f times as long, %.2f times the processors' time (%.0f ms, %.0f ms); a limit of %.1f MB%s\n",
      limited.total_ms / whole.total_ms, limited.cpu_ms / whole.cpu_ms, whole.cpu_ms, limited.cpu_ms,
      static_cast<double>(limited.memory_limit) / mebibyte,
      limited.stats.memory_peak <= limited.memory_limit ? "" : ", exceeded");
  std::fflush(stdout);
}

CsvFile::CsvFile(const std::string &file) : file_(std::fopen(file.c_str(), "w")) {
  if (file_ == nullptr) throw std::runtime_error("cannot write " + file);
  std::fprintf(
      file_,
      "shape,scale,seed,sets,tokens,measure,threshold,algorithm,chosen,threads,status,pairs,all_pairs,after_"
      "length,"
      "after_prefix,after_positional,after_bitmap,verified,scan_ms,order_ms,build_ms,filter_ms,verify_ms,"
      "join_"
      "ms,emit_ms,"
      "seconds,memory_peak,published_seconds,published_source,published_ratio,own_ratio,cpu_ms,memory_"
      "limit\n");
}

CsvFile::~CsvFile() {
  std::fclose(file_);
}

void CsvFile::add_cell(const Cell &cell, size_t sets, size_t tokens, const Comparison &comparison) {
  const JoinStats &stats = cell.stats;
  const auto count = [this](uint64_t value) {
    std::fprintf(file_, ",%llu", static_cast<unsigned long long>(value));
  };
  std::fprintf(file_, "%s,%g,%llu,%zu,%zu,%s,%g,%s,%s,%d,%s", cell.shape.c_str(), cell.scale,
               static_cast<unsigned long long>(cell.seed), sets, tokens,
               measure_names[static_cast<size_t>(cell.measure)].data(), cell.threshold,
               algorithm_names[static_cast<size_t>(cell.algorithm)].data(), stats.algorithm.c_str(),
               stats.threads, name_of(cell.outcome));
  for (uint64_t value : {cell.pairs, stats.pairs, stats.after_length, stats.after_prefix,
                         stats.after_positional, stats.after_bitmap, stats.verified}) {
    count(value);
  }
  std::fprintf(file_, ",%.1f,%.1f,%.1f,%.1f,%.1f,%.1f,%.1f,%.4f", cell.scan_ms, stats.order_ms,
               stats.build_ms, stats.filter_ms, stats.verify_ms, stats.join_ms, cell.emit_ms,
               cell.total_ms / 1000);
  count(stats.memory_peak);
  const bool done = cell.outcome == Outcome::done;
  if (done && comparison.published != nullptr) {
    const BaselineTime &published = *comparison.published;
    std::fprintf(file_, ",%g,%s,%.3f", published.seconds, published.source.c_str(), ratio(cell, published));
  } else {
    std::fprintf(file_, ",,,");
  }
  if (done && comparison.own != nullptr) {
    std::fprintf(file_, ",%.3f", ratio(cell, *comparison.own));
  } else {
    std::fprintf(file_, ",");
  }
  std::fprintf(file_, ",%.1f,%zu\n", cell.cpu_ms, cell.memory_limit);
  std::fflush(file_);
}

}  // namespace simjoin::bench
