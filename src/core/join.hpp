// The engine interface: one join is one object that is fed sets and then pulled for pairs in bounded steps.
//
// Whoever runs joins sees of them only this file, which each kind of device implements.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/measure.hpp"

namespace simjoin {

// How candidate pairs are generated. Every algorithm gives the same pairs.
enum class Algorithm : uint8_t {
  automatic,
  allpairs,
  ppjoin,
  groupjoin,
  bitmap,
  gssjoin,
  fgssjoin,
  sf_gssjoin,
  cpu_gpu,
};

inline constexpr std::string_view algorithm_names[] = {
    "auto", "allpairs", "ppjoin", "groupjoin", "bitmap", "gssjoin", "fgssjoin", "sf_gssjoin", "cpu_gpu"};

// Which algorithms need a GPU, and which run on the CPU alone. The others run on either.
constexpr bool needs_gpu(Algorithm algorithm) {
  return algorithm >= Algorithm::gssjoin;
}
constexpr bool needs_cpu(Algorithm algorithm) {
  return algorithm == Algorithm::allpairs || algorithm == Algorithm::ppjoin ||
         algorithm == Algorithm::groupjoin;
}

// Where a join runs. `automatic`: on the GPU if there is one and it pays, otherwise on the CPU.
enum class Device : uint8_t { automatic, cpu, gpu };

inline constexpr std::string_view device_names[] = {"auto", "cpu", "gpu"};

enum class Side : uint8_t { left, right };

// The left rows that are done: nothing more is asked of them. Each has a bit. The caller's thread sets bits
// while the engine's threads look. Null until the caller's last set has been added.
struct DoneRows {
  uint8_t *bits = nullptr;

  bool is_done(uint32_t row) const {
    return (std::atomic_ref(bits[row / 8]).load(std::memory_order_relaxed) >> row % 8 & 1) != 0;
  }
};

struct JoinSpec {
  Measure measure = Measure::jaccard;
  // Pairs with similarity >= threshold are found. With a threshold of zero or less every pair qualifies, also
  // with empty sets. With NaN no pair does.
  double threshold = 0.7;
  Algorithm algorithm = Algorithm::automatic;
  // One collection, fed as Side::left, against itself: each unordered pair of different rows once, left <
  // right. With an asymmetric measure, pairs that qualify in either order are found.
  bool self_join = false;
  Device device = Device::automatic;
  int threads = 0;                        // compute threads; 0 = one for each core
  size_t memory_limit = size_t{1} << 30;  // bytes; see wants_spill_file()
  size_t gpu_memory_limit = 0;            // bytes of device memory; 0 = most of the free memory
  int gpus = 0;                           // that may share the join; 0 = all there are
  double rows_expected = 0;               // of both sides; a GPU starts soon if so many are worth it
  // Of a join of sets with weights: the sets come without, and a token weighs by its rarity in all sets.
  bool by_rarity = false;
  // If not null, the caller asks only whether rows have partners. Then an engine may leave out pairs whose
  // left row is done (in a self-join, pairs whose rows both are), and may give a pair twice.
  const DoneRows *done_rows = nullptr;
};

// Returns the join with the measure that finds its pairs.
inline JoinSpec with_measure_of_pairs(JoinSpec spec) {
  if (spec.self_join) spec.measure = unordered(spec.measure);
  return spec;
}

// Result pairs as parallel arrays: the row numbers of each side, and the exact number of shared tokens. A
// weighted join gives the similarity in place of that number, which is 0.
struct Batch {
  std::vector<uint32_t> left;
  std::vector<uint32_t> right;
  std::vector<uint32_t> overlap;
  std::vector<double> similarity;  // of weighted joins only

  size_t size() const { return left.size(); }
  void clear() {
    left.clear();
    right.clear();
    overlap.clear();
    similarity.clear();
  }
  void push(uint32_t l, uint32_t r, uint32_t o) {
    left.push_back(l);
    right.push_back(r);
    overlap.push_back(o);
  }
};

// Pairs that the steps of a join have let through, or looked at.
struct PairCounts {
  uint64_t after_prefix = 0;  // pairs that share a prefix token (prefix index; under `auto`, of those that
                              // pass the index's own signatures)
  // Of those, pairs that the positional filter left; under `auto` the same number for short sets, where both
  // filters act as one.
  uint64_t after_positional = 0;
  uint64_t after_bitmap = 0;  // pairs left to verify, by either generator
  uint64_t verified = 0;      // pairs whose overlap was computed
  uint64_t left_out = 0;      // candidates not verified since nobody asked, or would soon (done_rows)
  uint64_t output = 0;        // pairs in the result

  PairCounts &operator+=(const PairCounts &other);
};

// The figures of a join. Counts are pairs. Each filter's figure is the number of pairs left after it. If the
// filter did not run for some sets, their pairs all count, so no figure is larger than the one before. (A
// semi or anti join may look at a pair twice. A join on a GPU does not count the pairs that the filters of
// its prefix index leave.)
struct JoinStats : PairCounts {
  uint64_t sets[2] = {0, 0};     // non-empty sets of each side
  uint64_t tokens[2] = {0, 0};   // tokens of each side, duplicates within a set removed
  uint64_t distinct_tokens = 0;  // of both sides together; 0 if unknown, in joins in tiles
  uint64_t pairs = 0;            // pairs of the cross product (self-join: unordered pairs)
  uint64_t after_length = 0;     // pairs of compatible sizes
  double order_ms = 0;           // ranks and sorting, the first part of the build: wall clock
  double build_ms = 0;           // ranks, sorting, index, signatures: wall clock
  // CPU time of all threads; on a GPU the time of its kernels.
  double filter_ms = 0;              // candidate generation
  double verify_ms = 0;              // verification
  double join_ms = 0;                // from the end of the build to the last pair: wall clock
  size_t memory_peak = 0;            // bytes
  uint64_t spilled_bytes = 0;        // written to the temporary file
  uint32_t partitions = 0;           // parts in which the index side was joined; 0 without a file
  size_t one_part_limit = 0;         // a JoinSpec::memory_limit that needs no file; 0 without one
  int threads = 0;                   // compute threads used
  bool used_prefix = false;          // some probes went through the prefix index
  bool used_bitmap = false;          // a bitmap filter ran
  std::string algorithm;             // e.g. "ppjoin", or for auto "ppjoin + bitmap"
  std::string device = "cpu";        // what ran the join: "cpu", "gpu" or its name
  std::string streamed;              // the side that streamed past an index of the other one; empty if none
  std::string gpu_refused;           // why a join that could have run on a GPU did not; empty if it did
  size_t device_memory_peak = 0;     // bytes of GPU memory
  std::vector<std::string> reasons;  // the figures behind `auto`, one line per decision

