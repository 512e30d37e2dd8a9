#include "gpu_service/client/client_backend.hpp"

#include <cstring>
#include <utility>

#include "core/base/costs.hpp"
#include "core/base/error.hpp"
#include "core/base/host_pieces.hpp"
#include "gpu_service/client/client_join.hpp"

namespace simjoin {

ClientBackend::ClientBackend(GpuBackend &own, std::string path) : own_(own), path_(std::move(path)) {
  HostPieces::of_process().set_lender([this] {
    const auto service = connection();
    return service ? service->take_piece() : HostPiece();
  });
}

ClientBackend::~ClientBackend() {
  HostPieces::of_process().set_lender(nullptr);
}

// Returns a connection that works; null if there is none.
std::shared_ptr<ClientConnection> ClientBackend::connection() const {
  const std::lock_guard lock(mutex_);
  if (connection_ && !connection_->works()) connection_.reset();
  if (!connection_ && !looked_) connection_ = ClientConnection::open(path_);
  looked_ = true;
  return connection_;
}

GpuBackend &ClientBackend::own() {
  std::string reason;
  if (!own_.available(reason))
    throw Error(ErrorKind::device_unavailable, reason, "Set simjoin.device to cpu.");
  return own_;
}

bool ClientBackend::available(std::string &reason) {
  return connection() != nullptr || own_.available(reason);
}

bool ClientBackend::started() const {
  return connection() != nullptr || own_.started();
}

void ClientBackend::look_again() {
  {
    const std::lock_guard lock(mutex_);
    if (connection_) connection_->take_notice_of_end();
    looked_ = false;
  }
  own_.look_again();
}

// Where the service is, no session needs to.
void ClientBackend::set_up() {
  if (connection() == nullptr) own_.set_up();
}

GpuSlowdown ClientBackend::slowdown() {
  const auto service = connection();
  if (!service) return own_.slowdown();
  GpuSlowdown slowdown = service->slowdown();
  slowdown.byte_ns = costs::service_byte;
  return slowdown;
}

// The service has no part of a join by the CPU and the GPU together.
std::unique_ptr<JoinEngine> ClientBackend::make_engine(const JoinSpec &spec) {
  const auto service = connection();
  if (service && spec.algorithm != Algorithm::cpu_gpu) return std::make_unique<ClientJoin>(service, spec);
  return own().make_engine(spec);
}

std::optional<ServiceStatus> ClientBackend::status() {
  const auto service = connection();
  const auto answer = service ? service->ask({Ask::status}) : std::nullopt;
  ServiceStatus status;
  if (!answer || answer->payload.size() != sizeof status) return std::nullopt;
  std::memcpy(&status, answer->payload.data(), sizeof status);
  return status;
}

}  // namespace simjoin
