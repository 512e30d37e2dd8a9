#include "core/graph/spectrum.hpp"
#include "cuda/base/launch.cuh"
#include "cuda/graph/kernels.hpp"

namespace simjoin::gpu {
namespace {

__global__ void set_all(double *vector, uint64_t count, double value) {
  SIMJOIN_GRID_STRIDE(i, count) vector[i] = value;
}
__global__ void start_all(double *vector, uint64_t count) {
  SIMJOIN_GRID_STRIDE(i, count) vector[i] = second_start(i);
}
__global__ void divide_all(double *vector, uint64_t count, double length) {
  SIMJOIN_GRID_STRIDE(i, count) vector[i] /= length;
}
__global__ void add_all_shifted(double *vector, uint64_t count, const double *product, double shift) {
  SIMJOIN_GRID_STRIDE(i, count) vector[i] = product[i] + shift * vector[i];
}
__global__ void raise_all(double *vector, uint64_t count, double least) {
  SIMJOIN_GRID_STRIDE(i, count) vector[i] = vector[i] < least ? least : vector[i];
}
__global__ void take_all_out(double *vector, uint64_t count, double along, const double *axis) {
  SIMJOIN_GRID_STRIDE(i, count) vector[i] -= along * axis[i];
}

}  // namespace

void set_entries(Device &device, double *vector, uint32_t count, double value) {
  launch(device, set_all, blocks_for(device, count), vector, uint64_t{count}, value);
}
void start_second(Device &device, double *vector, uint32_t count) {
  launch(device, start_all, blocks_for(device, count), vector, uint64_t{count});
}
void divide_entries(Device &device, double *vector, uint32_t count, double length) {
  launch(device, divide_all, blocks_for(device, count), vector, uint64_t{count}, length);
}
void add_shifted(Device &device, double *vector, uint32_t count, const double *product, double shift) {
  launch(device, add_all_shifted, blocks_for(device, count), vector, uint64_t{count}, product, shift);
}
void raise_entries(Device &device, double *vector, uint32_t count, double least) {
  launch(device, raise_all, blocks_for(device, count), vector, uint64_t{count}, least);
}
void take_out(Device &device, double *vector, uint32_t count, double along, const double *axis) {
  launch(device, take_all_out, blocks_for(device, count), vector, uint64_t{count}, along, axis);
}

}  // namespace simjoin::gpu
