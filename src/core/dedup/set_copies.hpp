// Rows with equal sets: of many copies of a set one is joined, and the others have the partners that it has.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "core/base/memory.hpp"
#include "core/base/probe_table.hpp"
#include "core/measure.hpp"

namespace simjoin {

// Families of rows with equal sets. Any two rows of a family are a similar pair.
struct SetFamilies {
  static constexpr uint32_t none = std::numeric_limits<uint32_t>::max();

  const uint32_t *of_row = nullptr;  // the family of each row, or `none`; nullptr where there is no family
  const double *similarities = nullptr;  // of each family: that of two of its rows
  uint32_t count = 0;
};

// Takes the sets of a join with itself, row by row, and says which of them need not be joined.
//
// To be different is the usual case, so a set costs its hash, 32 bits of it kept, when it comes for the first
// time. Only when a hash comes again the set is kept, and begins a family, which every later one that is
// compared with it, element by element, and found equal belongs to. So the first row of a set is in no
// family: it is joined like a row of any other set, and found similar to the family's first. The same holds
// for sets that are not recognised, for being equal only once the repetitions of an element are left out, or
// for want of memory: what is found changes how much is joined, never which pairs are similar.
class SetCopies {
 public:
  // Sets are kept, and hashes of new ones, in `memory_limit` bytes.
  SetCopies(Measure measure, double threshold, size_t memory_limit, MemoryCounter &memory);

  // Adds the next row. Returns whether its set is to be joined: false where that of an earlier row of its
  // family is.
  template <typename Token>
  bool add(std::span<const Token> tokens);
  // Ends the adding, and frees what only that needs.
  void finish();

  // Returns the row of the i-th set that is to be joined.
  uint32_t joined_row(uint32_t i) const { return joined_[i]; }
  // Returns the families of all rows.
  SetFamilies families() const {
    return {families_.data(), similarities_.data(), static_cast<uint32_t>(similarities_.size())};
  }

 private:
  static constexpr uint32_t free_place = std::numeric_limits<uint32_t>::max();
  static constexpr uint32_t not_kept = free_place - 1;
  static constexpr double no_similarity = -1;

  struct Entry {
    uint32_t tag;   // of the hash
    uint32_t kept;  // number of the kept set; not_kept where it came once

    bool free() const { return kept == free_place; }
    uint64_t hash() const { return uint64_t{tag} << 32; }
  };
  struct KeptSet {
    uint64_t begin;  // in bytes_
    uint64_t tokens;
    uint32_t row;
    uint32_t family;    // `none` until a copy comes
    double similarity;  // with itself; no_similarity where that is below the threshold
  };

  template <typename Token>
  bool is_copy(uint32_t row, std::span<const Token> tokens);
  template <typename Token>
  uint32_t keep(uint32_t row, std::span<const Token> tokens);
  template <typename Token>
  bool equals(const KeptSet &kept, std::span<const Token> tokens) const;
  void put_into_family(uint32_t row, KeptSet &kept);
  size_t used_memory(size_t hashes) const;

  const Bounds bounds_;
  const size_t memory_limit_;
  uint32_t rows_ = 0;
  Buffer<uint32_t> joined_;      // rows
  Buffer<uint32_t> families_;    // of each row up to the last one that has a family, at least
  Buffer<double> similarities_;  // of each family
  ProbeTable<Entry> table_;
  Buffer<KeptSet> kept_;
  Buffer<char> bytes_;  // of kept sets
};

}  // namespace simjoin
