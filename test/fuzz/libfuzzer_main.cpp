// The fuzz target as libFuzzer calls it.
#include "fuzz/join_target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  simjoin::fuzz::check_join(data, size);
  return 0;
}
