// The GPU of a session whose server has a GPU service: joins go there. What the service does not do, and all
// where it cannot be reached, the session's own backend does.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/device/gpu.hpp"
#include "core/service/messages.hpp"
#include "core/service/service_connection.hpp"

namespace simjoin {

// The service is looked for on first use, and again by each query that finds none.
class ServiceBackend final : public GpuBackend {
 public:
  ServiceBackend(GpuBackend &own, std::string path);
  ~ServiceBackend() override;

  bool available(std::string &reason) override { return own_.available(reason); }
  void look_again() override;
  bool has_driver() override { return connection() != nullptr || own_.has_driver(); }
  bool started() const override { return own_.started(); }
  void set_up() override;
  GpuSlowdown slowdown() override { return own_.slowdown(); }
  bool available_for_joins(std::string &reason) override;
  bool started_for_joins() const override;
  GpuSlowdown slowdown_of_joins() override;
  void set_idle_timeout(std::chrono::milliseconds timeout) override { own_.set_idle_timeout(timeout); }
  std::vector<GpuDevice> devices() override;
  std::unique_ptr<JoinEngine> make_engine(const JoinSpec &spec) override;
  FlyHashDevice *flyhash() override { return own_.flyhash(); }
  SignatureDevice *signatures() override { return own_.signatures(); }
  GraphDevice *graphs() override { return own_.graphs(); }
  WeightedDevice *weighted() override { return own_.weighted(); }
  std::unique_ptr<ClusterDevice> make_cluster_device(size_t memory_limit) override {
    return own_.make_cluster_device(memory_limit);
  }
  // Faults are those of the session's own calls. Its joins run in the session while there is one.
  void fail_call(uint64_t n, bool launch) override;
  void lose_device(uint64_t n, DeviceLoss loss) override;

  // Returns what the service does; none if it cannot be reached.
  std::optional<ServiceStatus> status();

 private:
  std::shared_ptr<ServiceConnection> connection() const;

  GpuBackend &own_;
  const std::string path_;
  mutable std::mutex mutex_;  // guards what follows
  mutable std::shared_ptr<ServiceConnection> connection_;
  mutable bool looked_ = false;
  bool faults_ = false;
};

}  // namespace simjoin
