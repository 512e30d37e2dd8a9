// Rows with equal sets, and equal weights if they have any. One of the copies of a set is joined, and the
// others have the same partners.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/interruption.hpp"
#include "core/base/memory.hpp"
#include "core/base/probe_table.hpp"
#include "core/measure.hpp"

namespace simjoin {

// Families of rows with equal sets. Any two rows of a family are a similar pair.
struct SetFamilies {
  static constexpr uint32_t none = std::numeric_limits<uint32_t>::max();

  const uint32_t *of_row = nullptr;      // the family of each row, or `none`; nullptr if there is no family
  const double *similarities = nullptr;  // of each family: the similarity of two of its rows
  uint32_t count = 0;
};

// Takes the sets of a self-join row by row, and says which sets need not be joined. Either all sets have
// weights, or none has.
//
// Most sets are different, so a set that comes for the first time costs only 32 bits of its hash. When a
// hash comes again, the set is kept and begins a family. Every later set that has the hash is
// compared with it element by element, and belongs to the family if it is equal. So the first row of a set is
// in no family. It is joined like any other row, and is found similar to the family's first row. The same
// holds for copies that are not recognised: for want of memory, or because they are equal only after repeated
// elements, or elements without weight, are left out. Families change how much is joined, never which pairs
// are similar.
class SetCopies {
 public:
  // Keeps sets, and hashes of new sets, in `memory_limit` bytes. The measure of sets with weights is Jaccard.
  SetCopies(Measure measure, double threshold, size_t memory_limit, MemoryCounter &memory);

  // Adds the next row. Returns whether its set is to be joined: false if the set of an earlier row of its
  // family is. If the tokens have weights, they are distinct and ascend.
  template <typename Token>
  bool add(std::span<const Token> tokens, std::span<const double> weights = {});
  // The same in two calls, so that the memory for many sets is fetched together: prepare() returns the tag of
  // a set without weights, which add_prepared() needs.
  template <typename Token>
  uint32_t prepare(std::span<const Token> tokens) const;
  template <typename Token>
  bool add_prepared(std::span<const Token> tokens, uint32_t tag) {
    return add(tokens, {}, tag);
  }
  // Ends the adding, and frees the memory that only adding needs.
  void finish();

  // Returns the row of the i-th set that is to be joined.
  uint32_t joined_row(uint32_t i) const { return joined_[i]; }
  // Calls visit(i, copies) for each set that is to be joined, the i-th one, and that rows have which are not.
  template <typename Visit>
  void visit_copies(Visit &&visit) const;
  // Returns the families of all rows.
  SetFamilies families() const {
    return {families_.data(), similarities_.data(), static_cast<uint32_t>(similarities_.size())};
  }

 private:
  static constexpr uint32_t free_place = std::numeric_limits<uint32_t>::max();
  static constexpr uint32_t not_kept = free_place - 1;
  static constexpr double no_similarity = -1, not_known = -2;

  struct Entry {
    uint32_t tag;   // part of the hash
    uint32_t kept;  // number of the kept set; not_kept if the set came once

    bool free() const { return kept == free_place; }
    uint64_t hash() const { return uint64_t{tag} << 32; }
  };
  struct KeptSet {
    uint64_t begin;  // in bytes_
    uint64_t tokens;
    uint32_t row;
    uint32_t family;    // `none` until a copy comes
    double similarity;  // with a copy; no_similarity if it is below the threshold, not_known at first
  };

  template <typename Token>
  bool add(std::span<const Token> tokens, std::span<const double> weights, uint32_t tag);
  template <typename Token>
  bool is_copy(uint32_t row, std::span<const Token> tokens, std::span<const double> weights, uint32_t tag);
  template <typename Token>
  double similarity_with_itself(std::span<const Token> tokens, std::span<const double> weights) const;
  template <typename Token>
  uint32_t keep(uint32_t row, std::span<const Token> tokens, std::span<const double> weights);
  template <typename Token>
  bool equals(const KeptSet &kept, std::span<const Token> tokens, std::span<const double> weights) const;
  void put_into_family(uint32_t row, KeptSet &kept);
  size_t used_memory(size_t hashes) const;

  const Bounds bounds_;
  const size_t memory_limit_;
  uint32_t rows_ = 0;
  Buffer<uint32_t> joined_;      // rows
  Buffer<uint32_t> families_;    // at least of each row up to the last one in a family
  Buffer<double> similarities_;  // of each family
  ProbeTable<Entry> table_;
  Buffer<KeptSet> kept_;
  Buffer<char> bytes_;  // of kept sets, each after its weights
};

template <typename Visit>
void SetCopies::visit_copies(Visit &&visit) const {
  // The first row of a family is joined.
  std::vector<uint32_t> rows(similarities_.size(), 0);
  for (size_t row = 0; row < families_.size(); ++row) {
    check_interruption_at(row);
    if (families_[row] != SetFamilies::none) ++rows[families_[row]];
  }
  for (uint32_t i = 0; i < joined_.size(); ++i) {
    check_interruption_at(i);
    const uint32_t row = joined_[i];
    if (row >= families_.size() || families_[row] == SetFamilies::none) continue;
    visit(i, rows[families_[row]] - 1);
  }
}

}  // namespace simjoin
