#include "pg/query/row_sample.hpp"

extern "C" {
#include "utils/memutils.h"
}

#include <algorithm>
#include <cstring>

#include "core/base/mix.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/interruptible.hpp"
#include "pg/base/interrupts.hpp"

namespace simjoin::pg {
namespace {

constexpr size_t bytes_of_row = 2 * sizeof(SampledSet);  // with what the array has in reserve

bool comes_before(const SampledSet &a, const SampledSet &b) {
  return a.priority < b.priority || (a.priority == b.priority && a.row < b.row);
}

// Returns the next row, which has this number, without its set.
SampledSet row_to_offer(const RowSample &sample, int64 number, uint32 row) {
  return {mix_bits(mix_bits(sample.seed) ^ static_cast<uint64>(number)), row, nullptr};
}

bool is_full(const RowSample &sample) {
  return sample.rows.size() == sample.most;
}

// Returns a copy of the set's array, or nullptr where it is empty.
ArrayType *copy_of(const RowSample &sample, const SetView &set) {
  if (set.count == 0) return nullptr;
  const Size size = VARSIZE(set.array);
  call_cpp([&] { sample.memory->check_room(size); });
  void *copy = MemoryContextAllocHuge(sample.context, size);
  sample.memory->add(GetMemoryChunkSpace(copy));
  return static_cast<ArrayType *>(std::memcpy(copy, set.array, size));
}

void free_copy(const RowSample &sample, ArrayType *copy) {
  if (copy == nullptr) return;
  sample.memory->sub(GetMemoryChunkSpace(copy));
  pfree(copy);
}

}  // namespace

RowSample *create_row_sample(uint32 most, uint64 seed, MemoryContext context, MemoryCounter *memory) {
  auto *sample = static_cast<RowSample *>(MemoryContextAllocZero(context, sizeof(RowSample)));
  *sample = {most, seed, AllocSetContextCreate(context, "sample of rows", ALLOCSET_DEFAULT_SIZES), memory,
             GrowingArray<SampledSet>(context)};
  return sample;
}

bool would_take(const RowSample &sample, int64 number, uint32 row) {
  return !is_full(sample) || comes_before(row_to_offer(sample, number, row), sample.rows[0]);
}

void offer_row(RowSample *sample, int64 number, uint32 row, const SetView &set) {
  if (!would_take(*sample, number, row)) return;
  SampledSet offered = row_to_offer(*sample, number, row);
  GrowingArray<SampledSet> &rows = sample->rows;
  if (is_full(*sample)) {
    std::pop_heap(rows.begin(), rows.end(), comes_before);
    free_copy(*sample, rows.back().set);
    rows.shorten(rows.size() - 1);
  } else {
    call_cpp([&] { sample->memory->check_room(bytes_of_row); });
    sample->memory->add(bytes_of_row);
  }
  offered.set = copy_of(*sample, set);
  rows.append(offered);
  std::push_heap(rows.begin(), rows.end(), comes_before);
}

void feed_sample(RowSample *sample, JoinEngine *engine, File *spill_file, Side side, TokenType type) {
  sort_interruptibly(
      sample->rows.data(), sample->rows.size(),
      [](const SampledSet &a, const SampledSet &b) { return a.row < b.row; },
      [](const SampledSet &) { return size_t{1}; });
  for (SampledSet &sampled : sample->rows) {
    check_interrupts();
    if (sampled.set == nullptr) {
      feed_empty_set(engine, side, type);
    } else {
      feed_set(engine, side, view_set(PointerGetDatum(sampled.set), "sample"));
      free_copy(*sample, sampled.set);
      sampled.set = nullptr;
    }
    end_row(engine, spill_file);
  }
}

}  // namespace simjoin::pg
