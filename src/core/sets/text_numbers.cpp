#include "core/sets/text_numbers.hpp"

#include <algorithm>
#include <bit>

#include "core/base/probe_table.hpp"
#include "core/base/token_hash.hpp"
#include "core/sets/interner.hpp"

namespace simjoin {
namespace {

// Returns with how many entries a part of an array is full: from half to three quarters of its places. All
// parts have about as many entries, but must not grow at once.
size_t most_entries(size_t part, size_t places) {
  constexpr size_t parts = TextNumbers::parts;
  return (places * (2 * parts + part) + 4 * parts - 1) / (4 * parts);
}

}  // namespace

// A text that is looked up. Within the struct, functions can be inlined in a shared library, too.
struct TextNumbers::Lookup {
  explicit Lookup(std::string_view token)
      : text(token),
        key(token.size() <= ShortText::longest ? ShortText::key_of(token)
                                               : token_value_hash(token) | long_text),
        hash(mix64(key)) {}

  size_t part() const { return hash >> part_shift; }
  bool is_long() const { return (key & long_text) != 0; }
  // Returns the part's array.
  Array &array_in(const std::array<Part, parts> &all) const {
    return *all[part()].array.load(std::memory_order_acquire);
  }
  // Returns where find() looks first.
  Entry *first(Array &array) const { return array.of_part(part()) + array.home(hash); }
  // Returns the entry of the text, or the free one where it belongs, and its value.
  Entry *find(Array &array, uint64_t &value) const {
    Entry *const entries = array.of_part(part());
    return entries + probe(array.home(hash), array.places, [&](size_t place) {
             value = value_of(entries[place]);
             return value == free_place || is_of(entries[place], value);
           });
  }
  static uint64_t value_of(const Entry &entry) {
    return std::atomic_ref(const_cast<uint64_t &>(entry.value)).load(std::memory_order_acquire);
  }
  // Returns whether an entry that is not free is that of the text.
  bool is_of(const Entry &entry, uint64_t value) const {
    if (entry.key != key) return false;
    return !is_long() || reinterpret_cast<const TextStore::Text *>(value)->view() == text;
  }

