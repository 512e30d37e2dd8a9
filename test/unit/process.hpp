// The threads, heap, resident memory and processor time of this process, as the system counts them.
#pragma once

#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>

namespace simjoin::test {

inline constexpr size_t mebibyte = size_t{1} << 20;

// Processor time well above that of a step or a destructor, also on a busy machine, and below the permitted
// delay of a cancel.
inline constexpr std::chrono::milliseconds prompt{1000};

inline size_t thread_count() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<size_t>(std::distance(begin(tasks), end(tasks)));
}

// Returns the number of threads when it has fallen to `expected`, or after a minute. The system lists a
// thread for a moment after it was joined, which is longer on a busy machine.
inline size_t settled_thread_count(size_t expected) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes{1};
  size_t count;
  while ((count = thread_count()) > expected && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return count;
}

inline size_t open_descriptors() {
  const std::filesystem::directory_iterator descriptors("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(descriptors), end(descriptors)));
}

// Returns whether this thread has the signals blocked that interrupt a program.
inline bool interrupts_are_blocked() {
  sigset_t now;
  pthread_sigmask(SIG_SETMASK, nullptr, &now);
  return sigismember(&now, SIGINT) == 1 && sigismember(&now, SIGALRM) == 1;
}

// Returns a descriptor of a new file without a name. The file vanishes when it is closed.
inline int unlinked_file() {
  std::FILE *file = std::tmpfile();
  if (file == nullptr) throw std::runtime_error("no temporary file to be had");
  const int descriptor = dup(fileno(file));
  std::fclose(file);
  return descriptor;
}

// Returns the allocated bytes in all arenas and in mapped blocks.
inline size_t heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

inline size_t resident_bytes() {
  size_t total_pages = 0, resident_pages = 0;
  std::ifstream("/proc/self/statm") >> total_pages >> resident_pages;
  return resident_pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// Resets the peak of resident memory.
inline void reset_peak_resident() {
  std::ofstream("/proc/self/clear_refs") << 5;
}

// Returns the peak of resident bytes since the reset.
inline size_t peak_resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string name; status >> name;) {
    size_t kilobytes;
    if (name == "VmHWM:" && status >> kilobytes) return kilobytes << 10;
  }
  throw std::runtime_error("the peak is not known");
}

// Returns the processor time that all threads have used so far. Work that goes on although it should stop
// uses it, and a busy machine does not change it.
inline std::chrono::nanoseconds processor_time() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
}

}  // namespace simjoin::test
