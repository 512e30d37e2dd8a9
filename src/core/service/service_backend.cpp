#include "core/service/service_backend.hpp"

#include <cstring>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/host_pieces.hpp"
#include "core/clusters/cluster_device.hpp"
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

bool ServiceBackend::available_for_joins(std::string &reason) {
  return connection() != nullptr || own_.available_for_joins(reason);
}

bool ServiceBackend::started_for_joins() const {
  return connection() != nullptr || own_.started_for_joins();
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

GpuSlowdown ServiceBackend::slowdown_of_joins() {
  const auto service = connection();
  return service ? service->slowdown() : own_.slowdown_of_joins();
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
  std::string reason;
  if (!own_.available_for_joins(reason))
    throw Error(ErrorKind::device_unavailable, reason, "Set simjoin.device to cpu.");
  return own_.make_engine(spec);
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
