// simjoin_devices(): the GPUs that this server has.
#include "pg/base/pg.hpp"

extern "C" {
#include "utils/builtins.h"
}

#include <cstdio>

#include "core/device/gpu.hpp"
#include "pg/base/errors.hpp"
#include "pg/query/result_rows.hpp"

namespace simjoin::pg {
namespace {

struct DeviceList {
  std::vector<GpuDevice> devices;
};

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_devices);
Datum simjoin_devices(PG_FUNCTION_ARGS) {
  ResultRows result(fcinfo);
  const DeviceList *list = own(CurrentMemoryContext, [] {
    auto found = std::make_unique<DeviceList>();
    if (GpuBackend *backend = gpu_backend()) found->devices = backend->devices();
    return found;
  });
  for (size_t i = 0; i < list->devices.size(); ++i) {
    const GpuDevice &device = list->devices[i];
    char capability[32];
    std::snprintf(capability, sizeof capability, "%d.%d", device.major, device.minor);
    result.add({Int32GetDatum(static_cast<int32>(i)), CStringGetTextDatum(device.name.c_str()),
                CStringGetTextDatum(capability), Int64GetDatum(static_cast<int64>(device.memory_total)),
                Int64GetDatum(static_cast<int64>(device.memory_free))});
  }
  return 0;
}
}

}  // namespace simjoin::pg
