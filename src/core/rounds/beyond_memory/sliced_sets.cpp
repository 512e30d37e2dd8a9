#include "core/rounds/beyond_memory/sliced_sets.hpp"

#include <algorithm>
#include <cstring>

#include "core/base/check.hpp"

namespace simjoin {
namespace {

// Looks at the stop flag once in a number of words of records.
class PeriodicCheck {
 public:
  explicit PeriodicCheck(const StopFlag &stop) : stop_(stop) {}
  void at(size_t word) {
    if (word < next_) return;
    stop_.check();
    next_ = word + interval;
  }

 private:
  static constexpr size_t interval = size_t{1} << 16;
  const StopFlag &stop_;
  size_t next_ = 0;
};

// Calls body(i) for each i < count; by all threads of the pool, if any.
template <typename Body>
void for_each(WorkerPool *pool, size_t count, Body &&body) {
  if (pool != nullptr) {
    pool->parallel(count, [&](int, size_t i) { body(i); });
  } else {
    for (size_t i = 0; i < count; ++i) body(i);
  }
}

}  // namespace

void SlicedSets::read(std::span<const Slice *const> slices, Records &records, WorkerPool *pool) const {
  const size_t first = records.ends.size();
  size_t end = records.words.size();
  for (const Slice *slice : slices) records.ends.push_back(end += slice->words);
  records.words.resize(end);
  for_each(pool, slices.size(), [&](size_t i) {
    const Slice &slice = *slices[i];
    file_.read(slice.place, records.words.data() + records.begin(first + i), slice.words * sizeof(uint32_t));
  });
}

// Calls visit_set(header, ranks) for each set of the records in words [0, end).
template <typename Visit>
void SlicedSets::visit(const uint32_t *words, size_t end, Visit &&visit_set) const {
  PeriodicCheck check(stop_);
  for (size_t at = 0; at < end;) {
    check.at(at);
    Header header;
    std::memcpy(&header, words + at, sizeof header);
    visit_set(header, words + at + header_words);
    at += record_words(header.stored);
  }
}

// Reads a slice and calls visit_set(header, ranks) for each of its sets.
template <typename Visit>
void SlicedSets::visit_slice(const Slice &slice, MemoryCounter &memory, Visit &&visit_set) const {
  Buffer<uint32_t> words(memory);
  words.resize(slice.words);
  file_.read(slice.place, words.data(), slice.words * sizeof(uint32_t));
  visit(words.data(), words.size(), visit_set);
}

void SlicedSets::mark_ranks(std::span<const Slice *const> slices, RoundRanks &local, WorkerPool &pool,
                            MemoryCounter &memory) const {
  pool.parallel(slices.size(), [&](int, size_t i) {
    uint32_t marked = 0;
    visit_slice(*slices[i], memory, [&](const Header &header, const uint32_t *ranks) {
      for (uint32_t t = 0; t < header.stored; ++t) marked += local.mark(ranks[t]);
    });
    local.add_marked(marked);
  });
}

SetCollection SlicedSets::load(std::span<const Slice> slices, const RoundRanks *local, uint32_t ranks,
                               WorkerPool &pool, MemoryCounter &memory) const {
  SetCollection sets(memory);
  sets.ranks = ranks;
  std::vector<Places> next(slices.size());
  pool.parallel(slices.size(), [&](int, size_t i) {
    next[i] = places_of(slices[i]);
    if (next[i].places.size() == 1) {
      next[i].places[0] = {slices[i].sets, stored_tokens(slices[i])};
      return;
    }
    visit_slice(slices[i], memory, [&](const Header &header, const uint32_t *) {
      Place &place = next[i].of(sizes_.class_of_size[header.size]);
      ++place.set;
      place.token += header.stored;
    });
  });
  make_room(next, sets);
  pool.parallel(slices.size(), [&](int, size_t i) {
    visit_slice(slices[i], memory, [&](const Header &header, const uint32_t *stored) {
      Place &place = next[i].of(sizes_.class_of_size[header.size]);
      sets.rows[place.set] = header.row;
      sets.starts[place.set++] = place.token;
      uint32_t *const to = sets.tokens.data() + place.token;
      for (uint32_t t = 0; t < header.stored; ++t) {
        to[t] = local != nullptr ? local->of(stored[t]) : stored[t];
      }
      place.token += header.stored;
    });
  });
  return sets;
}

// Makes the ranks of a slice's records local ones, in place, and moves the records that are kept up to each
// other; notes what they are by class. Returns the end of what is left.
size_t SlicedSets::localise(Records &records, size_t slice, const RoundRanks &local, uint32_t class_begin,
                            std::span<const uint32_t> least, Places &kept) const {
  PeriodicCheck check(stop_);
  uint32_t *const words = records.words.data();
  size_t kept_end = records.begin(slice);
  for (size_t at = kept_end; at < records.ends[slice];) {
    check.at(at);
    Header header;
    std::memcpy(&header, words + at, sizeof header);
    const uint32_t *from = words + at + header_words;
    at += record_words(header.stored);
    uint32_t *to = words + kept_end + header_words;
    const uint32_t k = sizes_.class_of_size[header.size];
    const uint32_t needed = least.empty() ? 0 : least[k - class_begin];
    if (header.stored < needed) continue;
    // The rarest tokens come first: a set that misses too many shows it early.
    const uint32_t most_missed = header.stored - needed;
    uint32_t found = 0;
    for (uint32_t i = 0; i < header.stored && i - found <= most_missed; ++i) {
      to[found] = local.of(from[i]);
      found += to[found] != RoundRanks::none;
    }
    if (found < needed) continue;
    header.stored = found;
    std::memcpy(words + kept_end, &header, sizeof header);
    kept_end += record_words(found);
    Place &place = kept.of(k);
    ++place.set;
    place.token += found;
  }
  return kept_end;
}

SlicedSets::Places SlicedSets::places_of(const Slice &slice) {
  return {slice.class_begin, std::vector<Place>(slice.class_end - slice.class_begin)};
}

// Turns what the parts of a collection have by class into places, class by class and part by part, and makes
// room for it. The parts' classes ascend.
void SlicedSets::make_room(std::vector<Places> &parts, SetCollection &sets) const {
  SIMJOIN_CHECK(!parts.empty() &&
                std::is_sorted(parts.begin(), parts.end(),
                               [](const auto &a, const auto &b) { return a.class_begin < b.class_begin; }));
  Place placed;
  size_t first_part = 0;
  const auto end_of = [](const Places &part) { return part.class_begin + part.places.size(); };
  for (uint32_t k = parts.front().class_begin; k < end_of(parts.back()); ++k) {
    const uint32_t first = placed.set;
    while (end_of(parts[first_part]) <= k) ++first_part;
    for (size_t i = first_part; i < parts.size() && parts[i].class_begin <= k; ++i) {
      const Place here = std::exchange(parts[i].of(k), placed);
      placed.set += here.set;
      placed.token += here.token;
    }
    if (placed.set > first) sets.classes.push_back({classes()[k].size, first, placed.set});
  }
  sets.rows.resize(placed.set);
  sets.starts.resize(size_t{placed.set} + 1);
  sets.starts[placed.set] = placed.token;
  sets.tokens.resize(placed.token);
}

SetCollection SlicedSets::collect(std::span<const Slice *const> slices, const RoundRanks &local,
                                  std::span<const uint32_t> least, WorkerPool *pool,
                                  MemoryCounter &memory) const {
  Records records(memory);
  read(slices, records, pool);
  std::vector<Places> next(slices.size());
  std::vector<size_t> kept_ends(slices.size());
  for_each(pool, slices.size(), [&](size_t i) {
    next[i] = places_of(*slices[i]);
    kept_ends[i] = localise(records, i, local, slices.front()->class_begin, least, next[i]);
  });
  SetCollection sets(memory);
  sets.ranks = local.marked();
  make_room(next, sets);
  for_each(pool, slices.size(), [&](size_t i) {
    const size_t begin = records.begin(i);
    visit(records.words.data() + begin, kept_ends[i] - begin,
          [&](const Header &header, const uint32_t *ranks) {
            Place &place = next[i].of(sizes_.class_of_size[header.size]);
            sets.rows[place.set] = header.row;
            sets.starts[place.set++] = place.token;
            std::copy_n(ranks, header.stored, sets.tokens.data() + place.token);
            place.token += header.stored;
          });
  });
  return sets;
}

}  // namespace simjoin
