// What sessions and the GPU service say to each other. Both are processes of one build on one host, so the
// messages are plain structures. A message is a Request or a Reply with its payload, and arrives whole.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/device/gpu.hpp"
#include "core/join.hpp"

namespace simjoin {

// The largest payload. A socket takes two messages of this size by default.
inline constexpr size_t most_payload = size_t{96} << 10;
// Pairs of a message, each with the sizes of both sets.
inline constexpr uint32_t most_pairs_sent = most_payload / (5 * sizeof(uint32_t));
inline constexpr uint32_t most_sizes_sent = most_payload / sizeof(uint32_t);
inline constexpr uint32_t no_piece = UINT32_MAX;

// What a session asks. Those marked with * are answered.
enum class Ask : uint32_t {
  hello,         // * the service's memory
  piece,         // * a piece of it
  return_piece,  // which the session does not touch any more
  begin,         // a join: SentSpec
  block,         // sets: in a piece, or in the bytes that follow
  bytes,         // of such a block, or of the arrays of a search
  ready,         // the session has all sets: the join may take its turn
  finish,        // the service has all sets
  credit,        // the session can take another message of the work
  sizes,         // * of the sets of a side, from a row on, once the join is done
  search,  // of a join of sets with weights: SentSearch. Once it is admitted, its arrays follow as bytes
  end,     // of the work, at any time
  status,  // *
  alive,   // * whether the service answers, which it does without the GPU
};

struct Request {
  Ask ask = Ask::hello;
  uint32_t work = 0;  // the number of the join or search
  uint32_t piece = no_piece;
  uint32_t rows = 0;  // of a block; for sizes, the first row
  uint32_t right = 0, wide = 0;
  uint64_t tokens_at = 0;  // of a block: lengths come first, tokens from this byte on
  uint64_t token_count = 0;
};

struct SentSpec {
  uint32_t measure, algorithm, self_join;
  int32_t gpus;
  double threshold;
  uint64_t memory_limit, gpu_memory_limit;
};

// A WeightedProblem. The arrays of the index follow and, in a join of two sides, those of the probes: starts,
// totals, ranks, weights.
struct SentSearch {
  uint32_t of_cosine, self_join;
  uint32_t wide;  // whether weights are doubles
  uint32_t largest_set;
  uint64_t ranks;
  double threshold;
  uint64_t device_memory;
  uint64_t sets[2], tokens[2];  // of the index, and of the probes
};

// What a search has found for the next probes, beside the pairs.
struct SentFinds {
  uint64_t end, compatible, candidates, memory_peak;
  double kernel_ms;
  char device[64];
};

enum class Answer : uint32_t {
  hello,       // Hello
  piece,       // the number in Reply::count, maybe no_piece
  admitted,    // it has its turn: blocks in the session's own memory, or the arrays of a search, may come
  pairs,       // takes a credit
  progress,    // JoinStats; takes a credit
  candidates,  // of a search: WeightedPairs; takes a credit
  finds,       // of a search, after their candidates: SentFinds; takes a credit
  done,        // JoinStats, of a search nothing; takes a credit
  error,       // SentError; of the join or search, or of the connection if that is 0
  sizes,
  status,  // ServiceStatus
  alive,
};

struct Reply {
  Answer answer = Answer::error;
  uint32_t work = 0;  // the number of the join or search
  uint32_t count = 0;
  double share_done = unknown_share;
};

struct Hello {
  uint64_t bytes;
  int32_t pid;
  GpuSlowdown slowdown;
};

// What the service does now, and has done since it started.
struct ServiceStatus {
  int32_t pid = 0;
  uint32_t sessions = 0;
  uint32_t running = 0;  // joins on the GPU
  uint32_t waiting = 0;  // joins that wait for their turn
  uint64_t memory_total = 0;
  uint64_t memory_used = 0;    // in pieces that sessions or joins have
  uint64_t device_memory = 0;  // that the service holds
  uint64_t joins = 0;          // that ran to their end
  int64_t started = 0;         // microseconds since 1970
};

// Writes values one after the other.
class Packer {
 public:
  template <class T>
  void operator()(const T &value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto *bytes = reinterpret_cast<const char *>(&value);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof value);
  }
  void operator()(const std::string &text) {
    (*this)(static_cast<uint32_t>(text.size()));
    bytes_.insert(bytes_.end(), text.begin(), text.end());
  }
  void operator()(const std::vector<std::string> &texts) {
    (*this)(static_cast<uint32_t>(texts.size()));
    for (const std::string &text : texts) (*this)(text);
  }
  std::span<const char> bytes() const { return bytes_; }

 private:
  std::vector<char> bytes_;
};

// Reads what a Packer wrote. What is missing is not changed, and `complete` is then false.
class Unpacker {
 public:
  explicit Unpacker(std::span<const char> bytes) : bytes_(bytes) {}

  template <class T>
  void operator()(T &value) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (const char *from = next(sizeof value)) std::memcpy(&value, from, sizeof value);
  }
  void operator()(std::string &text) {
    uint32_t size = 0;
    (*this)(size);
    if (const char *from = next(size)) text.assign(from, size);
  }
  void operator()(std::vector<std::string> &texts) {
    uint32_t count = 0;
    (*this)(count);
    for (texts.clear(); count > 0 && complete; --count) (*this)(texts.emplace_back());
  }

  bool complete = true;

 private:
  const char *next(size_t size) {
    complete = complete && size <= bytes_.size();
    if (!complete) return nullptr;
    const char *from = bytes_.data();
    bytes_ = bytes_.subspan(size);
    return from;
  }

  std::span<const char> bytes_;
};

template <class Visitor, class Stats>
void visit_stats(Visitor &&visit, Stats &stats) {
  visit(stats.after_prefix), visit(stats.after_positional), visit(stats.after_bitmap);
  visit(stats.verified), visit(stats.left_out), visit(stats.output);
  visit(stats.sets), visit(stats.tokens), visit(stats.distinct_tokens);
  visit(stats.pairs), visit(stats.after_length);
  visit(stats.order_ms), visit(stats.build_ms), visit(stats.filter_ms), visit(stats.verify_ms);
  visit(stats.join_ms), visit(stats.memory_peak), visit(stats.spilled_bytes), visit(stats.partitions);
  visit(stats.one_part_limit), visit(stats.threads), visit(stats.used_prefix), visit(stats.used_bitmap);
  visit(stats.algorithm), visit(stats.device), visit(stats.streamed), visit(stats.gpu_refused);
  visit(stats.device_memory_peak), visit(stats.reasons);
}

struct SentError {
  uint32_t kind = 0;
  std::string message, hint;
};

template <class Visitor, class Error>
void visit_error(Visitor &&visit, Error &error) {
  visit(error.kind), visit(error.message), visit(error.hint);
}

template <class T>
std::span<const char> bytes_of(const T &value) {
  static_assert(std::is_trivially_copyable_v<T>);
  return {reinterpret_cast<const char *>(&value), sizeof value};
}

}  // namespace simjoin
