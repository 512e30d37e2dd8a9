#include "cuda/base/device_errors.hpp"

#include <string>

#include "core/base/error.hpp"

namespace simjoin::gpu {
namespace {

// Errors that do not mean that the device is lost. After most others the context of the process is gone, and
// every later call returns the same error until the process ends.
constexpr struct {
  cudaError_t error;
  Trouble trouble;
} troubles[] = {
    {cudaErrorMemoryAllocation, Trouble::short_memory},
    {cudaErrorNoDevice, Trouble::absent},
    {cudaErrorInsufficientDriver, Trouble::absent},
    {cudaErrorSystemDriverMismatch, Trouble::absent},
    {cudaErrorCompatNotSupportedOnDevice, Trouble::absent},
    {cudaErrorStubLibrary, Trouble::absent},
    // Another process uses the device exclusively (compute mode "exclusive process"), or a setting is being
    // changed.
    {cudaErrorDevicesUnavailable, Trouble::passing},
    {cudaErrorDeviceAlreadyInUse, Trouble::passing},
    // The fabric manager of NVLink switches has not started yet.
    {cudaErrorSystemNotReady, Trouble::passing},
    // A call to the operating system failed, for example because no file descriptor was left.
    {cudaErrorOperatingSystem, Trouble::passing},
    // The multi-process service starts, recovers, or has no room for another client.
    {cudaErrorMpsConnectionFailed, Trouble::passing},
    {cudaErrorMpsRpcFailure, Trouble::passing},
    {cudaErrorMpsServerNotReady, Trouble::passing},
    {cudaErrorMpsMaxClientsReached, Trouble::passing},
    {cudaErrorMpsMaxConnectionsReached, Trouble::passing},
};

}  // namespace

Trouble trouble_of(cudaError_t error) {
  for (const auto &known : troubles) {
    if (known.error == error) return known.trouble;
  }
  return Trouble::lost;
}

void check(cudaError_t result, const char *what) {
  if (result == cudaSuccess) return;
  cudaGetLastError();
  const std::string message = std::string(cudaGetErrorString(result)) + " in " + what;
  switch (trouble_of(result)) {
    case Trouble::short_memory:
      throw Error(ErrorKind::limit_exceeded, "out of device memory",
                  "Lower simjoin.gpu_memory_limit, or set simjoin.device to cpu.");
    case Trouble::passing:
      throw Error(ErrorKind::device_unavailable, "the GPU cannot be used now: " + message,
                  "Try again later, or set simjoin.device to cpu.");
    default:
      throw Error(ErrorKind::device_failure, "the GPU failed: " + message, "Set simjoin.device to cpu.");
  }
}

}  // namespace simjoin::gpu
