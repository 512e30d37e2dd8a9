// The search of joins of sets with weights by the GPU service, as its session sees it.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "core/weighted/weighted_device.hpp"
#include "gpu_service/client/client_connection.hpp"

namespace simjoin {

// Errors are those of the service's device, or of ClientWork.
class ClientSearch final : public WeightedDevice {
 public:
  // `connection` returns a connection that works; null if there is none. `own` then returns the session's own
  // device.
  ClientSearch(std::function<std::shared_ptr<ClientConnection>()> connection,
               std::function<WeightedDevice &()> own)
      : connection_(std::move(connection)), own_(std::move(own)) {}

  void find(const WeightedProblem &problem, const std::function<void(const WeightedFinds &)> &take) override;

 private:
  const std::function<std::shared_ptr<ClientConnection>()> connection_;
  const std::function<WeightedDevice &()> own_;
};

}  // namespace simjoin
