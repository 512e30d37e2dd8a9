// Counts the users of the devices, so that idle devices can be given back.
#pragma once

namespace simjoin {
class IdleRelease;
}

namespace simjoin::gpu {

// Returns the timer of this process (core/base/idle_release.hpp). It gives back everything that the process
// holds of its devices, including contexts and page-locked memory.
IdleRelease &idle_release();

void begin_device_use();
void end_device_use() noexcept;

// The devices stay set up while one of these lives. Every object that refers to a device holds one. The
// constructor may wait for a release under way.
class DeviceUse {
 public:
  DeviceUse() { begin_device_use(); }
  ~DeviceUse() { end_device_use(); }
  DeviceUse(const DeviceUse &) : DeviceUse() {}
  DeviceUse &operator=(const DeviceUse &) { return *this; }
};

}  // namespace simjoin::gpu
