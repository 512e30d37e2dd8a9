// A fuzz target without libFuzzer, for any compiler: replays files, or runs a number of random inputs.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "fuzz/target.hpp"

namespace {

void run_random_inputs(unsigned long count, unsigned long seed) {
  for (unsigned long i = 0; i < count; ++i) {
    std::mt19937_64 random(seed + i);
    const std::vector<uint8_t> input = simjoin::fuzz::random_input(random);
    std::fprintf(stderr, "\rinput %lu of seed %lu", i, seed);
    simjoin::fuzz::check_input(input.data(), input.size());
  }
  std::fprintf(stderr, "\r%lu random inputs from seed %lu: no difference\n", count, seed);
}

bool replay_file(const char *path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "cannot read %s\n", path);
    return false;
  }
  const std::vector<char> content{std::istreambuf_iterator<char>(file), {}};
  simjoin::fuzz::check_input(reinterpret_cast<const uint8_t *>(content.data()), content.size());
  return true;
}

}  // namespace

int main(int argc, char **argv) {
  if (argc >= 2 && std::strcmp(argv[1], "--random") == 0) {
    run_random_inputs(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1000,
                      argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 1);
    return 0;
  }
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s FILE... | --random [COUNT [SEED]]\n", argv[0]);
    return 2;
  }
  bool all_read = true;
  for (int i = 1; i < argc; ++i) all_read = replay_file(argv[i]) && all_read;
  return all_read ? 0 : 1;
}
