#include "core/sets/token_runs.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "core/base/error.hpp"
#include "core/base/token_hash.hpp"

namespace simjoin {
namespace {

// Ids, numbers and tokens that are read or compared at a time.
constexpr size_t ids_per_piece = size_t{1} << 14;
// What it takes to number a token, beside its bytes, which are there twice: places in the tables of a
// vocabulary, the token and its number on their way.
constexpr uint64_t bytes_per_token = 90;
// At least so many tokens are written at a time, and so many for each that is added: a run is written before
// the next one ends.
constexpr size_t least_written = 4096, written_per_added = 4;
constexpr int part_shift = 64 - 6;  // of a hash of 64 bits

// How tokens lie in the file: integers as they are, texts behind their sizes.
size_t stored_bytes(int64_t) {
  return sizeof(int64_t);
}
size_t stored_bytes(std::string_view text) {
  return sizeof(uint32_t) + text.size();
}
void store(int64_t value, Buffer<char> &to) {
  std::memcpy(to.extend(sizeof value), &value, sizeof value);
}
void store(std::string_view text, Buffer<char> &to) {
  const auto size = static_cast<uint32_t>(text.size());
  char *const at = to.extend(sizeof size + text.size());
  std::memcpy(at, &size, sizeof size);
  if (size > 0) std::memcpy(at + sizeof size, text.data(), size);
}
const char *fetch(const char *from, int64_t &value) {
  std::memcpy(&value, from, sizeof value);
  return from + sizeof value;
}
const char *fetch(const char *from, std::string_view &text) {
  uint32_t size;
  std::memcpy(&size, from, sizeof size);
  text = {from + sizeof size, size};
  return from + sizeof size + size;
}

}  // namespace

void TokenRuns::end_run(TokenList tokens, size_t left_blocks, size_t right_blocks) {
  if (tokens_) write_some(order_.size());
  tokens_ = std::move(tokens);
  texts_ |= tokens_->texts();
  Run &run = runs_.emplace_back();
  run.tokens = tokens_->size();
  run.end_blocks = {left_blocks, right_blocks};
  sort_into_parts(run);
  run.place = file_.reserve(run.bytes.back());
  run.ids = file_.reserve(run.tokens * sizeof(uint32_t));
  run.numbers = file_.reserve(run.tokens * sizeof(uint32_t));
  file_.write(run.ids, order_.data(), run.tokens * sizeof(uint32_t));
  written_ = written_bytes_ = 0;
}

// Finds the parts of the last run's tokens, and their order.
void TokenRuns::sort_into_parts(Run &run) {
  const auto part_of = [&](uint32_t id) {
    return tokens_->visit(id, [](const auto &token) { return token_value_hash(token) >> part_shift; });
  };
  static_assert(uint64_t{parts} == uint64_t{1} << (64 - part_shift));
  for (uint32_t id = 0; id < run.tokens; ++id) {
    const uint64_t part = part_of(id);
    ++run.begins[part + 1];
    run.bytes[part + 1] += tokens_->visit(id, [](const auto &token) { return stored_bytes(token); });
  }
  for (uint32_t part = 0; part < parts; ++part) {
    run.begins[part + 1] += run.begins[part];
    run.bytes[part + 1] += run.bytes[part];
  }
  std::array<uint32_t, parts + 1> next = run.begins;
  order_.resize(run.tokens);
  for (uint32_t id = 0; id < run.tokens; ++id) order_[next[part_of(id)]++] = id;
}

void TokenRuns::write_some(size_t added) {
  if (!tokens_) return;
  const size_t most = std::max(least_written, written_per_added * added);
  const size_t end = most < order_.size() - written_ ? written_ + most : order_.size();
  Buffer<char> bytes(memory_);
  for (; written_ < end; ++written_) {
    tokens_->visit(order_[written_], [&](const auto &token) { store(token, bytes); });
    if (bytes.size() < ids_per_piece && written_ + 1 < end) continue;
    file_.write(runs_.back().place + written_bytes_, bytes.data(), bytes.size());
    written_bytes_ += bytes.size();
    bytes.clear();
  }
  if (written_ < order_.size()) return;
  tokens_.reset();
  order_.release();
}

VocabularySize TokenRuns::number(const std::array<RawSets *, 2> &sides, size_t bytes, WorkerPool &pool) {
  if (tokens_) write_some(order_.size());
  const auto workers = static_cast<uint64_t>(pool.workers());
  std::vector<Group> groups = this->groups(bytes / workers);
  uint64_t largest = 1;
  for (const Group &group : groups) largest = std::max(largest, group.bytes);
  // As many groups at a time as there is memory for.
  const uint64_t lanes = std::clamp<uint64_t>(bytes / largest, 1, workers);
  pool.parallel_in_steps(lanes, groups.size(), [&](int, size_t lane) {
    for (size_t i = lane; i < groups.size(); i += lanes) {
      groups[i].distinct = texts_ ? number_group<std::string_view>(groups[i], pool.stop())
                                  : number_group<int64_t>(groups[i], pool.stop());
      pool.step();
    }
  });
  VocabularySize all;
  all.texts = texts_;
  for (Group &group : groups) {
    group.before = all.tokens;
    if (group.distinct.tokens >= UINT32_MAX - 1 - all.tokens) DocumentFrequencies::throw_too_many();
    all += group.distinct;
  }
  std::array<size_t, 2> first_blocks{};
  for (const Run &run : runs_) {
    replace(run, groups, sides, first_blocks, pool);
    first_blocks = run.end_blocks;
  }
  return all;
}

// Returns groups of parts that take `bytes` each, if they have more than one.
std::vector<TokenRuns::Group> TokenRuns::groups(size_t bytes) const {
  std::vector<Group> groups;
  for (uint32_t part = 0; part < parts; ++part) {
    uint64_t needed = 0;
    for (const Run &run : runs_) {
      needed += (run.begins[part + 1] - run.begins[part]) * bytes_per_token;
      needed += 2 * (run.bytes[part + 1] - run.bytes[part]);
    }
    if (groups.empty() || groups.back().bytes + needed > bytes) groups.push_back({part, part});
    groups.back().end = part + 1;
    groups.back().bytes += needed;
  }
  return groups;
}

// Numbers the tokens of all runs in these parts, and writes the numbers to the file. Returns what these parts
// of all runs have together.
template <typename Token>
VocabularySize TokenRuns::number_group(const Group &group, const StopFlag &stop) const {
  Vocabulary vocabulary(true, memory_, true);
  Buffer<char> bytes(memory_);
  Buffer<uint32_t> numbers(memory_);
  std::vector<Token> tokens;
  VocabularySize size;
  for (const Run &run : runs_) {
    const uint32_t begin = run.begins[group.begin], count = run.begins[group.end] - begin;
    if (count == 0) continue;
    bytes.resize(run.bytes[group.end] - run.bytes[group.begin]);
    file_.read(run.place + run.bytes[group.begin], bytes.data(), bytes.size());
    numbers.resize(count);
    const char *from = bytes.data();
    for (size_t done = 0; done < count; done += tokens.size()) {
      stop.check();
      tokens.resize(std::min<size_t>(ids_per_piece, count - done));
      for (Token &token : tokens) {
        from = fetch(from, token);
        size.see(token);
      }
      // A run has a token once: none of these is left out.
      if constexpr (std::is_same_v<Token, std::string_view>) {
        vocabulary.number(tokens, numbers.data() + done);
      } else {
        vocabulary.intern(Side::left, std::span<const Token>(tokens), numbers.data() + done);
      }
    }
    file_.write(run.numbers + begin * sizeof(uint32_t), numbers.data(), count * sizeof(uint32_t));
  }
  size.tokens = vocabulary.distinct_tokens();
  size.text_bytes = vocabulary.text_bytes();
  return size;
}

// Replaces the ids in the blocks of a run.
void TokenRuns::replace(const Run &run, std::span<const Group> groups, const std::array<RawSets *, 2> &sides,
                        const std::array<size_t, 2> &first_blocks, WorkerPool &pool) const {
  Buffer<uint32_t> number_of(memory_, run.tokens);
  std::vector<uint32_t> ids(ids_per_piece), numbers(ids_per_piece);
  for (const Group &group : groups) {
    for (uint32_t begin = run.begins[group.begin], end = run.begins[group.end]; begin < end;) {
      pool.stop().check();
      const size_t count = std::min<size_t>(ids_per_piece, end - begin);
      file_.read(run.ids + begin * sizeof(uint32_t), ids.data(), count * sizeof(uint32_t));
      file_.read(run.numbers + begin * sizeof(uint32_t), numbers.data(), count * sizeof(uint32_t));
      for (size_t i = 0; i < count; ++i) number_of[ids[i]] = group.before + numbers[i];
      begin += static_cast<uint32_t>(count);
    }
  }
  for (size_t side = 0; side < sides.size(); ++side) {
    sides[side]->change(first_blocks[side], run.end_blocks[side], &file_, pool,
                        [&](uint32_t *tokens, size_t count) {
                          for (size_t i = 0; i < count; ++i) tokens[i] = number_of[tokens[i]];
                        });
  }
}

}  // namespace simjoin
