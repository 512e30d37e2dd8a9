// Fake GPUs. Functions that are not overridden do nothing.
#pragma once

#include <memory>
#include <string>

#include "core/base/error.hpp"
#include "core/device/gpu.hpp"

namespace simjoin::test {

[[noreturn]] inline void fail_as(ErrorKind kind) {
  throw Error(kind, "injected", "none");
}

// The cause that a notice gives if a computation left the GPU after an error of this kind.
inline Notice::Cause cause_of(ErrorKind kind) {
  return kind == ErrorKind::device_failure       ? Notice::Cause::failed
         : kind == ErrorKind::device_unavailable ? Notice::Cause::unavailable
                                                 : Notice::Cause::too_large;
}

// Makes a backend the backend of this process during its lifetime.
class FakeGpu : public GpuBackend {
 public:
  FakeGpu() { set_gpu_backend(this); }
  ~FakeGpu() override { set_gpu_backend(nullptr); }
  FakeGpu(const FakeGpu &) = delete;
  FakeGpu &operator=(const FakeGpu &) = delete;

  bool available(std::string &reason) override {
    reason = present ? "" : "no driver";
    return present;
  }
  bool has_driver() override { return driver; }
  bool started() const override { return is_started; }
  GpuSlowdown slowdown() override { return slower; }
  std::unique_ptr<JoinEngine> make_engine(const JoinSpec &) override { return nullptr; }

  // Makes the process forget an earlier failure.
  void repair() { set_gpu_backend(this); }

  bool present = true;
  bool driver = true;
  bool is_started = true;
  GpuSlowdown slower;
};

}  // namespace simjoin::test
