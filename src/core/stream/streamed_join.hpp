// A join with a small side: its sets are indexed, and those of the other side stream past the index.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/memory.hpp"
#include "core/join.hpp"
#include "core/sort/short_sort.hpp"
#include "core/stream/recorded_sets.hpp"
#include "core/stream/small_index.hpp"

namespace simjoin {

// Use: add every set of the small side. If is_small() holds after each of them and index() makes an index,
// add a set of the other side, the streamed one, and step until `done`, then add the next one. The join keeps
// nothing of a streamed set once the next one is added. Its row number is always 0.
//
// Otherwise hand_over() gives the sets to an engine that can be fed with the rest.
class StreamedJoin final : public JoinEngine {
 public:
  // The threshold of the specification is above zero, or not a number. JoinSpec::done_rows counts if the left
  // side is the small one.
  StreamedJoin(const JoinSpec &spec, Side small);

  static constexpr std::string_view algorithm_name = "streamed";
  // A small side has at most this many rows, of so many tokens in all, if the memory limit allows. With more,
  // ranking both sides took less processor time (1,000,000 skewed sets of 20 integers at 0.5, AMD EPYC).
  static constexpr uint32_t most_rows = 10000;
  static constexpr uint64_t most_tokens = uint64_t{1} << 20;

  void add(Side side, const SetSlice &rows) override;

  // Returns whether the sets so far are few enough to be indexed.
  bool is_small() const;
  // Returns whether index() may take longer than a few tens of milliseconds.
  bool takes_long_to_index() const;
  // Ends the small side and indexes it, unless looking up sets that are like its own takes longer than
  // ranking them. Throws Cancelled if the flag is set.
  void index(const StopFlag &stop);
  bool is_indexed() const { return index_.has_value(); }
  // Adds the sets of the small side to an engine, if they are not indexed.
  void hand_over(JoinEngine &engine);

  // Returns whether the last streamed set may have pairs that step() has not returned.
  bool has_more() const { return list_ < lists_ || next_near_ < near_.size() || waiting_.size() > 0; }
  // Returns a few pairs of the last streamed set, `working` now and then, or `done` if it has no more.
  StepResult step(std::chrono::microseconds budget, Batch &out) override;
  // Of the streamed side, the size of the last set that step() has returned a pair of.
  uint32_t set_size(Side side, uint32_t row) const override {
    return side == small_ ? index_->size_of_row(row) : size_;
  }
  JoinStats stats() const override;

 private:
  // The partners of the streamed sets of one size.
  struct Partners {
    uint32_t begin = 0;  // sets of the small side
    uint32_t end = 0;
    uint32_t overlap = 0;  // the fewest tokens shared with any of them, or SmallIndex::none; 0 if not known
    uint32_t differences = 0;  // the most tokens that only one of the two sets has
  };

  // A text that the small side lacks. Texts are compared by their hashes first.
  struct HashedText {
    HashedText(uint64_t text_hash, std::string_view token) : hash(text_hash), text(token) {}
    bool operator<(const HashedText &other) const {
      return hash != other.hash ? hash < other.hash : text < other.text;
    }
    bool operator==(const HashedText &) const = default;

    uint64_t hash;
    std::string_view text;
  };

  template <typename T>
  void add_set(Side side, std::span<const T> tokens);
  template <typename T>
  void look_up(std::span<const T> tokens);
  void count_set();
  template <typename T>
  bool find_ranks(std::span<const T> tokens, uint32_t least, auto &others);
  auto &others_of(int64_t) { return other_integers_; }
  auto &others_of(std::string_view) { return other_texts_; }
  Partners partners_of(uint32_t size);
  Partners find_partners(uint32_t size) const;
  bool is_done(uint32_t row) const;
  void forget_done_rows();
  uint32_t required(uint32_t partner_size);
  bool pays();
  void begin_scan();
  bool differs_too_much(StreamPosting posting);
  void try_pair(StreamPosting posting, Batch &out);
  void scan(Batch &out);

  const JoinSpec spec_;
  const Side small_;
  const Bounds bounds_;  // of a streamed set and one of the small side
  MemoryCounter memory_;
  RecordedSets recorded_;
  std::optional<SmallIndex> index_;
  std::vector<Partners> partners_;  // by the size of a streamed set, for sizes that are usual
  JoinStats stats_;
  uint64_t streamed_rows_ = 0;

  // The last streamed set.
  std::vector<std::string_view> texts_;  // its tokens, where they are texts
  Buffer<int64_t> other_integers_;       // its tokens that the small side lacks
  Buffer<HashedText> other_texts_;
  Buffer<uint32_t> ranks_;   // of its tokens that the small side has; the first lists_ are the least
  Buffer<uint32_t> sorted_;  // the same ascending, once a pair is verified
  ShortSort sort_;
  uint64_t signature_ = 0;             // of these tokens
  uint64_t wide_[ParityTable::words];  // their wide signature, if has_wide_
  bool has_wide_ = false;
  uint32_t others_ = 0;  // its other distinct tokens
  uint32_t size_ = 0;    // all its distinct tokens
  Partners range_;
  size_t lists_ = 0;            // the ranks whose lists are looked through
  size_t list_ = 0;             // the next one
  uint32_t limit_ = 0;          // on the differing bits of signatures
  Buffer<StreamPosting> near_;  // the postings of the last list that may be partners
  size_t next_near_ = 0;
  Batch waiting_;  // pairs that have been found
  // The overlap that a pair of the sizes needs, for the sizes asked for last.
  uint32_t required_size_ = 0, required_partner_ = 0, required_ = 0;

  Buffer<uint32_t> seen_;  // by set of the small side: the number of the last streamed set that has met it
  uint32_t number_ = 0;    // of the last streamed set
  size_t skipped_ = 0;     // postings of rows that are done, looked at since such postings were removed
};

}  // namespace simjoin
