#include "bench/baseline.hpp"

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

namespace simjoin::bench {

namespace {

std::vector<std::string> fields_of(const std::string &line) {
  std::vector<std::string> fields;
  std::istringstream stream(line);
  for (std::string field; std::getline(stream, field, ',');) fields.push_back(field);
  return fields;
}

bool close(double a, double b) {
  return std::fabs(a - b) < 1e-9;
}

}  // namespace

Baseline Baseline::read(const std::string &file) {
  std::ifstream stream(file);
  if (!stream) throw std::runtime_error("cannot read " + file);
  Baseline baseline;
  std::vector<std::string> header;
  for (std::string line; std::getline(stream, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> fields = fields_of(line);
    if (header.empty()) {
      header = fields;
      continue;
    }
    std::map<std::string, std::string> row;
    for (size_t i = 0; i < std::min(header.size(), fields.size()); ++i) row[header[i]] = fields[i];
    for (const char *needed : {"shape", "scale", "threshold", "seconds"}) {
      if (row[needed].empty()) throw std::runtime_error(file + ": no " + needed + " in \"" + line + "\"");
    }
    if (!row["status"].empty() && row["status"] != "done") continue;
    Row parsed;
    parsed.shape = row["shape"];
    parsed.measure = row["measure"].empty() ? "jaccard" : row["measure"];
    parsed.algorithm = row["algorithm"];
    parsed.scale = std::stod(row["scale"]);
    parsed.threshold = std::stod(row["threshold"]);
    parsed.seed = row["seed"].empty() ? 1 : std::stoull(row["seed"]);
    parsed.threads = row["threads"].empty() ? -1 : std::stoi(row["threads"]);
    const std::string source = row["program"].empty() ? "earlier" : row["program"] + " " + row["hardware"];
    parsed.time = {std::stod(row["seconds"]), row["at_least"] == "yes", !row["program"].empty(), source};
    if (!row["pairs"].empty()) parsed.pairs = std::stoull(row["pairs"]);
    baseline.rows_.push_back(std::move(parsed));
  }
  return baseline;
}

// Returns whether the row is about the cell's join, by whatever algorithm.
bool Baseline::same_join(const Row &row, const Cell &cell) {
  return row.shape == cell.shape && row.seed == cell.seed && close(row.scale, cell.scale) &&
         row.measure == measure_names[static_cast<size_t>(cell.measure)] &&
         close(row.threshold, cell.threshold);
}

const BaselineTime *Baseline::find(const Cell &cell) const {
  const BaselineTime *best = nullptr;
  for (const Row &row : rows_) {
    const bool same_way =
        (row.algorithm.empty() || row.algorithm == algorithm_names[static_cast<size_t>(cell.algorithm)]) &&
        (row.threads < 0 || row.threads == cell.stats.threads);
    if (!same_join(row, cell) || !same_way) continue;
    if (best == nullptr || row.time.seconds < best->seconds) best = &row.time;
  }
  return best;
}

std::optional<uint64_t> Baseline::pairs(const Cell &cell) const {
  for (const Row &row : rows_) {
    if (row.pairs.has_value() && same_join(row, cell)) return row.pairs;
  }
  return std::nullopt;
}

}  // namespace simjoin::bench
