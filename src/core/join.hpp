// The engine interface: one join is one object that is fed sets and then pulled for pairs in bounded steps.
//
// Whoever runs joins sees of them only this file, which each kind of device implements.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
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

// Which algorithms need a GPU, and which run on the CPU alone; the others run on either.
constexpr bool needs_gpu(Algorithm algorithm) {
  return algorithm >= Algorithm::gssjoin;
}
constexpr bool needs_cpu(Algorithm algorithm) {
  return algorithm == Algorithm::allpairs || algorithm == Algorithm::ppjoin ||
         algorithm == Algorithm::groupjoin;
}

// Where a join runs. `automatic`: on the GPU where there is one and it pays, else on the CPU.
enum class Device : uint8_t { automatic, cpu, gpu };

inline constexpr std::string_view device_names[] = {"auto", "cpu", "gpu"};

enum class Side : uint8_t { left, right };

// Left rows of which nothing more is asked, a bit each; the caller's thread sets bits while the engine's
// threads look. Null until the caller's last set has been added.
struct DoneRows {
  uint8_t *bits = nullptr;

  bool is_done(uint32_t row) const {
    return (std::atomic_ref(bits[row / 8]).load(std::memory_order_relaxed) >> row % 8 & 1) != 0;
  }
};

struct JoinSpec {
  Measure measure = Measure::jaccard;
  // Pairs with similarity >= threshold are found. Any number: with a threshold of zero or less every pair
  // qualifies, empty sets included; with one that is not a number none does.
  double threshold = 0.7;
  Algorithm algorithm = Algorithm::automatic;
  // One collection, fed as Side::left, against itself: each unordered pair of different rows once, left <
  // right.
  bool self_join = false;
  Device device = Device::automatic;
  int threads = 0;                        // compute threads; 0 = one for each core
  size_t memory_limit = size_t{1} << 30;  // bytes; see wants_spill_file()
  size_t gpu_memory_limit = 0;            // bytes of device memory; 0 = most of what is free
  int gpus = 0;                           // that may share the join; 0 = all there are
  // Where it is not null, the caller asks only whether rows have partners: an engine may leave out pairs of
  // left rows that are done (in a self-join, where both are), and give a pair twice.
  const DoneRows *done_rows = nullptr;
};

// Result pairs, as parallel arrays: row numbers on each side and the exact number of shared tokens.
struct Batch {
  std::vector<uint32_t> left;
  std::vector<uint32_t> right;
  std::vector<uint32_t> overlap;

  size_t size() const { return left.size(); }
  void clear() {
    left.clear();
    right.clear();
    overlap.clear();
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

// What a join did. Counts are pairs; each filter's figure is what it left over, where it did not run for some
// of the sets all of theirs: none is larger than the one before. (A semi or anti join may look at a pair
// twice, and one on a GPU does not count what the filters of its prefix index leave.)
struct JoinStats : PairCounts {
  uint64_t sets[2] = {0, 0};     // non-empty sets of each side
  uint64_t tokens[2] = {0, 0};   // tokens of each side, duplicates within a set removed
  uint64_t distinct_tokens = 0;  // different ones of both sides; 0 where that is not known, in joins in tiles
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
  std::string gpu_refused;           // why a join that could have run on a GPU did not; empty where it did
  size_t device_memory_peak = 0;     // bytes of GPU memory
  std::vector<std::string> reasons;  // why, one line a decision: the figures behind `auto`

  // Adds another join. What is no number becomes a list of what differs; the reasons are those of the last
  // join that has some.
  JoinStats &operator+=(const JoinStats &other);
};

enum class StepResult { working, batch, done };

// What the caller's user should know of a join that goes on: that it left the GPU, and why.
struct Notice {
  enum class Cause : uint8_t {
    too_large,    // too little memory on the GPU, or too many items for it
    unavailable,  // the GPU could not be used now; the next computation may find it
    failed,       // the GPU, which this process does not use again
  };
  Cause cause;
  std::string message;
};

class SetBlock;

// One join. Use: add every set; then step until `done`. Not safe for use by several threads at a time (the
// engine's own threads aside). The destructor stops whatever runs within a few milliseconds.
//
// Functions throw simjoin::Error or std::bad_alloc; afterwards only the destructor may be called.
class JoinEngine {
 public:
  virtual ~JoinEngine() = default;

  // Adds the next row of a side; rows are numbered from 0 on each side. Tokens come in any order and may
  // repeat; an empty set is a row like any other. All sets of one join that are not empty have one token
  // type.
  virtual void add(Side side, std::span<const int32_t> tokens) = 0;
  virtual void add(Side side, std::span<const int64_t> tokens) = 0;
  virtual void add(Side side, std::span<const std::string_view> tokens) = 0;

  // Adds the rows of a block, the next ones of its side, as add() would one by one. The engine may keep the
  // block to save itself a copy.
  virtual void add_block(std::shared_ptr<const SetBlock> block);

  // Returns whether the sets added so far make the join larger than its memory limit. It keeps to the limit
  // from set_spill_file() on; without a file it goes on in memory.
  virtual bool wants_spill_file() const { return false; }
  // Gives the join a temporary file, at most once, before the first step: an empty one, of which it will
  // write `limit` bytes at most. Any thread of the engine uses the descriptor; the engine closes it.
  virtual void set_spill_file(int descriptor, uint64_t limit);

  // Works for about `budget` at most, or waits that long for the engine's threads. Returns `batch` with
  // `out` filled (its old content replaced; bounded size), `working` where there is nothing to hand over
  // yet, `done` once every pair has been handed over. The first call ends the input.
  virtual StepResult step(std::chrono::microseconds budget, Batch &out) = 0;

  // Returns how many tokens the set of a row has, duplicates removed.
  virtual uint32_t set_size(Side side, uint32_t row) const = 0;

  // Returns the figures so far; complete after `done`. Callable at any time between other calls.
  virtual JoinStats stats() const = 0;

  // Returns what has happened since the last call that the user should know of; null where nothing has.
  virtual std::unique_ptr<Notice> take_notice() { return nullptr; }
};

// Returns an engine on the device that the specification asks for. Throws Error invalid_argument or
// device_failure where that is the GPU and it cannot be used.
std::unique_ptr<JoinEngine> make_engine(const JoinSpec &spec);

// Returns an engine that runs on the CPU cores of this host; an algorithm that needs a GPU is `automatic`
// there.
std::unique_ptr<JoinEngine> make_cpu_engine(const JoinSpec &spec);

}  // namespace simjoin
