// What stands for the tokens of sets that wait for their signatures, in memory or in the temporary file.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/spill_file.hpp"
#include "core/lsh/lsh_memory.hpp"
#include "core/minhash/signature_device.hpp"

namespace simjoin {

// Tokens of consecutive rows of a side.
template <class Token>
struct TokenArrays {
  explicit TokenArrays(MemoryCounter &memory) : values(memory), ends(memory) {}

  SetArrays<Token> arrays() const { return {{values.data(), values.size()}, {ends.data(), ends.size()}}; }
  void clear() {
    values.clear();
    ends.clear();
  }
  void release() {
    values.release();
    ends.release();
  }
  void shrink() {
    values.shrink();
    ends.shrink();
  }

  Buffer<Token> values;
  Buffer<size_t> ends;  // by row
};

// The tokens of a side's rows. With a file, those of a chunk at most are in memory.
template <class Token>
class WaitingTokens {
 public:
  WaitingTokens(const LshSpec &spec, MemoryCounter &memory)
      : chunk_bytes_(lsh_memory::chunk_bytes(spec)),
        signed_bytes_(lsh_memory::signed_bytes(spec)),
        tokens_(memory) {}

  // Return the bytes of so many rows and tokens, alone and with the signatures that are made of them.
  static size_t bytes(size_t rows, size_t tokens) { return tokens * sizeof(Token) + rows * sizeof(size_t); }
  size_t signing_bytes(size_t rows, size_t tokens) const {
    return bytes(rows, tokens) + rows * signed_bytes_;
  }

  // Adds a row, and returns the room for its tokens.
  Token *add_row(size_t count) {
    const size_t with = signing_bytes(tokens_.ends.size() + 1, tokens_.values.size() + count);
    if (file_ != nullptr && with > chunk_bytes_) spill();
    Token *const room = tokens_.values.extend(count);
    tokens_.ends.push_back(tokens_.values.size());
    return room;
  }
  // Moves the tokens into the file.
  void spill_to(SpillFile &file) {
    file_ = &file;
    spill();
  }
  void shrink() { tokens_.shrink(); }
  // Calls visit(row, sets) for all tokens, consecutive rows at a time, the first of them `row`, and forgets
  // them. The rows begin with `first_row`.
  template <class Visit>
  void take(uint32_t first_row, Visit &&visit);

 private:
  struct Stored {
    uint32_t rows;
    size_t before;  // what is to be taken from the ends
    size_t tokens;
    uint64_t place;  // of the values, which the ends follow
  };

  void spill();
  void load(const Stored &stored);

  const size_t chunk_bytes_;
  const size_t signed_bytes_;
  TokenArrays<Token> tokens_;   // that are in memory
  std::vector<Stored> stored_;  // those before them
  SpillFile *file_ = nullptr;
};

// Moves what is in memory into the file, in chunks.
template <class Token>
void WaitingTokens<Token>::spill() {
  const size_t rows = tokens_.ends.size();
  for (size_t begin = 0, before = 0; begin < rows;) {
    size_t end = begin + 1;
    while (end < rows && signing_bytes(end + 1 - begin, tokens_.ends[end] - before) <= chunk_bytes_) ++end;
    const size_t count = tokens_.ends[end - 1] - before;
    const size_t value_bytes = count * sizeof(Token), end_bytes = (end - begin) * sizeof(size_t);
    const uint64_t place = file_->reserve(value_bytes + end_bytes);
    file_->write(place, tokens_.values.data() + before, value_bytes);
    file_->write(place + value_bytes, tokens_.ends.data() + begin, end_bytes);
    stored_.push_back({static_cast<uint32_t>(end - begin), before, count, place});
    before += count;
    begin = end;
  }
  if (signing_bytes(rows, tokens_.values.size()) > chunk_bytes_) tokens_.release();
  tokens_.clear();
}

template <class Token>
void WaitingTokens<Token>::load(const Stored &stored) {
  tokens_.values.resize(stored.tokens);
  tokens_.ends.resize(stored.rows);
  const size_t value_bytes = stored.tokens * sizeof(Token);
  file_->read(stored.place, tokens_.values.data(), value_bytes);
  file_->read(stored.place + value_bytes, tokens_.ends.data(), stored.rows * sizeof(size_t));
  for (size_t &end : tokens_.ends) end -= stored.before;
}

template <class Token>
template <class Visit>
void WaitingTokens<Token>::take(uint32_t first_row, Visit &&visit) {
  if (file_ != nullptr) {
    spill();
    for (const Stored &stored : stored_) {
      load(stored);
      visit(first_row, tokens_.arrays());
      first_row += stored.rows;
    }
  } else if (!tokens_.ends.empty()) {
    visit(first_row, tokens_.arrays());
  }
  tokens_.release();
}

}  // namespace simjoin
