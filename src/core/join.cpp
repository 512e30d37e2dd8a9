#include "core/join.hpp"

#include <algorithm>

#include "core/base/error.hpp"

namespace simjoin {
namespace {

// Adds a name to a list of names, unless the list has it.
void add_name(std::string &list, const std::string &name, std::string_view separator) {
  if (name.empty() || list == name) return;
  for (size_t begin = 0; begin < list.size();) {
    const size_t end = std::min(list.find(separator, begin), list.size());
    if (list.compare(begin, end - begin, name) == 0) return;
    begin = end + separator.size();
  }
  if (!list.empty()) list += separator;
  list += name;
}

}  // namespace

PairCounts &PairCounts::operator+=(const PairCounts &other) {
  // Names every field: with one more this does not compile until that is added, too.
  auto &[prefix, positional, bitmap, computed, skipped, found] = *this;
  prefix += other.after_prefix;
  positional += other.after_positional;
  bitmap += other.after_bitmap;
  computed += other.verified;
  skipped += other.left_out;
  found += other.output;
  return *this;
}

JoinStats &JoinStats::operator+=(const JoinStats &other) {
  // A field more changes the size: add it here, and to the test of this function.
  static_assert(sizeof(JoinStats) == sizeof(PairCounts) + sizeof(uint64_t[2]) * 2 + sizeof(uint64_t) * 4 +
                                         sizeof(double) * 5 + sizeof(size_t) * 3 + sizeof(uint32_t) * 4 +
                                         sizeof(std::string) * 4 + sizeof(std::vector<std::string>));
  PairCounts::operator+=(other);
  // The device of a join that did nothing is not known.
  if (algorithm.empty()) device.clear();
  if (!other.algorithm.empty()) add_name(device, other.device, ", ");
  add_name(algorithm, other.algorithm, ", ");
  add_name(streamed, other.streamed, ", ");
  add_name(gpu_refused, other.gpu_refused, "; ");
  for (int side = 0; side < 2; ++side) {
    sets[side] += other.sets[side];
    tokens[side] += other.tokens[side];
  }
  distinct_tokens += other.distinct_tokens;
  pairs += other.pairs;
  after_length += other.after_length;
  order_ms += other.order_ms;
  build_ms += other.build_ms;
  filter_ms += other.filter_ms;
  verify_ms += other.verify_ms;
  join_ms += other.join_ms;
  memory_peak = std::max(memory_peak, other.memory_peak);
  spilled_bytes += other.spilled_bytes;
  partitions += other.partitions;
  one_part_limit = std::max(one_part_limit, other.one_part_limit);
  threads = std::max(threads, other.threads);
  used_prefix |= other.used_prefix;
  used_bitmap |= other.used_bitmap;
  device_memory_peak = std::max(device_memory_peak, other.device_memory_peak);
  if (!other.reasons.empty()) reasons = other.reasons;
  return *this;
}

void JoinEngine::add(Side, const SetSlice &) {
  throw Error(ErrorKind::internal, "a set was added to a join that takes blocks only");
}

void JoinEngine::add_block(std::shared_ptr<const SetBlock>) {
  throw Error(ErrorKind::internal, "a block was added to a join that takes none");
}

void JoinEngine::add_copies(uint32_t, uint32_t) {
  throw Error(ErrorKind::internal, "copies were added to a join whose tokens have no weights by rarity");
}

void JoinEngine::set_spill_file(int, uint64_t) {
  throw Error(ErrorKind::internal, "a join that cannot use a temporary file was given one");
}

}  // namespace simjoin
