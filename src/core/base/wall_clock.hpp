// Elapsed time.
#pragma once

#include <chrono>

namespace simjoin {

using WallClock = std::chrono::steady_clock;

inline double milliseconds_since(WallClock::time_point begin) {
  return std::chrono::duration<double, std::milli>(WallClock::now() - begin).count();
}

}  // namespace simjoin
