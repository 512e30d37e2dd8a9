// Compares all pairs of compatible sizes through their bitmap signatures, tile by tile, and verifies the
// rest.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/worker_pool.hpp"
#include "core/candidates/bitmap/bitmap_signature.hpp"
#include "core/candidates/join_problem.hpp"
#include "core/handover/candidate_sink.hpp"
#include "core/handover/join_counters.hpp"

namespace simjoin {

// One worker: compares ranges of probe sets with all their partners.
class BitmapProber {
 public:
  // The tables must hold the partners of every probe that is run.
  BitmapProber(const JoinProblem &problem, const SignatureTables &tables, CandidateSink &sink,
               const StopFlag &stop);

  // Finds all pairs of the probe sets [begin, end).
  void run(uint32_t begin, uint32_t end, JoinCounters &counters);

 private:
  struct Candidate {
    uint32_t probe;
    uint32_t partner;
    uint32_t required;
  };
  struct Row {
    uint32_t excess;
    uint32_t probe_class;
    uint32_t first;  // [first, end) are the partners
    uint32_t end;
  };

  void use_table(const SignatureTable &table);
  void run_rows(uint32_t begin, uint32_t end, JoinCounters &counters);
  void prepare_rows(uint32_t begin, uint32_t end);
  void filter_tile(uint32_t begin, uint32_t tile, uint32_t tile_end);
  void load_required(uint32_t probe_class, uint32_t tile, uint32_t tile_end);
  void verify(JoinCounters &counters);

  const JoinProblem &problem_;
  const SignatureTables &tables_;
  const SignatureTable *table_ = nullptr;  // the table of the rows that are compared
  CandidateSink &sink_;
  const StopFlag &stop_;
  RequiredOverlaps required_;
  std::vector<Row> rows_;
  std::vector<uint64_t> row_words_;  // the rows' signatures
  std::vector<int64_t> tile_excess_;
  std::vector<int64_t> tile_required_;
  std::vector<uint32_t> hits_;
  std::vector<Candidate> candidates_;
};

}  // namespace simjoin
