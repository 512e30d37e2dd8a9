#include "core/text/terms.hpp"

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/token_hash.hpp"

namespace simjoin {

TermTable::TermTable(MemoryCounter &memory)
    : table_(memory, Entry{0, no_id}), values_(memory), bytes_(memory), starts_(memory) {
  starts_.push_back(0);
}

template <class Same, class Add>
uint32_t TermTable::find(uint64_t key, Same &&same, Add &&add) {
  const auto is_it = [&](const Entry &entry) { return entry.key == key && same(entry.id); };
  Entry *place = table_.find(mix64(key), is_it);
  if (!place->free()) return place->id;
  const uint32_t id = size();
  if (id == no_id) throw Error(ErrorKind::limit_exceeded, "documents cannot have more than 4294967294 terms");
  add();
  table_.add(place, {key, id});
  return id;
}

uint32_t TermTable::id_of(int64_t value) {
  return find(
      static_cast<uint64_t>(value), [](uint32_t) { return true; }, [&] { values_.push_back(value); });
}

uint32_t TermTable::id_of(std::string_view term) {
  return find(
      token_value_hash(term), [&](uint32_t id) { return text(id) == term; },
      [&] {
        std::copy(term.begin(), term.end(), bytes_.extend(term.size()));
        starts_.push_back(bytes_.size());
      });
}

uint32_t TermTable::known_id(int64_t value) const {
  const auto key = static_cast<uint64_t>(value);
  return table_.find(mix64(key), [&](const Entry &entry) { return entry.key == key; })->id;
}

uint32_t TermTable::known_id(std::string_view term) const {
  const uint64_t key = token_value_hash(term);
  return table_
      .find(mix64(key), [&](const Entry &entry) { return entry.key == key && text(entry.id) == term; })
      ->id;
}

}  // namespace simjoin
