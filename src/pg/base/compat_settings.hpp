// Differences between the supported versions of PostgreSQL, 14 to 18, in looking up a setting.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "utils/guc_tables.h"
}

#include <string_view>

namespace simjoin::pg::compat {

// Returns whether the session, or its transaction, has set the setting. The setting exists. PostgreSQL 16
// (f13b2088fa2) lets extensions look a setting up by its name.
inline bool is_set_by_session(const char *name) {
#if PG_VERSION_NUM >= 160000
  const config_generic *found = find_option(name, false, false, ERROR);
#else
  config_generic *const *settings = get_guc_variables();
  const config_generic *found = nullptr;
  for (int i = GetNumConfigOptions(); i > 0 && found == nullptr; --i)
    if (std::string_view(settings[i - 1]->name) == name) found = settings[i - 1];
#endif
  return found != nullptr && found->source == PGC_S_SESSION;
}

}  // namespace simjoin::pg::compat
