// The terms of documents as dense ids, and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/memory.hpp"
#include "core/base/mix.hpp"
#include "core/base/probe_table.hpp"

namespace simjoin {

// Numbers terms in the order in which they are first seen. All terms of one table are integers, or all are
// texts. Functions throw Error limit_exceeded at 2^32 - 1 terms, and std::bad_alloc.
class TermTable {
 public:
  explicit TermTable(MemoryCounter &memory);

  // Returns the term's id. A new term gets a new id.
  uint32_t id_of(int64_t value);
  uint32_t id_of(std::string_view text);
  // Return the id of a term, or no_id where it has none.
  static constexpr uint32_t no_id = UINT32_MAX;
  uint32_t known_id(int64_t value) const;
  uint32_t known_id(std::string_view text) const;

  uint32_t size() const { return static_cast<uint32_t>(starts_.size() - 1 + values_.size()); }
  // Return the term of an id, for tables of integers and of texts.
  int64_t value(uint32_t id) const { return values_[id]; }
  std::string_view text(uint32_t id) const {
    return {bytes_.data() + starts_[id], static_cast<size_t>(starts_[id + 1] - starts_[id])};
  }
  // Returns whether term a is before term b: the smaller number, or the smaller text byte by byte. Unlike
  // ids, this does not depend on the order in which terms came.
  bool before(uint32_t a, uint32_t b) const {
    return values_.empty() ? text(a) < text(b) : value(a) < value(b);
  }

 private:
  struct Entry {
    uint64_t key;  // the value of an integer, the hash of a text
    uint32_t id;

    bool free() const { return id == no_id; }
    uint64_t hash() const { return mix64(key); }
  };

  // Returns the id of the entry with this key for which same(id) holds. If there is none, calls add() and
  // returns the new id.
  template <class Same, class Add>
  uint32_t find(uint64_t key, Same &&same, Add &&add);

  ProbeTable<Entry> table_;
  Buffer<int64_t> values_;
  Buffer<char> bytes_;
  Buffer<uint64_t> starts_;  // where each text's bytes begin; one more entry than there are texts
};

}  // namespace simjoin
