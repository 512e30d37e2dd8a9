// Joins: any bytes become a join, on which the engine and the naive join must agree.
#include "fuzz/target.hpp"

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "unit/drive_stream.hpp"
#include "unit/random_sets.hpp"

namespace simjoin::fuzz {

namespace {

using test::Input;
using test::IntSets;
using test::Pair;
using test::Sets;

constexpr size_t most_sets = 200;
constexpr size_t longest_input = 1500;

// Reads values from the input; zeros past its end.
class Bytes {
 public:
  Bytes(const uint8_t *data, size_t size) : data_(data), size_(size) {}

  bool empty() const { return at_ >= size_; }
  uint8_t byte() { return at_ < size_ ? data_[at_++] : 0; }
  uint32_t below(uint32_t limit) { return byte() % limit; }
  double any_double() {
    uint64_t bits = 0;
    for (int i = 0; i < 8; ++i) bits = bits << 8 | byte();
    return std::bit_cast<double>(bits);
  }

 private:
  const uint8_t *data_;
  size_t size_;
  size_t at_ = 0;
};

// Returns mostly a fraction that pairs can meet exactly, or one of its neighbours, and sometimes any double.
double read_threshold(Bytes &bytes, Measure measure) {
  const uint32_t kind = bytes.below(16);
  if (kind == 0) return bytes.any_double();
  const uint32_t whole = 1 + bytes.below(64), part = 1 + bytes.below(64);
  const double threshold =
      measure == Measure::overlap ? part : static_cast<double>(std::min(part, whole)) / whole;
  if (kind == 1) return std::nextafter(threshold, 0.0);
  if (kind == 2) return std::nextafter(threshold, 2.0 * threshold);
  return threshold;
}

// A byte below 0xe0 is a token. Others end a set, start a copy of the set before, or make a run of tokens.
IntSets read_sets(Bytes &bytes) {
  const size_t sets = std::min<size_t>(bytes.byte(), most_sets);
  IntSets result;
  while (result.size() < sets && !bytes.empty()) {
    result.emplace_back();
    for (uint8_t byte; !bytes.empty() && (byte = bytes.byte()) < 0xfc;) {
      if (byte < 0xe0) {
        result.back().push_back(byte);
      } else if (byte < 0xf0) {
        if (result.size() > 1) result.back() = result[result.size() - 2];
      } else {
        const int32_t first = bytes.byte(), count = bytes.byte();
        for (int32_t i = 0; i < count; ++i) result.back().push_back(first + i);
      }
    }
  }
  return result;
}

template <class Token, class Convert>
Input<Token> converted(const Input<int32_t> &input, Convert convert) {
  const auto sets = [&](const IntSets &from) {
    Sets<Token> to;
    for (const auto &set : from) {
      to.emplace_back();
      for (int32_t token : set) to.back().push_back(convert(token));
    }
    return to;
  };
  return {sets(input.left), sets(input.right), input.self_join};
}

[[noreturn]] void fail(const JoinSpec &spec, const std::string &way, const std::string &difference) {
  std::fprintf(stderr, "%s >= %.17g by %s: %s\n", test::name_of(spec.measure).c_str(), spec.threshold,
               way.c_str(), difference.c_str());
  std::abort();
}

// The same join with either side indexed, if the threshold allows it.
template <class Token>
void compare_streamed(const JoinSpec &spec, const Input<Token> &input, const std::vector<Pair> &expected) {
  if (input.self_join || spec.threshold <= 0) return;
  for (const Side small : test::sides) {
    std::vector<Pair> actual;
    if (!test::run_streamed(spec, small, input, actual)) continue;
    const std::string difference = test::difference(expected, actual);
    if (!difference.empty()) fail(spec, "a streamed side", difference);
  }
}

template <class Token>
void compare(const JoinSpec &spec, const Input<Token> &input) {
  const std::vector<Pair> expected = test::Oracle<Token>(input).join(spec.measure, spec.threshold);
  JoinStats stats;
  const std::vector<Pair> actual = test::run(spec, input, &stats);
  const std::string difference = test::difference(expected, actual);
  if (!difference.empty() || stats.output != actual.size()) {
    fail(spec,
         test::name_of(spec.algorithm) + " with " + std::to_string(spec.threads) + " threads" +
             (input.self_join ? ", self-join" : "") + " in " + std::to_string(stats.partitions) + " parts",
         difference + "; output counted: " + std::to_string(stats.output));
  }
  compare_streamed(spec, input, expected);
}

}  // namespace

void check_input(const uint8_t *data, size_t size) {
  Bytes bytes(data, size);
  const Measure measure = test::all_measures[bytes.below(std::size(test::all_measures))];
  const Algorithm algorithm = test::all_algorithms[bytes.below(std::size(test::all_algorithms))];
  const int threads = 1 + static_cast<int>(bytes.below(3));
  JoinSpec spec = test::make_spec(algorithm, measure, read_threshold(bytes, measure), threads);
  const uint32_t token_type = bytes.below(3);
  Input<int32_t> input;
  input.self_join = bytes.below(2) == 1;
  input.left = read_sets(bytes);
  if (!input.self_join) input.right = read_sets(bytes);
  if (bytes.below(2) == 1) spec.memory_limit = 1;  // every few sets a part of their own
  if (threads == 3 && spec.threshold > 0) input = test::with_unrelated_rows(input);
  if (token_type == 0) {
    compare(spec, input);
  } else if (token_type == 1) {
    compare(spec,
            converted<int64_t>(input, [](int32_t token) { return (int64_t{token} - 50) * 0x1'0000'0001; }));
  } else {
    compare(spec, converted<std::string>(input, [](int32_t token) {
              return std::string(static_cast<size_t>(token % 20), 'x') + static_cast<char>(token / 20);
            }));
  }
}

std::vector<uint8_t> random_input(std::mt19937_64 &random) {
  std::vector<uint8_t> input(random() % longest_input);
  // Few different tokens in half of the inputs, so that sets share many.
  const uint64_t mask = random() % 2 == 0 ? 0xff : 0xc7;
  for (uint8_t &byte : input) byte = static_cast<uint8_t>(random() & mask);
  for (size_t at = 8; at < input.size(); at += 1 + random() % 24) input[at] = random() % 4 == 0 ? 0xe0 : 0xfc;
  return input;
}

}  // namespace simjoin::fuzz
