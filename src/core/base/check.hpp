// Preconditions that comments state, checked in builds for tests and debugging.
#pragma once

namespace simjoin {

// Reports a condition that does not hold on standard error, and aborts the process.
[[noreturn]] void check_failed(const char *condition, const char *file, int line) noexcept;

// Returns whether the engine was built with checks.
bool has_checks() noexcept;

}  // namespace simjoin

// Aborts if the condition does not hold. It is for mistakes of the caller within the engine, never for input
// of a user, which gets an Error. Without SIMJOIN_CHECKS the condition is compiled and not evaluated.
#ifdef SIMJOIN_CHECKS
#define SIMJOIN_CHECK(...) \
  (static_cast<bool>(__VA_ARGS__) ? void() : ::simjoin::check_failed(#__VA_ARGS__, __FILE__, __LINE__))
#else
#define SIMJOIN_CHECK(...) void(sizeof(static_cast<bool>(__VA_ARGS__)))
#endif
