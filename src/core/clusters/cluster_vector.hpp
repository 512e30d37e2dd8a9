// Documents and centroids as vectors of unit length in fixed point. Sums and products of integers are exact,
// so a similarity does not depend on the order in which threads or a device add it up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/host_device.hpp"
#include "core/base/worker_pool.hpp"

namespace simjoin {

inline constexpr int weight_bits = 30;      // a weight of 1 is 2^30
inline constexpr int similarity_bits = 24;  // similarities are multiples of 2^-24

// This number of terms is sorted without a look at the stop flag: some 2 ms.
inline constexpr size_t terms_without_look = size_t{1} << 15;
// The most terms that a centroid can be asked to keep.
inline constexpr uint32_t max_centroid_terms = 65535;

// A term of a unit vector.
struct TermWeight {
  uint32_t term;
  uint32_t weight;
};

// A term of a sum of unit vectors.
struct TermSum {
  uint32_t term;
  uint64_t sum;
};

// The largest sum of a term: some 30 million documents in one cluster.
inline constexpr uint64_t largest_sum = (uint64_t{1} << 55) - 1;
// The most documents that a cluster is said to have.
inline constexpr uint64_t most_documents = uint64_t{1} << 62;

// A term of a document as it was given.
struct RawTerm {
  uint32_t term;
  float weight;
};

// Returns the similarity of two unit vectors by their dot product. The rounding takes up that of the weights,
// so that equal vectors of up to a thousand terms have a similarity of exactly 1.
SIMJOIN_HOST_DEVICE inline uint32_t similarity_of_product(uint64_t product) {
  constexpr int shift = 2 * weight_bits - similarity_bits;
  const uint64_t rounded = (product + (uint64_t{1} << (shift - 1))) >> shift;
  constexpr uint64_t one = uint64_t{1} << similarity_bits;
  return static_cast<uint32_t>(rounded < one ? rounded : one);
}

// Returns the least similarity, in its units, that is not below a threshold of 0 to 1.
uint32_t similarity_at_least(double threshold);

// Returns a similarity as a number of 0 to 1.
inline double similarity_value(uint32_t similarity) {
  return static_cast<double>(similarity) / (uint32_t{1} << similarity_bits);
}

// Writes the unit vector in the direction of the sums, which are below 2^55 and at most 2^16 (or all below
// 2^32), to `to` (room for sums.size()); returns how many weights are not 0. The order is that of the sums.
size_t make_unit_vector(std::span<const TermSum> sums, TermWeight *to);

// A thread's scratch memory for vectors of documents.
struct VectorScratch {
  std::vector<uint64_t> keys;
  std::vector<double> weights;
  std::vector<TermSum> sums;
};

// Writes the unit vector of a document to `to` (room for terms.size()), by ascending term. Returns its number
// of terms. Repeated terms add up. Weights are not negative; terms of weight 0 are left out. Throws
// Cancelled.
size_t make_document_vector(std::span<const RawTerm> terms, const StopFlag &stop, VectorScratch &scratch,
                            TermWeight *to);

}  // namespace simjoin
