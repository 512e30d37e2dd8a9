// Whether a session plans joins by other extensions' functions with the join operator.
#pragma once

namespace simjoin::pg {

// To be called once, when the module is loaded.
void note_load_of_joins();

}  // namespace simjoin::pg