  std::string_view text;
  uint64_t key;
  uint64_t hash;
};

TextNumbers::Array::Array(MemoryCounter &memory, size_t part_places)
    : entries(memory, parts * part_places), places(part_places), shift(64 - std::countr_zero(part_places)) {}

TextNumbers::TextNumbers(MemoryCounter &memory)
    : memory_(memory), store_(std::make_unique<TextStore>(memory)) {
  Array &first = array_of(first_places);
  std::fill(first.entries.begin(), first.entries.end(), Entry{0, free_place});
  first.used_by = parts;
  for (size_t part = 0; part < parts; ++part) {
    parts_[part].room = static_cast<uint32_t>(most_entries(part, first_places));
    parts_[part].array.store(&first, std::memory_order_relaxed);
  }
}

size_t TextNumbers::table_bytes(size_t texts) {
  // An array is begun when the first parts of the one before it are half full.
  size_t places = first_places;
  while (texts * 2 >= places * parts) places *= 2;
  return (places + places / 2) * parts * sizeof(Entry);
}

void TextNumbers::number(std::span<const std::string_view> texts, TextStore::Piece &piece,
                         uint32_t *numbers) {
  alignas(Lookup) std::byte room[at_a_time * sizeof(Lookup)];
  auto *const lookups = reinterpret_cast<Lookup *>(room);
  bool any_long = false;
  for (size_t i = 0; i < texts.size(); ++i) {
    const Lookup &lookup = *new (lookups + i) Lookup(texts[i]);
    any_long |= lookup.is_long();
    __builtin_prefetch(lookup.first(lookup.array_in(parts_)));
  }
  for (size_t i = 0; any_long && i < texts.size(); ++i) {
    const Lookup &lookup = lookups[i];
    const Entry &entry = *lookup.first(lookup.array_in(parts_));
    const uint64_t value = Lookup::value_of(entry);
    if (lookup.is_long() && value != free_place && entry.key == lookup.key)
      __builtin_prefetch(reinterpret_cast<const void *>(value));
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    const Lookup &lookup = lookups[i];
    uint64_t value;
    lookup.find(lookup.array_in(parts_), value);
    numbers[i] = value == free_place ? insert(lookup, piece) : number_of(lookup.key, value);
  }
}

// Returns the number of a text that was not there a moment ago.
uint32_t TextNumbers::insert(const Lookup &lookup, TextStore::Piece &piece) {
  Part &part = parts_[lookup.part()];
  const std::lock_guard lock(part.mutex);
  uint64_t value;
  Entry *entry = lookup.find(*part.array.load(std::memory_order_relaxed), value);
  if (value != free_place) return number_of(lookup.key, value);
  if (part.room == 0) {
    grow(part, lookup.part());
    entry = lookup.find(*part.array.load(std::memory_order_relaxed), value);
  }
  uint32_t number = next_.load(std::memory_order_relaxed);
  do {
    if (number >= UINT32_MAX - 1) DocumentFrequencies::throw_too_many();
  } while (!next_.compare_exchange_weak(number, number + 1, std::memory_order_relaxed));
  uint64_t stored = number;
  if (lookup.is_long()) {
    stored = reinterpret_cast<uint64_t>(store_->add(number, lookup.text, piece));
  } else {
    store_->add_short(number, lookup.key);
  }
  --part.room;
  entry->key = lookup.key;
  std::atomic_ref(entry->value).store(stored, std::memory_order_release);
  return number;
}

// Returns the array whose parts have `places` places.
TextNumbers::Array &TextNumbers::array_of(size_t places) {
  const auto number = static_cast<size_t>(std::countr_zero(places) - std::countr_zero(first_places));
  if (arrays_.size() <= number) arrays_.resize(number + 1);
  if (!arrays_[number]) arrays_[number] = std::make_unique<Array>(memory_, places);
  return *arrays_[number];
}

// Moves a part, whose lock is held, to the next array.
void TextNumbers::grow(Part &part, size_t number) {
  Array &old = *part.array.load(std::memory_order_relaxed);
  const size_t places = old.places * 2;
  Array *array;
  {
    const std::lock_guard lock(mutex_);
    array = &array_of(places);
    ++array->used_by;
  }
  Entry *const entries = array->of_part(number), *const from = old.of_part(number);
  std::fill_n(entries, places, Entry{0, free_place});
  for (size_t i = 0; i < old.places; ++i) {
    if (from[i].value == free_place) continue;
    const size_t home = array->home(mix64(from[i].key));
    entries[probe(home, places, [&](size_t place) { return entries[place].value == free_place; })] = from[i];
  }
  part.room = static_cast<uint32_t>(most_entries(number, places) - most_entries(number, old.places));
  part.array.store(array, std::memory_order_release);
  const std::lock_guard lock(mutex_);
  if (--old.used_by > 0) return;
  retired_.reserve(retired_.size() + 1);  // or this throws, and the array stays until the end
  const auto left = std::find_if(arrays_.begin(), arrays_.end(), [&](auto &a) { return a.get() == &old; });
  std::unique_ptr<Array> unused = std::move(*left);
  // As an update, it comes before begin_work() of all work that cannot have seen this array.
  const uint64_t begun = begun_.fetch_add(0, std::memory_order_acq_rel);
  if (begun - ended_.load(std::memory_order_acquire) <= 1) return;  // this work alone
  retired_.push_back({std::move(unused), begun});
  any_retired_.store(true, std::memory_order_relaxed);
}

void TextNumbers::release_table() {
  arrays_.clear();
  retired_.clear();
}

void TextNumbers::release_unused(uint64_t ended) {
  if (!any_retired_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  std::erase_if(retired_, [&](const Retired &retired) { return retired.begun <= ended; });
  any_retired_.store(!retired_.empty(), std::memory_order_relaxed);
}

}  // namespace simjoin
