#include "pg/rows/input_cache.hpp"

extern "C" {
#include "utils/memutils.h"
}

#include "core/base/memory.hpp"
#include "pg/base/settings.hpp"

namespace simjoin::pg {

// A piece of memory with blocks of rows one after another.
struct CacheChunk {
  CacheChunk *next;
  size_t used, allocated;  // of the bytes that follow
};

// The rows of one table. They have a memory context of their own, which holds this, too.
struct CachedRows {
  MemoryContext context;
  CachedRows *next;  // in the list of those that are kept
  bool kept;
  int readers;
  size_t bytes;
  TableState state;
  TableColumns columns;
  CacheChunk *first, *last;
};

namespace {

// A small table takes little, and the pages of a large piece can be huge ones.
constexpr size_t least_chunk = size_t{64} << 10;
constexpr size_t most_chunk = size_t{4} << 20;

CachedRows *kept_rows;  // the most recently used ones first
size_t bytes_held;      // by all rows: kept ones, those being recorded, and those that are still read

char *content(CacheChunk *chunk) {
  return reinterpret_cast<char *>(chunk + 1);
}

const char *content(const CacheChunk *chunk) {
  return reinterpret_cast<const char *>(chunk + 1);
}

void remove_from_list(CachedRows *rows) {
  for (CachedRows **link = &kept_rows; *link != nullptr; link = &(*link)->next) {
    if (*link != rows) continue;
    *link = rows->next;
    break;
  }
  rows->kept = false;
}

void add_to_list(CachedRows *rows) {
  rows->next = kept_rows;
  kept_rows = rows;
  rows->kept = true;
}

// Lets the rows leave the cache. Their last reader frees them.
void evict(CachedRows *rows) {
  remove_from_list(rows);
  if (rows->readers == 0) MemoryContextDelete(rows->context);
}

// Makes room for so many bytes more. Returns false, and evicts nothing, where the cache cannot have them:
// rows that are being read or recorded keep their memory.
bool make_room(size_t bytes) {
  const size_t most = Settings::input_cache();
  size_t pinned = bytes_held;
  for (const CachedRows *rows = kept_rows; rows != nullptr; rows = rows->next) {
    if (rows->readers == 0) pinned -= rows->bytes;
  }
  if (bytes > most || pinned > most - bytes) return false;
  while (bytes_held > most - bytes) {
    CachedRows *last = nullptr;  // the ones that were asked for least recently
    for (CachedRows *rows = kept_rows; rows != nullptr; rows = rows->next) {
      if (rows->readers == 0) last = rows;
    }
    evict(last);
  }
  return true;
}

CacheChunk *add_chunk(CachedRows *rows, size_t least) {
  const size_t doubled = rows->last == nullptr ? least_chunk : 2 * rows->last->allocated;
  const size_t bytes = sizeof(CacheChunk) + Max(least, Min(doubled, most_chunk));
  if (!make_room(bytes)) return nullptr;
  auto *chunk = static_cast<CacheChunk *>(
      MemoryContextAllocExtended(rows->context, bytes, MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM));
  if (chunk == nullptr) return nullptr;
  if (bytes >= most_chunk) prefer_huge_pages(chunk, bytes);
  *chunk = {nullptr, 0, bytes - sizeof(CacheChunk)};
  (rows->last == nullptr ? rows->first : rows->last->next) = chunk;
  rows->last = chunk;
  rows->bytes += bytes;
  bytes_held += bytes;
  return chunk;
}

bool has_columns(const CachedRows *rows, const TableColumns &columns) {
  const TableColumns &own = rows->columns;
  return own.count == columns.count && own.array_count == columns.array_count &&
         memcmp(own.columns, columns.columns, sizeof(AttrNumber) * own.count) == 0 &&
         memcmp(own.arrays, columns.arrays, sizeof(AttrNumber) * own.array_count) == 0;
}

// The memory context's copy of what the rows are found by.
void copy_key(CachedRows *rows, const TableState &state, const TableColumns &columns) {
  MemoryContext old = MemoryContextSwitchTo(rows->context);
  rows->state = state;
  rows->state.descriptor = CreateTupleDescCopyConstr(state.descriptor);
  rows->state.maps = static_cast<XLogRecPtr *>(palloc(sizeof(XLogRecPtr) * state.map_count));
  memcpy(rows->state.maps, state.maps, sizeof(XLogRecPtr) * state.map_count);
  rows->columns = columns;
  rows->columns.columns = static_cast<AttrNumber *>(palloc(sizeof(AttrNumber) * Max(columns.count, 1)));
  memcpy(rows->columns.columns, columns.columns, sizeof(AttrNumber) * columns.count);
  MemoryContextSwitchTo(old);
}

// Adds a reader until the context is reset.
void pin(CachedRows *rows, MemoryContext context) {
  auto *callback =
      static_cast<MemoryContextCallback *>(MemoryContextAllocZero(context, sizeof(MemoryContextCallback)));
  callback->arg = rows;
  callback->func = [](void *object) {
    auto *read = static_cast<CachedRows *>(object);
    if (--read->readers == 0 && !read->kept) MemoryContextDelete(read->context);
  };
  MemoryContextRegisterResetCallback(context, callback);
  ++rows->readers;
}

}  // namespace

bool find_cached_rows(CacheReader *reader, const TableState &state, const TableColumns &columns,
                      MemoryContext context) {
  for (CachedRows *rows = kept_rows, *next; rows != nullptr; rows = next) {
    next = rows->next;
    if (rows->state.table != state.table) continue;
    if (!is_same_state(rows->state, state)) {
      evict(rows);
    } else if (has_columns(rows, columns)) {
      pin(rows, context);
      remove_from_list(rows);
      add_to_list(rows);
      *reader = {rows, rows->first, 0};
      return true;
    }
  }
  return false;
}

bool next_cached_block(CacheReader *reader, BlockView *block) {
  const CacheChunk *chunk = reader->chunk;
  if (chunk == nullptr) return false;
  *block = block_at(content(chunk) + reader->place);
  reader->place += block->bytes;
  if (reader->place == chunk->used) *reader = {reader->rows, chunk->next, 0};
  return true;
}

CachedRows *begin_recording(const TableState &state, const TableColumns &columns, MemoryContext context) {
  MemoryContext own = AllocSetContextCreate(context, "simjoin cached rows", ALLOCSET_SMALL_SIZES);
  auto *rows = static_cast<CachedRows *>(MemoryContextAllocZero(own, sizeof(CachedRows)));
  rows->context = own;
  auto *callback =
      static_cast<MemoryContextCallback *>(MemoryContextAllocZero(own, sizeof(MemoryContextCallback)));
  callback->arg = rows;
  callback->func = [](void *object) { bytes_held -= static_cast<CachedRows *>(object)->bytes; };
  MemoryContextRegisterResetCallback(own, callback);
  copy_key(rows, state, columns);
  const size_t bytes = MemoryContextMemAllocated(own, true);
  if (!make_room(bytes)) {
    MemoryContextDelete(own);
    return nullptr;
  }
  rows->bytes = bytes;
  bytes_held += bytes;
  return rows;
}

bool record_block(CachedRows *rows, BlockView block) {
  CacheChunk *chunk = rows->last;
  if (chunk == nullptr || chunk->allocated - chunk->used < block.bytes) chunk = add_chunk(rows, block.bytes);
  if (chunk == nullptr) {
    drop_record(rows);
    return false;
  }
  memcpy(content(chunk) + chunk->used, block.data, block.bytes);
  chunk->used += block.bytes;
  return true;
}

void keep_rows(CachedRows *rows) {
  // Another join may have recorded the same rows meanwhile.
  for (CachedRows *other = kept_rows; other != nullptr; other = other->next) {
    if (other->state.table != rows->state.table || !has_columns(other, rows->columns)) continue;
    evict(other);
    break;
  }
  MemoryContextSetParent(rows->context, CacheMemoryContext);
  add_to_list(rows);
}

void drop_record(CachedRows *rows) {
  MemoryContextDelete(rows->context);
}

void shrink_input_cache(size_t bytes) {
  while (kept_rows != nullptr && bytes_held > bytes) {
    CachedRows *last = kept_rows;
    while (last->next != nullptr) last = last->next;
    evict(last);
  }
}

}  // namespace simjoin::pg
