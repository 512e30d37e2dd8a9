// The benchmark's table and CSV file.
#pragma once

#include <cstdio>
#include <string>

#include "bench/baseline.hpp"
#include "bench/cell.hpp"

namespace simjoin::bench {

// Prints the heading of a collection's part of the table.
void print_heading(const std::string &shape, double scale, const Collection &collection, double generation_s);

// The times for comparison with a cell: of published programs and of earlier runs of this engine. Each is
// null if there is none.
struct Comparison {
  const BaselineTime *published;
  const BaselineTime *own;
};

// Returns how many times faster the cell was.
double ratio(const Cell &cell, const BaselineTime &baseline);

// Prints the cell as a line of the table.
void print_cell(const Cell &cell, const Comparison &comparison);

// Prints the ratio of the second cell's time to the first's, and whether the second kept to its limit.
void print_times_as_long(const Cell &whole, const Cell &limited);

// A CSV file with one line per cell. Each line is on disk when add_cell returns.
class CsvFile {
 public:
  // Creates the file and writes its header. Throws std::runtime_error if it cannot.
  explicit CsvFile(const std::string &file);
  ~CsvFile();
  CsvFile(const CsvFile &) = delete;
  CsvFile &operator=(const CsvFile &) = delete;

  void add_cell(const Cell &cell, size_t sets, size_t tokens, const Comparison &comparison);

 private:
  std::FILE *file_;
};

}  // namespace simjoin::bench
