// The process of the GPU service: a child of the server's, which shares nothing with it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>

#include "core/device/gpu.hpp"

namespace simjoin {

// Starts a process that serves sessions at `path`. It has none of the caller's shared memory, descriptors and
// signal handlers, so nothing that happens there harms the caller. It ends with the caller. It writes lines
// for a log to the descriptor `log`, and `backend` is used there only. Returns its number, or -1 with errno.
// The caller has one thread.
pid_t start_server_process(GpuBackend &backend, const std::string &path, size_t memory, int log);

}  // namespace simjoin
