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
  bytes,         // of such a block, or of a call's arrays
  ready,         // the session has all sets: the join may take its turn
  finish,        // the service has all sets
  credit,        // the session can take another message of the join or call
  sizes,         // * of the sets of a side, from a row on, once the join is done
  call,          // a function of the GPU (again): SentCall. Its arrays follow as bytes, once it is admitted
  end,           // of a join or a call, at any time
  devices,       // *
  status,        // *
  alive,         // * whether the service answers, which it does without the GPU
};

struct Request {
  Ask ask = Ask::hello;
  uint32_t work = 0;  // the number of the join or call
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

// The functions of the GPU that a session can call. What numbers and arrays they take and give is said where
// both ends of a call are: signature_calls and so on.
enum class Function : uint32_t {
  sign,
  hash_bands,
  components,
  pagerank,
  spectrum,
  flyhash,
  weighted,
  clusters
};

inline constexpr size_t most_call_numbers = 8, most_call_arrays = 8;

struct SentCall {
  Function function = Function::sign;
  uint32_t count = 0;          // of the arrays
  uint64_t device_memory = 0;  // bytes that the call may take of the GPU; 0 = most of the free memory
  uint64_t numbers[most_call_numbers] = {};
  uint64_t bytes[most_call_arrays] = {};  // of each array
};

struct CallResult {
  uint64_t numbers[most_call_numbers] = {};
  uint64_t device_memory_peak = 0;
  std::string device;
};

enum class Answer : uint32_t {
  hello,     // Hello
  piece,     // the number in Reply::count, maybe no_piece
  admitted,  // it has its turn: blocks in the session's own memory, or a call's arrays, may come
  pairs,     // takes a credit
  progress,  // JoinStats; takes a credit
  done,      // JoinStats; takes a credit
  array,     // bytes of a result's array, whose number is the count; takes a credit
  result,    // CallResult, after all arrays; takes a credit
  error,     // SentError; of the join or call, or of the connection if that is 0
  sizes,
  devices,
  status,  // ServiceStatus
  alive,
};

struct Reply {
  Answer answer = Answer::error;
  uint32_t work = 0;  // the number of the join or call
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
  uint32_t running = 0;  // joins and calls on the GPU
  uint32_t waiting = 0;  // joins and calls that wait for their turn
  uint64_t memory_total = 0;
  uint64_t memory_used = 0;    // in pieces that sessions or joins have
  uint64_t device_memory = 0;  // that the service holds
  uint64_t joins = 0;          // that ran to their end
  uint64_t calls = 0;          // the same
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

template <class Visitor, class Result>
void visit_result(Visitor &&visit, Result &result) {
  visit(result.numbers), visit(result.device_memory_peak), visit(result.device);
}

template <class T>
std::span<const char> bytes_of(const T &value) {
  static_assert(std::is_trivially_copyable_v<T>);
  return {reinterpret_cast<const char *>(&value), sizeof value};
}

template <class Visitor, class Device>
void visit_device(Visitor &&visit, Device &device) {
  visit(device.name), visit(device.major), visit(device.minor);
  visit(device.memory_total), visit(device.memory_free);
}

}  // namespace simjoin
