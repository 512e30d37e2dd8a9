#include "core/sets/interner.hpp"

#include "core/base/error.hpp"
#include "core/base/interruption.hpp"

namespace simjoin {
namespace {

// Tokens looked up together: their slots are prefetched before the first is probed.
constexpr size_t chunk_size = 32;
constexpr size_t first_direct = 1024;
// Only the engine's caller adds a set of so many tokens.
constexpr size_t tokens_between_checks = size_t{1} << 16;

}  // namespace

void DocumentFrequencies::throw_too_many() {
  throw Error(ErrorKind::limit_exceeded, "a join cannot have more than 4294967294 distinct tokens");
}

uint32_t DocumentFrequencies::add_id() {
  if (ids_ >= UINT32_MAX - 1) throw_too_many();
  counts_[0].push_back(0);
  if (!self_join_) counts_[1].push_back(0);
  return ids_++;
}

Buffer<uint32_t> DocumentFrequencies::take_shareable() {
  Buffer<uint32_t> counts = std::move(counts_[0]);
  for (size_t id = 0; id < counts.size(); ++id) {
    counts[id] = shareable(counts[id], self_join_ ? 0 : counts_[1][id], self_join_);
  }
  counts_[1].release();
  return counts;
}

IntegerInterner::IntegerInterner(bool self_join, bool direct, MemoryCounter &memory)
    : frequencies_(self_join, memory),
      may_be_direct_(direct),
      direct_(memory),
      table_(memory, {0, no_id, 0}) {}

// Begins a set: a new stamp, and where stamps run out, all of them anew.
void IntegerInterner::next_set() {
  if (++set_stamp_ != 0) return;
  for (Mark &mark : direct_) mark.last_set = 0;
  table_.for_each([](Entry &entry) { entry.last_set = 0; });
  set_stamp_ = 1;
}

template <typename T>
uint32_t IntegerInterner::intern(Side side, std::span<const T> tokens, uint32_t *ids) {
  next_set();
  uint32_t found = 0;
  for (size_t at = 0; at < tokens.size(); at += chunk_size) {
    if ((at + chunk_size) % tokens_between_checks == 0) check_interruption();
    found += intern_chunk(side, tokens.data() + at, std::min(chunk_size, tokens.size() - at), ids + found);
  }
  return found;
}

template <typename T>
uint32_t IntegerInterner::intern_chunk(Side side, const T *tokens, size_t count, uint32_t *ids) {
  uint64_t hashes[chunk_size];
  const size_t direct_size = direct_.size();
  for (size_t i = 0; i < count; ++i) {
    const auto value = static_cast<uint64_t>(static_cast<int64_t>(tokens[i]));
    if (value < direct_size) {
      __builtin_prefetch(&direct_[value]);
    } else {
      hashes[i] = hash_of(tokens[i]);
      table_.prefetch(hashes[i]);
    }
  }
  uint32_t found = 0;
  for (size_t i = 0; i < count; ++i) {
    const int64_t value = tokens[i];
    uint32_t id, *last_set;
    if (static_cast<uint64_t>(value) < direct_size) {
      Mark &mark = direct_[static_cast<size_t>(value)];
      if (mark.id == no_id) mark = {frequencies_.add_id(), 0};
      id = mark.id;
      last_set = &mark.last_set;
    } else {
      Entry *entry = table_.find(hashes[i], [value](const Entry &known) { return known.value == value; });
      if (entry->free()) entry = insert(entry, value);
      id = entry->id;
      last_set = &entry->last_set;
    }
    if (*last_set == set_stamp_) continue;
    *last_set = set_stamp_;
    frequencies_.prefetch(side, id);
    ids[found++] = id;
  }
  for (uint32_t i = 0; i < found; ++i) frequencies_.count(side, ids[i]);
  if (wanted_ > direct_size) extend_direct(wanted_);
  return found;
}

// Puts a new value into its free place, and notes it where the direct table should cover it.
IntegerInterner::Entry *IntegerInterner::insert(Entry *place, int64_t value) {
  const uint32_t id = frequencies_.add_id();
  const auto index = static_cast<uint64_t>(value);
  if (may_be_direct_ && index < direct_free + direct_per_token * frequencies_.ids()) {
    // At least a quarter more than there was: a growing range moves few times.
    wanted_ = std::max(
        {wanted_, first_direct, direct_.size() + direct_.size() / 4, static_cast<size_t>(index) + 1});
  }
  return table_.add(place, {value, id, 0});
}

// Grows the direct table to `size` slots and moves the values it now covers out of the hash table.
void IntegerInterner::extend_direct(size_t size) {
  const size_t before = direct_.size();
  direct_.resize(size);
  std::fill(direct_.begin() + before, direct_.end(), Mark{no_id, 0});
  table_.remove_if([this](const Entry &entry) {
    if (static_cast<uint64_t>(entry.value) >= direct_.size()) return false;
    direct_[static_cast<size_t>(entry.value)] = {entry.id, entry.last_set};
    return true;
  });
}

size_t IntegerInterner::bytes_with(size_t tokens) const {
  return direct_.size() * sizeof(Mark) + table_bytes(table_.size() + tokens) +
         (ids() + tokens) * frequencies_.bytes_per_id();
}

Buffer<int64_t> IntegerInterner::take_values(MemoryCounter &memory) {
  Buffer<int64_t> values(memory, ids());
  for (size_t slot = 0; slot < direct_.size(); ++slot) {
    if (direct_[slot].id != no_id) values[direct_[slot].id] = static_cast<int64_t>(slot);
  }
  visit_hashed([&](int64_t value, uint32_t id) { values[id] = value; });
  return values;
}

template uint32_t IntegerInterner::intern(Side, std::span<const int32_t>, uint32_t *);
template uint32_t IntegerInterner::intern(Side, std::span<const int64_t>, uint32_t *);

}  // namespace simjoin
