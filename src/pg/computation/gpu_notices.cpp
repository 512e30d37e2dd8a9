#include "pg/computation/gpu_notices.hpp"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/device/gpu.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/settings.hpp"
#include "pg/computation/watch.hpp"

namespace simjoin::pg {
namespace {

bool fault_armed = false;
bool device_lost = false;

// A line of text on the device that has run, as it leaves C++: the known parts, in order.
struct DeviceLine {
  void add(const char *label, const std::string &value) {
    if (value.empty()) return;
    const size_t length = std::strlen(text);
    snprintf(text + length, sizeof text - length, "%s%s: %s", length == 0 ? "" : ", ", label, value.c_str());
  }
  void add_device(const std::string &device, const std::string &refused) {
    if (!Settings::explain_device()) return;
    add("Device", device);
    add("GPU Not Used", refused);
  }

  char text[600] = "";
};

void report_line(const char *function, const DeviceLine &line) {
  if (line.text[0] != '\0') ereport(DEBUG1, (errmsg_internal("%s: %s", function, line.text)));
}

}  // namespace

void prepare_gpu_use() {
  GpuBackend *backend = gpu_backend();
  if (backend == nullptr) return;
  join_backend()->look_again();
  backend->set_idle_timeout(Settings::gpu_idle_timeout());
  const int fault = Settings::debug_device_fault();
  const auto call = static_cast<uint64_t>(std::abs(fault));
  const DeviceLoss loss = Settings::debug_device_loss();
  const bool fails = fault != 0 && loss == DeviceLoss::none;
  if (fails || fault_armed) backend->fail_call(fails ? call : 0, fault < 0);
  if (loss != DeviceLoss::none || device_lost) backend->lose_device(call == 0 ? 1 : call, loss);
  fault_armed = fails;
  device_lost = loss != DeviceLoss::none;
}

GpuNotice::GpuNotice(const std::unique_ptr<Notice> &notice)
    : any(notice != nullptr), cause(any ? notice->cause : Notice::Cause::failed), message{} {
  if (any) strlcpy(message, notice->message.c_str(), sizeof message);
}

void report_device(const char *function, const JoinEngine *engine) {
  if (!message_level_is_interesting(DEBUG1)) return;
  report_line(function, call_cpp([&] {
                const JoinStats stats = engine->stats();
                DeviceLine line;
                line.add("Algorithm", stats.algorithm);
                line.add_device(stats.device, stats.gpu_refused);
                return line;
              }));
}

void report_device(const char *function, const GpuAttempt &attempt) {
  if (!message_level_is_interesting(DEBUG1)) return;
  report_line(function, call_cpp([&] {
                const DeviceOutcome outcome = attempt.outcome();
                DeviceLine line;
                line.add_device(outcome.gpu ? "gpu" : "cpu", outcome.refused);
                return line;
              }));
}

void report_gpu_notice(const GpuNotice &notice) {
  if (!notice.any) return;
  note_gpu_notice();
  switch (notice.cause) {
    case Notice::Cause::failed:
      ereport(WARNING, (errmsg("the GPU failed; this query and all later ones of the session run on the CPU"),
                        errdetail_internal("%s", notice.message)));
      break;
    case Notice::Cause::unavailable:
      ereport(NOTICE, (errmsg("the GPU cannot be used now; the query continues on the CPU"),
                       errdetail_internal("%s", notice.message)));
      break;
    case Notice::Cause::too_large:
      ereport(NOTICE, (errmsg("the query is too large for the GPU, and continues on the CPU"),
                       errdetail_internal("%s", notice.message)));
      break;
  }
}

}  // namespace simjoin::pg
