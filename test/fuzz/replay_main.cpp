// The fuzz target without libFuzzer, for any compiler: replays files, or runs a number of random inputs.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "fuzz/join_target.hpp"

namespace {

constexpr size_t longest_input = 1500;

void run_random_inputs(unsigned long count, unsigned long seed) {
  for (unsigned long i = 0; i < count; ++i) {
    std::mt19937_64 random(seed + i);
    std::vector<uint8_t> input(random() % longest_input);
    // Few different tokens in half of the inputs, so that sets share many.
    const uint64_t mask = random() % 2 == 0 ? 0xff : 0xc7;
    for (uint8_t &byte : input) byte = static_cast<uint8_t>(random() & mask);
    for (size_t at = 8; at < input.size(); at += 1 + random() % 24)
      input[at] = random() % 4 == 0 ? 0xe0 : 0xfc;
    std::fprintf(stderr, "\rinput %lu of seed %lu", i, seed);
    simjoin::fuzz::check_join(input.data(), input.size());
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
  simjoin::fuzz::check_join(reinterpret_cast<const uint8_t *>(content.data()), content.size());
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
