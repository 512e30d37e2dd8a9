#include "pg/dedup/tracking_views.hpp"

extern "C" {
#include "utils/acl.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
}

#include "pg/dedup/definition.hpp"
#include "pg/dedup/parts.hpp"
#include "pg/query/query_source.hpp"

namespace simjoin::pg {
namespace {

// What is known of a table. It is looked up once a session, and again after a relation's definition or a role
// has changed.
struct KnownTable {
  Oid table;
  TrackingView *views;
  KnownTable *next;
};
MemoryContext known_context = nullptr;
KnownTable *known_tables = nullptr;
bool known_is_stale = false;

// Adds the view to the list if it is a dedup view that tracks the changes of the table.
void add_tracking_view(TrackingView **list, Oid table, Oid source, Oid view) {
  for (const TrackingView *known = *list; known != nullptr; known = known->next)
    if (known->view == view) return;
  DedupDefinition definition;
  if (!find_definition(view, &definition) || !definition.tracked() || definition.source != source) return;
  const TrackedTable tracked = tracked_table(source);
  if (tracked.table != table || tracked.id == 0) return;
  const Oid type = get_atttype(table, tracked.id);
  if (definition.has_keys() ? type != definition.key_type : !is_id_type(type)) return;
  const Oid base = getBaseType(type);
  int16 length;
  bool by_value;
  get_typlenbyval(base, &length, &by_value);
  auto *entry = static_cast<TrackingView *>(palloc(sizeof(TrackingView)));
  *entry = {view, definition.changes, tracked.id, base, definition.key_type, length, by_value, *list};
  *list = entry;
}

struct ViewSearch {
  Oid table;
  Oid source;
  TrackingView *found;
};

void visit_tracking_view(void *context, Oid view) {
  auto *search = static_cast<ViewSearch *>(context);
  if (may_track(view, search->table)) add_tracking_view(&search->found, search->table, search->source, view);
}

void visit_source(void *context, Oid source) {
  auto *search = static_cast<ViewSearch *>(context);
  search->source = source;
  if (may_track(source, search->table)) for_views_over(source, visit_tracking_view, context);
}

void forget_known(Datum, Oid) {
  known_is_stale = true;
}

void forget_rights(Datum, int, uint32) {
  known_is_stale = true;
}

// Returns a copy in the current memory context.
TrackingView *copy_of(const TrackingView *views) {
  TrackingView *copy = nullptr;
  for (; views != nullptr; views = views->next) {
    auto *view = static_cast<TrackingView *>(palloc(sizeof(TrackingView)));
    *view = *views;
    view->next = copy;
    copy = view;
  }
  return copy;
}

}  // namespace

bool may_track(Oid relation, Oid table) {
  Oid owner, table_owner;
  return find_owner(relation, &owner) && find_owner(table, &table_owner) &&
         has_privs_of_role(owner, table_owner);
}

TrackingView *find_tracking_views(Oid table) {
  ViewSearch search = {table, InvalidOid, nullptr};
  for_views_over(table, visit_source, &search);
  return search.found;
}

TrackingView *tracking_views(Oid table) {
  if (known_context == nullptr) {
    known_context = AllocSetContextCreate(CacheMemoryContext, "tracked tables", ALLOCSET_SMALL_SIZES);
    CacheRegisterRelcacheCallback(forget_known, 0);
    CacheRegisterSyscacheCallback(AUTHMEMROLEMEM, forget_rights, 0);
    CacheRegisterSyscacheCallback(AUTHOID, forget_rights, 0);
  }
  if (known_is_stale) {
    known_tables = nullptr;
    known_is_stale = false;
    MemoryContextReset(known_context);
  }
  for (const KnownTable *known = known_tables; known != nullptr; known = known->next)
    if (known->table == table) return copy_of(known->views);
  TrackingView *found = find_tracking_views(table);
  if (known_is_stale) return found;  // a change came meanwhile: the next statement looks again
  MemoryContext old = MemoryContextSwitchTo(known_context);
  auto *known = static_cast<KnownTable *>(palloc(sizeof(KnownTable)));
  *known = {table, copy_of(found), known_tables};
  known_tables = known;
  MemoryContextSwitchTo(old);
  return found;
}

}  // namespace simjoin::pg
