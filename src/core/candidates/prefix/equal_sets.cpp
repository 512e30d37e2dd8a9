#include "core/candidates/prefix/equal_sets.hpp"

#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "core/sort/distribute.hpp"

namespace simjoin {
namespace {

constexpr int part_bits = 8;  // entries are sorted in 2^8 parts: each fits the second-level cache
constexpr size_t parts = size_t{1} << part_bits;
constexpr uint32_t sets_per_chunk = 1u << 15;
constexpr uint32_t probes_per_group = 64;  // looked up together, so that their cache misses overlap
constexpr uint32_t equal_check_interval = 1u << 12;
// If a slot has more entries, as if there are many equal sets, its part is sorted by vectors.
constexpr uint32_t most_inserted = 32;

uint32_t hash_set(const uint32_t *ranks, uint32_t size) {
  uint64_t hash = size;
  for (uint32_t i = 0; i < size; ++i) {
    hash = (hash ^ ranks[i]) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
  }
  return static_cast<uint32_t>((hash * 0xD6E8FEB86659FD93u) >> 32);
}

}  // namespace

bool only_equal_sets(const JoinProblem &problem, uint32_t probe_class) {
  const ProbeClass &partners = problem.probe_classes[probe_class];
  const uint32_t size = problem.probe.classes[probe_class].size;
  return partners.class_end == partners.class_begin + 1 &&
         problem.index.classes[partners.class_begin].size == size &&
         problem.bounds.min_overlap(size, size) == size;
}

EqualSets::EqualSets(const JoinProblem &problem, WorkerPool &pool, MemoryCounter &memory)
    : problem_(problem), entries_(memory), directory_(memory), repeated_(memory), left_(memory) {
  std::vector<Range> ranges;
  for (uint32_t k = 0; k < problem.probe_classes.size(); ++k) {
    takes_.push_back(only_equal_sets(problem, k));
    if (!takes_[k]) continue;
    const SizeClass &c = problem.index.classes[problem.probe_classes[k].class_begin];
    for (uint32_t begin = c.begin; begin < c.end; begin += std::min(c.end - begin, sets_per_chunk)) {
      ranges.push_back({begin, begin + std::min(c.end - begin, sets_per_chunk)});
    }
  }
  fill(ranges, pool, memory);
}

// Sorts the entries of the ranges by hash, in parts.
void EqualSets::fill(const std::vector<Range> &ranges, WorkerPool &pool, MemoryCounter &memory) {
  const SetCollection &sets = problem_.index;
  // A dropped token is in one set only, so a set with one has no equal.
  const auto visit = [&](const Range &range, auto &&body) {
    const uint32_t size = sets.classes[sets.class_of(range.begin)].size;
    for (uint32_t set = range.begin; set < range.end; ++set) {
      if (set % equal_check_interval == 0) pool.stop().check();
      if (sets.stored(set) == size) body(set);
    }
  };
  Buffer<uint32_t> hashes(memory);
  const uint32_t first = ranges.empty() ? 0 : ranges.front().begin;
  if (!ranges.empty()) hashes.resize(ranges.back().end - first);
  Distribution<uint32_t> places(ranges.size(), parts, pool, memory);
  places.count([&](size_t i, uint32_t *counts) {
    visit(ranges[i], [&](uint32_t set) {
      const uint32_t hash = hashes[set - first] = hash_set(sets.begin(set), sets.stored(set));
      ++counts[hash >> (32 - part_bits)];
    });
  });
  entries_.resize(places.items());
  places.place([&](size_t i, uint32_t *next) {
    visit(ranges[i], [&](uint32_t set) {
      const uint32_t hash = hashes[set - first];
      entries_[next[hash >> (32 - part_bits)]++] = uint64_t{hash} << 32 | set;
    });
  });
  hashes.release();
  left_.resize(places.items());
  if (problem_.self_join()) repeated_.resize(sets.sets());
  directory_bits_ = std::max(part_bits, static_cast<int>(std::bit_width(places.items())) - 1);
  directory_.resize((size_t{1} << directory_bits_) + 1);
  directory_.back() = places.items();
  std::vector<Buffer<Entry>> copies;
  copies.reserve(static_cast<size_t>(pool.workers()));
  for (int worker = 0; worker < pool.workers(); ++worker) copies.emplace_back(memory);
  pool.parallel(parts, [&](int worker, size_t part) {
    index_part(part, places.begin(part), places.begin(part + 1), copies[static_cast<size_t>(worker)]);
  });
}

// Puts the entries [begin, end) of a part into their slots, where they ascend. `starts` has where each slot
// of the part begins. Slots have few entries.
void EqualSets::sort_slots(std::span<uint32_t> starts, uint32_t begin, uint32_t end, Buffer<Entry> &copy) {
  copy.resize(end - begin);
  std::copy_n(entries_.data() + begin, end - begin, copy.data());
  for (const Entry entry : copy) entries_[directory_[slot(hash_of(entry))]++] = entry;
  // Each start has become the end of its slot.
  std::copy_backward(starts.begin(), starts.end() - 1, starts.end());
  starts.front() = begin;
  // No entry goes further than to the beginning of its slot.
  for (uint32_t i = begin + 1; i < end; ++i) {
    const Entry entry = entries_[i];
    uint32_t to = i;
    for (; to > begin && entries_[to - 1] > entry; --to) entries_[to] = entries_[to - 1];
    entries_[to] = entry;
  }
}

// Sorts the entries [begin, end) of a part, and notes in the directory where each value starts.
void EqualSets::index_part(size_t part, uint32_t begin, uint32_t end, Buffer<Entry> &copy) {
  const size_t slots = size_t{1} << (directory_bits_ - part_bits);
  const std::span<uint32_t> starts(directory_.data() + part * slots, slots);
  std::fill(starts.begin(), starts.end(), 0);
  for (uint32_t i = begin; i < end; ++i) ++directory_[slot(hash_of(entries_[i]))];
  const uint32_t most = *std::max_element(starts.begin(), starts.end());
  uint32_t placed = begin;
  for (uint32_t &start : starts) placed += std::exchange(start, placed);
  if (most > most_inserted) {
    hwy::Sorter()(entries_.data() + begin, end - begin, hwy::SortAscending());
  } else {
    sort_slots(starts, begin, end, copy);
  }
  if (problem_.self_join()) {
    for (uint32_t i = begin + 1; i < end; ++i) {
      if (entries_[i] >> 32 != entries_[i - 1] >> 32) continue;
      repeated_.mark(static_cast<uint32_t>(entries_[i - 1]));
      repeated_.mark(static_cast<uint32_t>(entries_[i]));
    }
  }
}

void EqualSets::run(uint32_t begin, uint32_t end, CandidateSink &sink, const StopFlag &stop,
                    JoinCounters &counters) const {
  const auto since = JoinCounters::Clock::now();
  const SetCollection &probes = problem_.probe;
  uint32_t probe_class = probes.class_of(begin);
  uint32_t group[probes_per_group], hashes[probes_per_group];
  for (uint32_t first = begin; first < end;) {
    stop.check();
    while (first >= probes.classes[probe_class].end) ++probe_class;
    const uint32_t size = probes.classes[probe_class].size;
    const uint32_t last =
        first + std::min(probes_per_group, std::min(end, probes.classes[probe_class].end) - first);
    uint32_t count = 0;
    for (uint32_t set = first; set < last; ++set) {
      if (problem_.self_join() && !repeated_.marked(set)) continue;
      if (probes.stored(set) != size) continue;
      group[count] = set;
      hashes[count] = hash_set(probes.begin(set), size);
      __builtin_prefetch(&directory_[slot(hashes[count])]);
      ++count;
    }
    for (uint32_t i = 0; i < count; ++i) {
      __builtin_prefetch(entries_.data() + directory_[slot(hashes[i])]);
    }
    const bool postpones = !sink.wants_all() && sink.postpones();
    for (uint32_t i = 0; i < count; ++i) {
      if (postpones) {
        match_wanted(group[i], size, hashes[i], sink, counters);
      } else {
        match(group[i], size, hashes[i], sink, counters);
      }
    }
    first = last;
  }
  counters.filter += JoinCounters::Clock::now() - since;
}

// Hands over the pairs of one probe.
void EqualSets::match(uint32_t probe, uint32_t size, uint32_t hash, CandidateSink &sink,
                      JoinCounters &counters) const {
  const uint32_t end = directory_[slot(hash) + 1];
  for (uint32_t i = directory_[slot(hash)]; i < end; ++i) {
    if (entries_[i] >> 32 != hash) continue;
    const auto partner = static_cast<uint32_t>(entries_[i]);
    if (problem_.self_join() && partner >= probe) return;
    ++counters.after_prefix;
    ++counters.after_positional;
    ++counters.after_bitmap;
    if (sink.wants(probe, partner, counters)) {
      verify(probe, partner, size, sink, counters);
    }
  }
}

// Hands the pair over if the sets are equal.
void EqualSets::verify(uint32_t probe, uint32_t partner, uint32_t size, CandidateSink &sink,
                       JoinCounters &counters) const {
  const SetCollection &probes = problem_.probe, &partners = problem_.index;
  ++counters.verified;
  if (partners.stored(partner) != size ||
      std::memcmp(probes.begin(probe), partners.begin(partner), size * sizeof(uint32_t)) != 0) {
    return;
  }
  ++counters.output;
  sink.emit(probe, partner, size);
}

// Hands over pairs of one probe while they are wanted, and postpones the others without a look at each. So a
// probe of n copies takes no n steps. In a self-join, this begins with the copies next to the probe, so that
// each copy is both a probe and a partner.
void EqualSets::match_wanted(uint32_t probe, uint32_t size, uint32_t hash, CandidateSink &sink,
                             JoinCounters &counters) const {
  const Entry *const slot_begin = entries_.data() + directory_[slot(hash)];
  const Entry *const slot_end = entries_.data() + directory_[slot(hash) + 1];
  const Entry key = uint64_t{hash} << 32;
  const Entry *const first = std::lower_bound(slot_begin, slot_end, key);
  const Entry *const end = std::upper_bound(first, slot_end, key | UINT32_MAX);
  const Entry *last = problem_.self_join() ? std::lower_bound(first, end, key | probe) : end;
  const auto candidates = static_cast<uint64_t>(last - first);
  if (candidates == 0) return;
  counters.after_prefix += candidates;
  counters.after_positional += candidates;
  counters.after_bitmap += candidates;
  // Each partner is asked for itself. Once no partner wants a pair, none will want one again.
  const bool by_partner = sink.asks_partners_first();
  const auto run = static_cast<uint64_t>(first - entries_.data());
  if (by_partner && left_.marked(run)) {
    counters.left_out += candidates;
    return;
  }
  bool any = false;
  while (last > first) {
    const auto partner = static_cast<uint32_t>(*--last);
    if (sink.wants(probe, partner, counters)) {
      verify(probe, partner, size, sink, counters);
      any = true;
    } else if (!by_partner) {
      break;
    }
  }
  if (by_partner && !any) left_.mark(run);
  counters.left_out += static_cast<uint64_t>(last - first);
  if (problem_.self_join() && last > first && !left_.marked(run)) {
    left_.mark(run);
    for (const Entry *entry = first; entry < end; ++entry) sink.postpone_set(static_cast<uint32_t>(*entry));
  }
}

}  // namespace simjoin
