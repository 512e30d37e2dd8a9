// The backend for joins of a session whose server has a GPU service: they go there. If it cannot be reached,
// the session's own backend joins.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/device/gpu.hpp"
#include "gpu_service/client/client_connection.hpp"
#include "gpu_service/client/client_search.hpp"
#include "gpu_service/wire/messages.hpp"

namespace simjoin {

// The service is looked for on first use, and again by each query that finds none.
class ClientBackend final : public GpuBackend {
 public:
  ClientBackend(GpuBackend &own, std::string path);
  ~ClientBackend() override;

  bool available(std::string &reason) override;
  void look_again() override;
  bool has_driver() override { return connection() != nullptr || own_.has_driver(); }
  bool started() const override;
  void set_up() override;
  GpuSlowdown slowdown() override;
  std::unique_ptr<JoinEngine> make_engine(const JoinSpec &spec) override;
  WeightedDevice *weighted() override { return &weighted_; }

  // Returns what the service does; none if it cannot be reached.
  std::optional<ServiceStatus> status();

 private:
  std::shared_ptr<ClientConnection> connection() const;
  // Returns the own backend. Throws Error device_unavailable if it can use no GPU.
  GpuBackend &own();

  GpuBackend &own_;
  const std::string path_;
  mutable std::mutex mutex_;  // guards what follows
  mutable std::shared_ptr<ClientConnection> connection_;
  mutable bool looked_ = false;
  ClientSearch weighted_{[this] { return connection(); },
                         [this]() -> WeightedDevice & { return *own().weighted(); }};
};

}  // namespace simjoin