  // Adds another join. Texts become lists of the different values. The reasons are those of the last join
  // that has some.
  JoinStats &operator+=(const JoinStats &other);
};

inline constexpr double unknown_share = -1;
// Of the work of a join: what is counted for all that comes before the search for pairs.
inline constexpr double share_before_search = 0.1;

enum class StepResult { working, batch, done };

// What to tell the user of a join that continues: that it left the GPU, and why.
struct Notice {
  enum class Cause : uint8_t {
    too_large,    // too little memory on the GPU, or too many items for it
    unavailable,  // the GPU could not be used now; the next computation may find it
    failed,       // the GPU, which this process does not use again
  };
  Cause cause;
  std::string message;
};

enum class TokenType : uint8_t { int4, int8, text };

// Consecutive rows of one side. Refers to what it describes.
struct SetSlice {
  TokenType type = TokenType::int4;
  // The tokens of all rows, one after the other: int32_t, int64_t or packed texts
  // (core/base/packed_texts.hpp).
  const char *tokens = nullptr;
  const uint32_t *lengths = nullptr;  // the number of tokens of each row
  uint32_t rows = 0;
  uint64_t token_count = 0;
  size_t text_bytes = 0;            // that packed texts take at `tokens`
  const double *weights = nullptr;  // of all tokens, in a join of sets with weights; otherwise null

  bool wide() const { return type == TokenType::int8; }
  size_t token_bytes() const {
    return type == TokenType::text ? text_bytes : token_count * (wide() ? sizeof(int64_t) : sizeof(int32_t));
  }
};

class SetBlock;

// One join. Use: add every set, then step until `done`. Not safe for use by several threads at a time (the
// engine's own threads aside). The destructor stops running work within a few milliseconds.
//
// Functions throw simjoin::Error or std::bad_alloc. After an exception only the destructor may be called.
class JoinEngine {
 public:
  virtual ~JoinEngine() = default;

  // Adds the next rows of a side; rows are numbered from 0 on each side. Tokens come in any order and may
  // repeat; an empty set is a row like any other. All sets of one join that are not empty have one token
  // type. In a join of sets with weights, the tokens of a row are distinct, those of 32 bits ascend, and each
  // has a weight that is finite and not negative: a float4, or a sum of float4s in double precision. The
  // engine does not keep the slice. An engine on a GPU takes blocks only.
  virtual void add(Side side, const SetSlice &rows);

  // Adds the rows of a block, the next ones of its side: sets of integers without weights. The engine may
  // keep the block, which spares a copy. Only engines on a GPU, and the one for CPU cores, take blocks.
  virtual void add_block(std::shared_ptr<const SetBlock> block);

  // Says that so many more rows of a self-join have the same set as a row, and are not joined. They count for
  // the weights of tokens in a join by rarity, which alone takes them, before the first step.
  virtual void add_copies(uint32_t row, uint32_t copies);

  // Returns whether the sets so far make the join larger than its memory limit. The join keeps to the limit
  // from set_spill_file() on. Without a file it continues in memory.
  virtual bool wants_spill_file() const { return false; }
  // Gives the join an empty temporary file, at most once, before the first step. The join writes at most
  // `limit` bytes. Any thread of the engine uses the descriptor; the engine closes it.
  virtual void set_spill_file(int descriptor, uint64_t limit);

  // Works for about `budget` at most, or waits that long for the engine's threads. Returns `batch` with `out`
  // filled (its old content replaced; bounded size), `working` if no pairs are ready yet, `done` once every
  // pair has been handed over. The first call ends the input.
  virtual StepResult step(std::chrono::microseconds budget, Batch &out) = 0;

  // Returns the number of distinct tokens of a row's set.
  virtual uint32_t set_size(Side side, uint32_t row) const = 0;

  // Returns the figures so far; complete after `done`. Callable at any time between other calls.
  virtual JoinStats stats() const = 0;

  // Returns the share of the work that is done once every set has been added, from 0 to 1; unknown_share
  // where that cannot be told. Never falls. Callable at any time between other calls.
  virtual double share_done() const { return unknown_share; }

  // Returns what to tell the user since the last call; null if there is nothing.
  virtual std::unique_ptr<Notice> take_notice() { return nullptr; }
};

// Returns an engine on the device that `spec` asks for. Throws Error invalid_argument or device_failure if
// that is the GPU and it cannot be used.
std::unique_ptr<JoinEngine> make_engine(const JoinSpec &spec);

// Returns an engine that runs on the CPU cores of this host. It runs an algorithm that needs a GPU as
// `automatic`.
std::unique_ptr<JoinEngine> make_cpu_engine(const JoinSpec &spec);

}  // namespace simjoin
