#include "pg/gpu_faults.hpp"

#include <cstdint>
#include <cstdlib>

#include "core/gpu.hpp"
#include "pg/settings.hpp"

namespace simjoin::pg {
namespace {

bool fault_armed = false;

}  // namespace

void inject_gpu_fault() {
  GpuBackend *backend = gpu_backend();
  if (backend == nullptr || (debug_device_fault == 0 && !fault_armed)) return;
  backend->fail_call(static_cast<uint64_t>(std::abs(debug_device_fault)), debug_device_fault < 0);
  fault_armed = debug_device_fault != 0;
}

GpuNotice::GpuNotice(const std::unique_ptr<Notice> &notice)
    : any(notice != nullptr), warning(any && notice->warning), message{} {
  if (any) strlcpy(message, notice->message.c_str(), sizeof message);
}

void report_gpu_notice(const GpuNotice &notice) {
  if (!notice.any) return;
  if (notice.warning) {
    ereport(WARNING,
            (errmsg("the GPU failed; the query goes on on the CPU, and so do all others of this session"),
             errdetail_internal("%s", notice.message)));
  } else {
    ereport(NOTICE, (errmsg("the GPU has too little memory for the query, which goes on on the CPU"),
                     errdetail_internal("%s", notice.message)));
  }
}

}  // namespace simjoin::pg
