// How many pairs, and rows with a partner, each of several thresholds finds: exactly, or from a sample of the
// rows.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/graph/components.hpp"

namespace simjoin {

// What a threshold finds. The errors are 0 where all rows were looked at. Otherwise they are standard errors
// of the estimates, and nothing is known of groups.
struct ProfileLevel {
  uint64_t pairs;
  uint64_t pairs_error;
  uint64_t equal_pairs;  // of these, pairs of rows with equal sets, as add_equal_rows() was told
  uint64_t rows;         // with a partner
  uint64_t rows_error;
  std::optional<uint64_t> groups;  // of two rows or more, rows that a chain of pairs connects
};

// Takes pairs of rows in any order and then gives what each threshold finds. The lowest threshold is that of
// the pairs.
class SimilarityProfile {
 public:
  // `thresholds` descend, and are at most `most_thresholds`.
  SimilarityProfile(std::vector<double> thresholds, MemoryCounter &memory);

  // Call one of these first. With look_at_all() pairs come by add_pair(), each once. With look_at_sample()
  // they come by add_partner(): each pair of a row of the sample and another row, from 0 on among `sampled`
  // rows, so that a pair within the sample comes twice. The sample is a random one of `rows` rows. Partners
  // with an equal set come by add_equal_partner() if all rows with equal sets are given to add_equal_rows():
  // then only the other pairs are estimated.
  void look_at_all(uint32_t rows, const StopFlag &stop);
  void look_at_sample(uint32_t sampled, uint32_t rows, const StopFlag &stop);

  void add_pair(uint32_t a, uint32_t b, double similarity);
  void add_partner(uint32_t sampled_row, double similarity);
  void add_equal_partner(uint32_t sampled_row, double similarity);

  // Adds `rows` rows with equal sets, any two of which are this similar.
  void add_equal_rows(uint64_t rows, double similarity);

  // Returns the place of the highest threshold that the similarity reaches.
  size_t place_of(double similarity) const;

  // Returns what the next threshold finds. Call it once for each of them, the highest first.
  ProfileLevel next_level();

  static constexpr size_t most_thresholds = 100;

 private:
  // Rows with a partner whose set is equal, and their pairs.
  struct EqualRowsOfLevel {
    uint64_t pairs = 0;
    uint64_t rows = 0;
  };

  ProfileLevel estimate(size_t level, const uint32_t *partners) const;

  const std::vector<double> thresholds_;
  size_t next_ = 0;
  uint32_t rows_ = 0;

  std::vector<EqualRowsOfLevel> equal_;  // by threshold, without those of higher thresholds

  // Of all rows.
  std::vector<ProfileLevel> levels_;  // `pairs` without those of higher thresholds
  std::vector<DisjointSets> groups_;  // by threshold
  Buffer<uint8_t> places_;            // of the highest threshold at which a row has a partner

  // Of a sample.
  uint32_t sampled_ = 0;
  Buffer<uint32_t> partners_;  // by threshold and row, without those of higher thresholds
  // Of the highest threshold at which a sampled row has a partner with an equal set.
  Buffer<uint8_t> equal_places_;
  MemoryCounter &memory_;
};

}  // namespace simjoin
