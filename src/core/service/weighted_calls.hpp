// The search of joins of sets with weights by the GPU service: both ends of the call.
#pragma once

#include <functional>
#include <utility>

#include "core/service/served_call.hpp"
#include "core/service/service_call.hpp"
#include "core/weighted/weighted_device.hpp"

namespace simjoin {

class ServiceWeighted final : public WeightedDevice {
 public:
  // `own` returns the session's own device if there is no service, otherwise null.
  ServiceWeighted(Connect connect, std::function<WeightedDevice *()> own)
      : connect_(std::move(connect)), own_(std::move(own)) {}

  void find(const WeightedProblem &problem, const std::function<void(const WeightedFinds &)> &take) override;

 private:
  const Connect connect_;
  const std::function<WeightedDevice *()> own_;
};

CallResult serve_weighted(const Call &call);

}  // namespace simjoin
