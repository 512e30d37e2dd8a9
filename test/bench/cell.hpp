// One cell of the benchmark: a join of a collection at a threshold by an algorithm.
#pragma once

#include <string>

#include "bench/collections.hpp"
#include "core/join.hpp"

namespace simjoin::bench {

enum class Outcome : uint8_t { done, cancelled, failed };

struct Cell {
  std::string shape;
  double scale = 1;
  uint64_t seed = 1;
  Measure measure = Measure::jaccard;
  double threshold = 0;
  Algorithm algorithm = Algorithm::automatic;
  size_t memory_limit = 0;

  Outcome outcome = Outcome::failed;
  std::string error;      // empty unless the join failed
  uint64_t pairs = 0;     // handed over, also where cancelled
  double scan_ms = 0;     // feeding the engine
  double emit_ms = 0;     // reading the pairs handed over
  uint64_t checksum = 0;  // of all pairs, so that reading them is not idle
  double total_ms = 0;    // from the first set fed to the last pair handed over
  double cpu_ms = 0;      // of all threads meanwhile, within the system included
  JoinStats stats;
};

// How to run a join.
struct RunSettings {
  int threads = 0;
  double time_limit_s = 60;
};

// Returns the bytes of the collection's sets as PostgreSQL arrays.
size_t array_bytes(const Collection &collection);

// Runs the self-join that the cell's first seven members describe, and fills in the others.
void run_cell(const Collection &collection, const RunSettings &settings, Cell &cell);

}  // namespace simjoin::bench
