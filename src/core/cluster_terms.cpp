#include "core/cluster_terms.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/minhash.hpp"
#include "core/minhash_family.hpp"

namespace simjoin {
namespace {

constexpr size_t initial_slots = 1024;

}  // namespace

TermTable::TermTable(MemoryCounter &memory)
    : table_(memory, initial_slots, Entry{0, no_id}), values_(memory), bytes_(memory), starts_(memory) {
  starts_.push_back(0);
}

template <class Same, class Add>
uint32_t TermTable::find(uint64_t key, Same &&same, Add &&add) {
  const size_t mask = table_.size() - 1;
  size_t slot = mix64(key) & mask;
  for (; table_[slot].id != no_id; slot = (slot + 1) & mask) {
    if (table_[slot].key == key && same(table_[slot].id)) return table_[slot].id;
  }
  const uint32_t id = size();
  if (id == no_id) throw Error(ErrorKind::limit_exceeded, "documents cannot have more than 4294967294 terms");
  add();
  table_[slot] = {key, id};
  if (size_t{size()} * 2 > table_.size()) grow();
  return id;
}

uint32_t TermTable::id_of(int64_t value) {
  return find(
      static_cast<uint64_t>(value), [](uint32_t) { return true; }, [&] { values_.push_back(value); });
}

uint32_t TermTable::id_of(std::string_view term) {
  return find(
      token_identity(term), [&](uint32_t id) { return text(id) == term; },
      [&] {
        std::copy(term.begin(), term.end(), bytes_.extend(term.size()));
        starts_.push_back(bytes_.size());
      });
}

void TermTable::grow() {
  Buffer<Entry> old = std::move(table_);
  table_.resize(old.size() * 2, Entry{0, no_id});
  const size_t mask = table_.size() - 1;
  for (const Entry &entry : old) {
    if (entry.id == no_id) continue;
    size_t slot = mix64(entry.key) & mask;
    while (table_[slot].id != no_id) slot = (slot + 1) & mask;
    table_[slot] = entry;
  }
}

}  // namespace simjoin
