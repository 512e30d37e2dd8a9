#include "core/base/available_memory.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string_view>

namespace simjoin {
namespace {

constexpr size_t no_limit = SIZE_MAX;

std::optional<size_t> number_of(std::string_view text) {
  uint64_t number;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Returns the number that a file holds; nothing where it holds a word such as "max", or cannot be read.
std::optional<size_t> number_in(const std::string &path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return number_of(word);
}

// Returns the number after a name at the begin of a line.
std::optional<size_t> figure_in(const std::string &path, std::string_view name) {
  std::ifstream file(path);
  std::string word, value;
  while (file >> word >> value) {
    if (word == name) return number_of(value);
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::nullopt;
}

// Where a version of control groups tells of memory.
struct GroupVersion {
  const char *folder;
  const char *limits[2];
  const char *used;
  const char *reclaimable;  // pages of files that were not used of late, in memory.stat
};

constexpr GroupVersion version_1 = {"/sys/fs/cgroup/memory",
                                    {"/memory.limit_in_bytes", "/memory.limit_in_bytes"},
                                    "/memory.usage_in_bytes",
                                    "total_inactive_file"};
constexpr GroupVersion version_2 = {
    "/sys/fs/cgroup", {"/memory.max", "/memory.high"}, "/memory.current", "inactive_file"};

size_t left_in_group(const std::string &folder, const GroupVersion &version) {
  size_t limit = no_limit;
  for (const char *name : version.limits)
    limit = std::min(limit, number_in(folder + name).value_or(no_limit));
  const std::optional<size_t> used = number_in(folder + version.used);
  if (limit == no_limit || !used) return no_limit;
  const size_t reclaimable = figure_in(folder + "/memory.stat", version.reclaimable).value_or(0);
  return limit - std::min(limit, *used - std::min(*used, reclaimable));
}

// Returns what is left in the group and in those above it. In a container, whose files begin with its own
// group, folders of the path may be missing.
size_t left_in_groups(const std::string &root, const GroupVersion &version, std::string group) {
  size_t least = no_limit;
  for (;;) {
    least = std::min(least, left_in_group(root + version.folder + group, version));
    if (group.empty()) return least;
    group.erase(std::min(group.rfind('/'), group.size() - 1));
  }
}

// Returns what is left in the groups of the process. A line is "number:controllers:path", and that of version
// 2 names no controllers.
size_t left_in_own_groups(const std::string &root) {
  std::ifstream file(root + "/proc/self/cgroup");
  size_t least = no_limit;
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    line[first] = line[second] = ',';
    const std::string controllers = line.substr(first, second + 1 - first);
    const bool of_memory = controllers.find(",memory,") != std::string::npos;
    if (controllers != ",," && !of_memory) continue;
    least = std::min(least, left_in_groups(root, of_memory ? version_1 : version_2, line.substr(second + 1)));
  }
  return least;
}

}  // namespace

std::optional<size_t> available_memory(const std::string &root) {
  const std::optional<size_t> kilobytes = figure_in(root + "/proc/meminfo", "MemAvailable:");
  if (!kilobytes) return std::nullopt;
  return std::min(*kilobytes * 1024, left_in_own_groups(root));
}

}  // namespace simjoin
