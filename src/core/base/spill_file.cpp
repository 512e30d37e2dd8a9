#include "core/base/spill_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include "core/base/check.hpp"
#include "core/base/error.hpp"

namespace simjoin {
namespace {

// Bytes per system call: it takes a fraction of a millisecond if the page cache takes the bytes.
constexpr size_t bytes_per_call = size_t{1} << 18;

[[noreturn]] void throw_failure(const char *what, int error) {
  const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  const std::string reason = std::generic_category().message(error);
  throw Error(full ? ErrorKind::disk_full : ErrorKind::io_failure,
              std::string("could not ") + what + " the temporary file of a similarity join: " + reason);
}

}  // namespace

SpillFile::~SpillFile() {
  close(descriptor_);
}

void SpillFile::write(uint64_t offset, const void *data, size_t bytes) {
  if (written_.fetch_add(bytes, std::memory_order_relaxed) + bytes > limit_) {
    throw Error(ErrorKind::file_limit_exceeded,
                "the temporary file of a similarity join exceeds its limit of " +
                    std::to_string(limit_ / 1024) + " kB");
  }
  overwrite(offset, data, bytes);
}

void SpillFile::overwrite(uint64_t offset, const void *data, size_t bytes) const {
  SIMJOIN_CHECK(offset + bytes <= end_);  // reserved
  const char *at = static_cast<const char *>(data);
  while (bytes > 0) {
    stop_.check();
    const ssize_t done = pwrite(descriptor_, at, std::min(bytes, bytes_per_call), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) throw_failure("write to", done < 0 ? errno : ENOSPC);
    at += done;
    offset += static_cast<uint64_t>(done);
    bytes -= static_cast<size_t>(done);
  }
}

void SpillFile::read(uint64_t offset, void *data, size_t bytes) const {
  SIMJOIN_CHECK(offset + bytes <= end_);
  char *at = static_cast<char *>(data);
  while (bytes > 0) {
    stop_.check();
    const ssize_t done = pread(descriptor_, at, std::min(bytes, bytes_per_call), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) throw_failure("read from", done < 0 ? errno : EIO);
    at += done;
    offset += static_cast<uint64_t>(done);
    bytes -= static_cast<size_t>(done);
  }
}

}  // namespace simjoin
