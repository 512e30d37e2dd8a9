#include "pg/gpu_faults.hpp"

#include <cstdint>
#include <cstdlib>

#include "core/gpu.hpp"
#include "pg/settings.hpp"

namespace simjoin::pg {
namespace {

bool fault_armed = false;
bool device_lost = false;

}  // namespace

void prepare_gpu_use() {
  GpuBackend *backend = gpu_backend();
  if (backend == nullptr) return;
  backend->look_again();
  const auto call = static_cast<uint64_t>(std::abs(debug_device_fault));
  const auto loss = static_cast<DeviceLoss>(debug_device_loss);
  const bool fails = debug_device_fault != 0 && loss == DeviceLoss::none;
  if (fails || fault_armed) backend->fail_call(fails ? call : 0, debug_device_fault < 0);
  if (loss != DeviceLoss::none || device_lost) backend->lose_device(call == 0 ? 1 : call, loss);
  fault_armed = fails;
  device_lost = loss != DeviceLoss::none;
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
