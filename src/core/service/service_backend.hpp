// The GPU of a session whose server has a GPU service: joins and functions go there. What the service does
// not do, and all where it cannot be reached, the session's own backend does.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/device/gpu.hpp"
#include "core/service/flyhash_calls.hpp"
#include "core/service/graph_calls.hpp"
#include "core/service/messages.hpp"
#include "core/service/service_connection.hpp"
#include "core/service/signature_calls.hpp"
#include "core/service/weighted_calls.hpp"

namespace simjoin {

// The service is looked for on first use, and again by each query that finds none.
class ServiceBackend final : public GpuBackend {
 public:
  ServiceBackend(GpuBackend &own, std::string path);
  ~ServiceBackend() override;

  bool available(std::string &reason) override;
  void look_again() override;
  bool has_driver() override { return connection() != nullptr || own_.has_driver(); }
  bool started() const override;
  void set_up() override;
  GpuSlowdown slowdown() override;
  void set_idle_timeout(std::chrono::milliseconds timeout) override { own_.set_idle_timeout(timeout); }
  std::vector<GpuDevice> devices() override;
  std::unique_ptr<JoinEngine> make_engine(const JoinSpec &spec) override;
  FlyHashDevice *flyhash() override { return connection() ? &flyhash_ : own().flyhash(); }
  SignatureDevice *signatures() override { return connection() ? &signatures_ : own().signatures(); }
  GraphDevice *graphs() override { return connection() ? &graphs_ : own().graphs(); }
  WeightedDevice *weighted() override { return &weighted_; }
  std::unique_ptr<ClusterDevice> make_cluster_device(size_t memory_limit) override;
  // Faults are those of the session's own calls. All that it computes runs in the session while there is one.
  void fail_call(uint64_t n, bool launch) override;
  void lose_device(uint64_t n, DeviceLoss loss) override;

  // Returns what the service does; none if it cannot be reached.
  std::optional<ServiceStatus> status();

 private:
  std::shared_ptr<ServiceConnection> connection() const;
  // Returns the own backend. Throws Error device_unavailable if it can use no GPU.
  GpuBackend &own();
  Connect connect();

  GpuBackend &own_;
  const std::string path_;
  mutable std::mutex mutex_;  // guards what follows
  mutable std::shared_ptr<ServiceConnection> connection_;
  mutable bool looked_ = false;
  bool faults_ = false;
  ServiceFlyHash flyhash_{connect()};
  ServiceSignatures signatures_{connect()};
  ServiceGraphs graphs_{connect()};
  ServiceWeighted weighted_{connect(), [this] { return connection() ? nullptr : own().weighted(); }};
};

}  // namespace simjoin
