// Elapsed time.
#pragma once

#include <chrono>

namespace simjoin {

using WallClock = std::chrono::steady_clock;

inline double milliseconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

inline double milliseconds_since(WallClock::time_point begin) {
  return milliseconds(WallClock::now() - begin);
}

}  // namespace simjoin
