#include "gpu_service/server/server_process.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>
#include <vector>

#include "core/base/thread_budget.hpp"
#include "gpu_service/server/gpu_service.hpp"

namespace simjoin {
namespace {

void write_line(int log, std::string line) {
  line += '\n';
  // A line that cannot be written is lost.
  [[maybe_unused]] const ssize_t written = write(log, line.data(), line.size());
}

void close_all_but(int kept) {
  DIR *folder = opendir("/proc/self/fd");
  if (folder == nullptr) return;
  std::vector<int> open;
  while (const dirent *entry = readdir(folder)) open.push_back(std::atoi(entry->d_name));
  closedir(folder);
  for (const int descriptor : open) {
    if (descriptor > STDERR_FILENO && descriptor != kept) close(descriptor);
  }
}

// Unmaps the memory that this process could write and others would see. Returns false if it is not known.
bool leave_shared_memory() {
  std::FILE *maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return false;
  std::vector<std::pair<uintptr_t, uintptr_t>> shared;
  char line[4096];
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    unsigned long begin, end;
    char rights[5];
    if (std::sscanf(line, "%lx-%lx %4s", &begin, &end, rights) != 3) continue;
    if (rights[1] == 'w' && rights[3] == 's') shared.emplace_back(begin, end);
  }
  std::fclose(maps);
  for (const auto &[begin, end] : shared) munmap(reinterpret_cast<void *>(begin), end - begin);
  return true;
}

void take_default_signals() {
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Serves until the process is killed, and returns its exit status if it cannot.
int serve(GpuBackend &backend, const std::string &path, size_t memory, int log) {
  try {
    GpuService service(backend, path, memory, [log](const std::string &why) {
      write_line(log, "ended: " + why);
      _exit(1);
    });
    write_line(log, "ready");
    service.serve();
    return 0;
  } catch (const std::bad_alloc &) {
    write_line(log, "no memory of " + std::to_string(memory >> 20) + " MB to share with sessions");
  } catch (const std::exception &error) {
    write_line(log, error.what());
  }
  return 1;
}

}  // namespace

pid_t start_server_process(GpuBackend &backend, const std::string &path, size_t memory, int log) {
  const pid_t parent = getpid();
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t child = fork();
  if (child != 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    return child;
  }
  // The parent may have ended before this call, or after.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  prctl(PR_SET_NAME, "simjoin_gpu");
  close_all_but(log);
  set_thread_count(nullptr);  // it lies in the shared memory
  HostPieces::of_process().set_lender(nullptr);
  set_gpu_backend(&backend);
  if (!leave_shared_memory()) _exit(1);
  take_default_signals();
  _exit(serve(backend, path, memory, log));
}

}  // namespace simjoin
