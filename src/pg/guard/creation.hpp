// Triggers that are being made: what is wrong with one is said at once, and not when a row comes.
#pragma once

namespace simjoin::pg {

// From now on, CREATE TRIGGER warns in this session of a trigger whose arguments are wrong for its table, and
// tells of one that no index serves.
void install_creation_hook();

}  // namespace simjoin::pg
