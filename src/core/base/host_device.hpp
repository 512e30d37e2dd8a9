// Marks functions that run on the host and in kernels.
#pragma once

#ifdef __CUDACC__
#define SIMJOIN_HOST_DEVICE __host__ __device__
#else
#define SIMJOIN_HOST_DEVICE
#endif
