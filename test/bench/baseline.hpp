// Times and pair counts to compare with: published programs' or an earlier run's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/cell.hpp"

namespace simjoin::bench {

// The time of one join by another program.
struct BaselineTime {
  double seconds;
  bool at_least;        // the program was stopped then
  bool index_and_join;  // of these alone, as published programs report them; otherwise of everything
  std::string source;   // program and hardware
};

// The rows of a CSV file with a header line; lines that start with # are comments. Columns shape, scale,
// threshold and seconds are needed. Of the optional ones seed (1 where there is none), measure (jaccard),
// algorithm and threads restrict a row to cells that have the same; at_least marks a lower bound; program and
// hardware name its source; pairs is the size of the result.
class Baseline {
 public:
  // Reads the file; throws std::runtime_error where it cannot be read or a needed column is missing.
  static Baseline read(const std::string &file);

  // Returns the shortest time known for the cell's join, or nothing.
  const BaselineTime *find(const Cell &cell) const;

  // Returns the size of the cell's result, or nothing where it is not known.
  std::optional<uint64_t> pairs(const Cell &cell) const;

 private:
  struct Row {
    std::string shape, measure, algorithm;  // an empty algorithm: any
    double scale, threshold;
    uint64_t seed;
    int threads;  // below zero: any
    BaselineTime time;
    std::optional<uint64_t> pairs;
  };
  static bool same_join(const Row &row, const Cell &cell);

  std::vector<Row> rows_;
};

}  // namespace simjoin::bench
