#include "cuda/base/device_use.hpp"

#include <memory>

#include "core/base/idle_release.hpp"
#include "cuda/base/device_memory.hpp"

namespace simjoin::gpu {

// The timer is never destroyed, because users of a device may outlive it. Its thread ends with the process,
// before the CUDA runtime does, since the runtime is used first.
IdleRelease &idle_release() {
  static IdleRelease &timer = *new IdleRelease(give_devices_back);
  static const std::unique_ptr<IdleRelease, void (*)(IdleRelease *)> ends(
      &timer, [](IdleRelease *release) { release->stop(); });
  return timer;
}

void begin_device_use() {
  idle_release().begin();
}

void end_device_use() noexcept {
  idle_release().end();
}

}  // namespace simjoin::gpu
