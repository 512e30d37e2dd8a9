// The GPU service of the server (src/gpu_service), if simjoin is preloaded and simjoin.gpu_service is on.
#pragma once

namespace simjoin {
class GpuBackend;
}

namespace simjoin::pg {

// Defines the settings of the service. If it is on, registers the process that keeps it running, and lets
// joins of sessions go there. `own` is the GPU of each process itself; null in a build without the GPU
// engine. Called while the server loads its libraries.
void install_gpu_service(GpuBackend *own);

}  // namespace simjoin::pg
