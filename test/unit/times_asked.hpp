// How often a computation asks whether its caller gives it up.
#pragma once

#include "core/base/interruption.hpp"

namespace simjoin::test {

// Returns how often body() asks.
template <typename Body>
int times_asked(Body &&body) {
  static int asked;
  asked = 0;
  set_interruption([] {
    ++asked;
    return false;
  });
  body();
  set_interruption(nullptr);
  return asked;
}

}  // namespace simjoin::test
