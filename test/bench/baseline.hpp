// Times and numbers of pairs of published programs or an earlier run, for comparison.
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
  bool index_and_join;  // only of these, as published programs report them; otherwise of everything
  std::string source;   // program and hardware
};

// The rows of a CSV file with a header line; lines that start with # are comments. Columns shape, scale,
// threshold and seconds are needed. The optional columns seed (default 1), measure (default jaccard),
// algorithm and threads restrict a row to cells with the same values. at_least marks a lower bound, program
// and hardware name the source, and pairs is the size of the result.
class Baseline {
 public:
  // Reads the file. Throws std::runtime_error if it cannot be read or a needed column is missing.
  static Baseline read(const std::string &file);

  // Returns the shortest time known for the cell's join, or nothing.
  const BaselineTime *find(const Cell &cell) const;

  // Returns the size of the cell's result, or nothing if it is unknown.
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
