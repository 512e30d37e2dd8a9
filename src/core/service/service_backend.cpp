#include "core/service/service_backend.hpp"

#include <cstring>
#include <utility>

#include "core/base/costs.hpp"
#include "core/base/error.hpp"
#include "core/base/host_pieces.hpp"
#include "core/service/cluster_calls.hpp"
#include "core/service/service_engine.hpp"

namespace simjoin {

ServiceBackend::ServiceBackend(GpuBackend &own, std::string path) : own_(own), path_(std::move(path)) {
  HostPieces::of_process().set_lender([this] {
    const auto service = connection();
    return service ? service->take_piece() : HostPiece();
  });
}

ServiceBackend::~ServiceBackend() {
  HostPieces::of_process().set_lender(nullptr);
}

// Returns a connection that works; null if there is none.
std::shared_ptr<ServiceConnection> ServiceBackend::connection() const {
  const std::lock_guard lock(mutex_);
  if (faults_) return nullptr;
  if (connection_ && !connection_->works()) connection_.reset();
  if (!connection_ && !looked_) connection_ = ServiceConnection::open(path_);
  looked_ = true;
  return connection_;
}

GpuBackend &ServiceBackend::own() {
  std::string reason;
  if (!own_.available(reason))
    throw Error(ErrorKind::device_unavailable, reason, "Set simjoin.device to cpu.");
  return own_;
}

Connect ServiceBackend::connect() {
  return [this] {
    auto service = connection();
    if (!service)
      throw Error(ErrorKind::device_unavailable, "the GPU service has ended", "Set simjoin.device to cpu.");
    return service;
  };
}

bool ServiceBackend::available(std::string &reason) {
  return connection() != nullptr || own_.available(reason);
}

bool ServiceBackend::started() const {
  return connection() != nullptr || own_.started();
}

void ServiceBackend::look_again() {
  {
    const std::lock_guard lock(mutex_);
    if (connection_) connection_->take_notice_of_end();
    looked_ = false;
  }
  own_.look_again();
}

// Where the service is, no session needs to.
void ServiceBackend::set_up() {
  if (connection() == nullptr) own_.set_up();
}

GpuSlowdown ServiceBackend::slowdown() {
  const auto service = connection();
  if (!service) return own_.slowdown();
  GpuSlowdown slowdown = service->slowdown();
  slowdown.byte_ns = costs::service_byte;
  return slowdown;
}

std::vector<GpuDevice> ServiceBackend::devices() {
  const auto service = connection();
  const auto answer = service ? service->ask({Ask::devices}) : std::nullopt;
  if (!answer || answer->reply.answer != Answer::devices) return own_.devices();
  Unpacker unpack(answer->payload);
  std::vector<GpuDevice> devices;
  for (uint32_t i = 0; i < answer->reply.count && unpack.complete; ++i)
    visit_device(unpack, devices.emplace_back());
  return devices;
}

// The service has no part of a join by the CPU and the GPU together.
std::unique_ptr<JoinEngine> ServiceBackend::make_engine(const JoinSpec &spec) {
  const auto service = connection();
  if (service && spec.algorithm != Algorithm::cpu_gpu) return std::make_unique<ServiceEngine>(service, spec);
  return own().make_engine(spec);
}

std::unique_ptr<ClusterDevice> ServiceBackend::make_cluster_device(size_t memory_limit) {
  if (connection()) return std::make_unique<ServiceClusters>(connect(), memory_limit);
  return own().make_cluster_device(memory_limit);
}

void ServiceBackend::fail_call(uint64_t n, bool launch) {
  {
    const std::lock_guard lock(mutex_);
    faults_ = n != 0;
  }
  own_.fail_call(n, launch);
}

void ServiceBackend::lose_device(uint64_t n, DeviceLoss loss) {
  {
    const std::lock_guard lock(mutex_);
    faults_ = loss != DeviceLoss::none;
  }
  own_.lose_device(n, loss);
}

std::optional<ServiceStatus> ServiceBackend::status() {
  const auto service = connection();
  const auto answer = service ? service->ask({Ask::status}) : std::nullopt;
  ServiceStatus status;
  if (!answer || answer->payload.size() != sizeof status) return std::nullopt;
  std::memcpy(&status, answer->payload.data(), sizeof status);
  return status;
}

}  // namespace simjoin
