// For each left row, its right rows by ascending edit distance or by descending similarity of characters.
//
// A row is two numbers, the halves of the hash of its key, and the characters of its text. An empty row is in
// no pair. A pair's overlap is its distance, 0 for a similarity by Jaro.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/memory.hpp"
#include "core/nearest/key_search.hpp"
#include "core/nearest/nearest_search.hpp"
#include "core/nearest/text_index.hpp"
#include "core/nearest/text_order.hpp"
#include "core/text/edit_pattern.hpp"

namespace simjoin {

// Texts within two edits share one of three segments, which is looked up. Others are looked at by ascending
// bounds of their distance: how many of the probe's characters they lack, and their lengths.
class TextSearch final : public NearestSearch {
 public:
  explicit TextSearch(const TextOrder &order) : NearestSearch("texts"), order_(order) {}

  void add(Side side, const SetSlice &rows) override;
  size_t bytes_to_index() const override { return memory_.current() + index_.bytes_to_index(); }
  bool takes_long_to_index() const override { return index_.rows() >= long_to_index; }
  void index(const StopFlag &stop) override;

  bool shares_tokens(uint32_t) override { return true; }

  // The number of characters.
  uint32_t set_size(Side side, uint32_t row) const override {
    return side == Side::left ? length_ : index_.length_of_row(row);
  }
  JoinStats stats() const override;

 private:
  // Indexing this many rows takes some 30 ms.
  static constexpr uint32_t long_to_index = uint32_t{1} << 16;
  // Fewer texts of a key are looked at faster than looked up.
  static constexpr uint32_t least_looked_up = 2048;

  // Texts of a class that lack the same number of characters, or all if that has not been counted.
  struct Level {
    double most_score;
    uint32_t number;  // of the class
    uint32_t missing;
    bool counted;

    bool operator<(const Level &other) const { return most_score < other.most_score; }
  };

  // The greatest distances that are asked for of texts of a length, with that of the last pair and without.
  struct Wanted {
    uint32_t length;
    int64_t within, nearer;
  };

  void look_up(std::span<const int32_t> characters);
  template <typename Visit>
  auto with_probe(Visit visit) const {
    if (index_.has_bytes()) return visit(std::span<const uint8_t>(bytes_));
    return visit(std::span<const uint32_t>(words_));
  }
  // Returns visit(probe, codes) of the probe's codes and those of a text.
  template <typename Visit>
  auto with_pair(const TextClass &texts, uint32_t text, Visit visit) const {
    if (index_.has_bytes())
      return visit(std::span<const uint8_t>(bytes_), index_.codes_of<uint8_t>(texts, text));
    return visit(std::span<const uint32_t>(words_), index_.codes_of<uint32_t>(texts, text));
  }

  void search() override;
  void search_by_segments(int64_t within);
  void add_segments_of(uint32_t length, int64_t within);
  void index_segments(const StopFlag &stop);
  Level level_of(uint32_t number, uint32_t missing, bool counted) const;
  void search_level(const Level &level);
  void verify(const TextClass &texts, uint32_t text, uint32_t missing);
  int64_t wanted_distance(uint32_t length, bool nearer) const;
  const Wanted &wanted_of(uint32_t length);
  bool find_edits(const TextClass &texts, uint32_t text, uint32_t missing, ScoredPair *found);
  bool find_jaro(const TextClass &texts, uint32_t text, uint32_t missing, ScoredPair *found);

  const TextOrder order_;
  TextIndex index_{memory_};
  std::optional<KeySearch> segments_;  // of texts
  bool indexed_ = false;
  std::vector<int32_t> keys_;
  Batch batch_;

  // The last left row.
  std::vector<uint8_t> bytes_;  // its codes
  std::vector<uint32_t> words_;
  uint32_t length_ = 0;
  uint64_t key_ = 0;
  std::span<const TextClass> classes_;  // of its key
  TextSignature signature_ = {}, pair_signature_ = {};
  uint32_t unknown_ = 0;  // characters that no row has
  EditPattern pattern_;

  // The distances that the search looks for now: texts within smaller ones have been found.
  int64_t least_distance_ = 0, most_distance_ = 0;
  std::optional<Wanted> wanted_;      // of the last length, while the last pair stays
  std::vector<Level> levels_;         // a heap with the greatest score in front
  Buffer<uint8_t> missing_{memory_};  // by text
};

}  // namespace simjoin
