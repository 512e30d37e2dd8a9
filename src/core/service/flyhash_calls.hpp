// FlyHash by the GPU service: both ends of the call.
#pragma once

#include <memory>
#include <utility>

#include "core/flyhash/flyhash_device.hpp"
#include "core/service/served_call.hpp"
#include "core/service/service_call.hpp"

namespace simjoin {

class ServiceFlyHash final : public FlyHashDevice {
 public:
  explicit ServiceFlyHash(Connect connect) : connect_(std::move(connect)) {}

  std::unique_ptr<FlyHashWork> open(const FlyShape &shape, size_t memory_limit) override;

 private:
  const Connect connect_;
};

CallResult serve_flyhash(const Call &call);

}  // namespace simjoin
