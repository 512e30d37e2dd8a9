// gen: writes a synthetic collection, one set per line, with ascending token numbers separated by spaces.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "bench/collections.hpp"

namespace {

using namespace simjoin::bench;

constexpr size_t write_size = size_t{1} << 22;

int usage() {
  std::fprintf(
      stderr,
      "usage: gen PROFILE SCALE SEED [NEAR_DUPLICATES [KEEP_EQUAL]] > file\n"
      "SCALE multiplies the number of sets; NEAR_DUPLICATES is the share of edited copies of other sets\n"
      "(by default the profile's own); KEEP_EQUAL=1 keeps equal sets.\nprofiles:");
  for (const Profile &profile : profiles()) std::fprintf(stderr, " %s", profile.name);
  std::fprintf(stderr, "\n");
  return 2;
}

// Writes the collection to standard output. Returns whether all of it was written.
bool write(const Collection &collection) {
  std::string text;
  for (size_t i = 0; i < collection.size(); ++i) {
    const char *separator = "";
    for (uint32_t token : collection.set(i)) {
      text += separator;
      text += std::to_string(token);
      separator = " ";
    }
    text += '\n';
    if (text.size() > write_size) {
      std::fwrite(text.data(), 1, text.size(), stdout);
      text.clear();
    }
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  return std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
}

}  // namespace

int main(int argc, char **argv) {
  if (argc < 4 || argc > 6) return usage();
  const Profile *profile = find_profile(argv[1]);
  GenerateOptions options;
  options.scale = std::atof(argv[2]);
  options.seed = std::strtoull(argv[3], nullptr, 10);
  if (argc > 4) options.near_duplicates = std::atof(argv[4]);
  if (argc > 5) options.keep_equal_sets = std::atoi(argv[5]) != 0;
  if (profile == nullptr || profile->sets * options.scale < 1) return usage();
  try {
    const Collection collection = generate(*profile, options);
    if (!write(collection)) {
      std::perror("gen: write");
      return 1;
    }
    std::fprintf(stderr, "profile=%s seed=%llu sets=%zu tokens=%zu near_duplicates=%zu\n", profile->name,
                 static_cast<unsigned long long>(options.seed), collection.size(), collection.tokens.size(),
                 collection.near_duplicates);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "gen: %s\n", error.what());
    return 1;
  }
  return 0;
}
