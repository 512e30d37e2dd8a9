// A fuzz target as libFuzzer calls it.
#include "fuzz/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  simjoin::fuzz::check_input(data, size);
  return 0;
}
