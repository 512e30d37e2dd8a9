// Who uses the devices, and what is given back when nobody has for some time.
#pragma once

namespace simjoin {
class IdleRelease;
}

namespace simjoin::gpu {

// Returns the timer of this process (core/base/idle_release.hpp): it gives all back that the process holds of
// its devices, contexts included, and the page-locked memory.
IdleRelease &idle_release();

void begin_device_use();
void end_device_use() noexcept;

// While one lives, the devices stay set up. Everything that refers to a device has one; making one may wait
// for a release under way.
class DeviceUse {
 public:
  DeviceUse() { begin_device_use(); }
  ~DeviceUse() { end_device_use(); }
  DeviceUse(const DeviceUse &) : DeviceUse() {}
  DeviceUse &operator=(const DeviceUse &) { return *this; }
};

}  // namespace simjoin::gpu
