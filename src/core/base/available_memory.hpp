// How much memory the system has left for this process.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace simjoin {

// Returns the bytes that the process may still take: what the kernel calls available, or what its control
// group or one above that has left, of version 1 or 2, whichever is least. Returns nothing where the system
// does not tell. `root` is the folder that holds proc and sys.
std::optional<size_t> available_memory(const std::string &root = "");

}  // namespace simjoin
