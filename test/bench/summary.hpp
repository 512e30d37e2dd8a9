// The summary of the whole table: `auto` compared with published programs and with the single strategies.
#pragma once

#include <string>
#include <vector>

#include "bench/report.hpp"

namespace simjoin::bench {

class Summary {
 public:
  void add_cell(const Cell &cell, const Comparison &comparison);
  void print() const;

 private:
  // A join at a threshold by a number of threads.
  struct Row {
    std::string name;
    double auto_ms = 0;  // 0 if it did not run
    double best_ms = 0;  // of the single strategies; 0 if none ended
    std::string best;
    double published = 0;  // ratio of `auto`; 0 if there is no time for comparison
    double own = 0;
  };

  Row &row_of(const Cell &cell);

  std::vector<Row> rows_;
};

}  // namespace simjoin::bench
