// What a session leaves to others: idle devices, memory that others take meanwhile, and errors that pass.
#include <sys/mman.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include "core/base/host_pieces.hpp"
#include "core/base/idle_release.hpp"
#include "core/minhash/signature_device.hpp"
#include "cuda/base/device.hpp"
#include "cuda/base/device_errors.hpp"
#include "cuda/base/device_memory.hpp"
#include "cuda/base/page_locked.hpp"
#include "cuda/sets/upload.hpp"
#include "gpu/gpu_drive.hpp"
#include "unit/random_sets.hpp"

namespace simjoin::test {
namespace {

using namespace std::chrono_literals;
using gpu::Trouble;

// Asks a process that has not used CUDA for the driver. Sets its exit status: 0 if the driver is found and
// still not initialized.
[[noreturn]] void find_driver() {
  const bool found = gpu_driver_loads();
  void *const driver = dlopen("libcuda.so.1", RTLD_LAZY);
  const auto count_gpus = reinterpret_cast<decltype(&cuDeviceGetCount)>(dlsym(driver, "cuDeviceGetCount"));
  int gpus = 0;
  std::exit(found && count_gpus(&gpus) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
}

TEST(GpuDriverDeathTest, IsFoundWithoutSettingGpusUp) {
  if (!gpu_driver_loads()) GTEST_SKIP() << "no GPU to test on: there is no driver";
  testing::FLAGS_gtest_death_test_style = "threadsafe";  // in a process that starts anew
  EXPECT_EXIT(find_driver(), testing::ExitedWithCode(0), "");
}

TEST(DeviceErrors, ArePassingOrNot) {
  for (const cudaError_t error : {cudaErrorDevicesUnavailable, cudaErrorMpsConnectionFailed,
                                  cudaErrorMpsServerNotReady, cudaErrorSystemNotReady}) {
    EXPECT_EQ(gpu::trouble_of(error), Trouble::passing) << cudaGetErrorName(error);
  }
  for (const cudaError_t error :
       {cudaErrorIllegalAddress, cudaErrorLaunchFailure, cudaErrorECCUncorrectable,
        cudaErrorMpsClientTerminated, cudaErrorContextIsDestroyed, cudaErrorUnknown, cudaErrorInvalidValue}) {
    EXPECT_EQ(gpu::trouble_of(error), Trouble::lost) << cudaGetErrorName(error);
  }
  EXPECT_EQ(gpu::trouble_of(cudaErrorMemoryAllocation), Trouble::short_memory);
  EXPECT_EQ(gpu::trouble_of(cudaErrorInsufficientDriver), Trouble::absent);
  const auto kind_of = [](cudaError_t error) {
    try {
      gpu::check(error, "a call");
    } catch (const Error &caught) {
      EXPECT_FALSE(caught.hint().empty());
      return caught.kind();
    }
    return ErrorKind::internal;
  };
  EXPECT_EQ(kind_of(cudaErrorDevicesUnavailable), ErrorKind::device_unavailable);
  EXPECT_EQ(kind_of(cudaErrorIllegalAddress), ErrorKind::device_failure);
  EXPECT_EQ(kind_of(cudaErrorMemoryAllocation), ErrorKind::limit_exceeded);
}

// An array is copied only a few times until it is full, for any limit.
TEST(Uploads, GrowInFewSteps) {
  constexpr size_t piece = size_t{4} << 20;
  for (const size_t limit : {size_t{30} << 20, size_t{1} << 30, size_t{3} << 29, size_t{100} << 30}) {
    size_t capacity = 0, size = 0, copied = 0;
    for (;;) {
      if (size + piece > capacity) {
        const size_t left = limit - capacity, grown = gpu::grown_capacity(capacity, size + piece, left);
        ASSERT_GE(grown, size + piece);
        if (grown > left) break;  // it does not fit beside the old array
        copied += size;
        capacity = grown;
      }
      size += piece;
    }
    EXPECT_GT(size, limit / 3) << limit;
    EXPECT_LT(copied, 3 * size) << limit;
  }
}

class GpuSharing : public OnDevice<testing::Test> {
 protected:
  void TearDown() override {
    gpu::idle_release().set_timeout(0ms);
    lose_device(0, DeviceLoss::none);
  }

  static bool soon(const std::function<bool()> &condition) {
    for (int i = 0; i < 20'000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(1ms);
    }
    return false;
  }

  static std::vector<SortKey> sorted_keys() {
    std::vector<SortKey> keys(5000), sorted(keys.size());
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = SortKey{i, i * 0x9E3779B97F4A7C15u};
    const StopFlag stop;
    WorkerPool pool(1, stop);
    cuda_backend().signatures()->sort(keys, sorted, pool, 0);
    return sorted;
  }

  static SharedBlock block_of(const IntSets &sets) {
    static MemoryCounter memory;
    BlockWriter writer(memory);
    for (const IntSet &set : sets) {
      const auto count = static_cast<uint32_t>(set.size());
      SetSlice row = row_of(std::span(set), count);
      writer.append(Side::left, row);
    }
    return writer.take_last(Side::left);
  }
};

// Contexts, pools and page-locked memory are freed when nothing has used the devices for the timeout. The
// next computations set up what they need, on the same thread or on others.
TEST_F(GpuSharing, AnIdleProcessGivesItsDevicesBack) {
  const Input<int32_t> input = two_sided_input(all_shapes[3], 1);
  const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.6);
  const std::vector<Pair> expected = run_on_gpu(spec, input);
  const std::vector<SortKey> keys = sorted_keys();
  constexpr size_t kept = size_t{1} << 30;
  {
    gpu::Device device(0, 2 * kept);
    gpu::DeviceBuffer<char> buffer(device, kept);
  }
  const size_t free_while_kept = free_memory();
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(gpu_started());
    gpu::idle_release().set_timeout(1ms);
    ASSERT_TRUE(soon([] { return !gpu_started(); }));
    gpu::idle_release().set_timeout(0ms);
    EXPECT_EQ(HostPieces::of_process().kept(), 0u);
    EXPECT_EQ(gpu::locked_pieces(), 0u);
    if (round == 0) {
      gpu::use_device(0);
      EXPECT_GT(free_memory(), free_while_kept + kept / 2);
    }
    EXPECT_EQ(difference(expected, run_on_gpu(spec, input)), "");
    const std::vector<SortKey> again = on_thread([] { return sorted_keys(); });
    EXPECT_EQ(std::memcmp(again.data(), keys.data(), keys.size() * sizeof(SortKey)), 0);
  }
}

TEST_F(GpuSharing, WhatIsInUseStays) {
  const Input<int32_t> input = two_sided_input(all_shapes[3], 1);
  const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.6);
  const std::vector<Pair> expected = run_on_gpu(spec, input);
  gpu::idle_release().set_timeout(1ms);
  {
    const auto engine = make_gpu_engine(spec);
    feed_blocks(*engine, input);
    Batch batch;
    const StepResult first = engine->step(step_budget, batch);
    EXPECT_TRUE(soon([] { return gpu_started(); }));  // it may have been given back before the first block
    std::this_thread::sleep_for(50ms);
    EXPECT_TRUE(gpu_started());
    std::vector<Pair> pairs = pull(*engine);
    if (first == StepResult::batch) {
      for (size_t i = 0; i < batch.size(); ++i)
        pairs.push_back({batch.left[i], batch.right[i], batch.overlap[i]});
      std::sort(pairs.begin(), pairs.end());
    }
    EXPECT_EQ(difference(expected, pairs), "");
  }
  ASSERT_TRUE(soon([] { return !gpu_started(); }));

  // Page-locked memory in use keeps the context, because unlocking needs it.
  SharedBlock block = block_of({{1, 2, 3}});
  {
    gpu::Device device(0, 0);
    std::string why;
    EXPECT_TRUE(gpu::lock_pages(block->piece(), why)) << why;
  }
  std::this_thread::sleep_for(50ms);
  EXPECT_TRUE(gpu_started());
  block.reset();
  EXPECT_TRUE(soon([] { return !gpu_started(); }));
}

// A device in use by others fails each call. When it is free, it is used again.
TEST_F(GpuSharing, ABusyDeviceIsUsedLater) {
  const Input<int32_t> input = two_sided_input(all_shapes[3], 1);
  const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.6);
  const std::vector<Pair> expected = run_on_gpu(spec, input);
  for (uint64_t call : {1, 10, 40}) {
    lose_device(call, DeviceLoss::busy);
    try {
      run_on_gpu(spec, input);
      ADD_FAILURE() << "call " << call << " failed unnoticed";
    } catch (const Error &error) {
      EXPECT_EQ(error.kind(), ErrorKind::device_unavailable);
      EXPECT_FALSE(error.hint().empty());
    }
    lose_device(0, DeviceLoss::none);
    EXPECT_EQ(difference(expected, run_on_gpu(spec, input)), "");
  }
}

// Memory that cannot be page-locked is uploaded all the same, and the reasons say how much it was.
TEST_F(GpuSharing, BlocksThatCannotBePageLockedAreUploaded) {
  HostPieces::of_process().free_kept();  // these are page-locked already
  const IntSets sets = {{1, 2, 3}, {4, 5}, {}, {6, 7, 8, 9}};
  const SharedBlock block = block_of(sets);
  const HostPiece &piece = block->piece();
  ASSERT_EQ(mprotect(piece.data, piece.bytes, PROT_READ), 0);
  {
    gpu::Device device(0, 0);
    gpu::UploadedSide side(device);
    side.append(block, block->all());
    side.finish();
    EXPECT_EQ(side.blocks, 1u);
    EXPECT_EQ(side.pageable_blocks, 1u);
    EXPECT_NE(side.why_pageable, "");
    IntSet tokens(9);
    gpu::copy_to_host(device, tokens.data(), reinterpret_cast<const int32_t *>(side.tokens.data()),
                      tokens.size());
    device.synchronize();
    EXPECT_EQ(tokens, (IntSet{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  }
  ASSERT_EQ(mprotect(piece.data, piece.bytes, PROT_READ | PROT_WRITE), 0);
}

// Device memory that another program holds.
class Hog {
 public:
  explicit Hog(size_t left_over) {
    const size_t free = free_memory();
    if (free <= left_over) return;
    EXPECT_EQ(cudaMalloc(&data_, free - left_over), cudaSuccess);
  }
  ~Hog() { free(); }
  void free() {
    cudaFree(std::exchange(data_, nullptr));
    cudaGetLastError();
  }

 private:
  void *data_ = nullptr;
};

// Returns sets of 50 tokens. Every fourth set is a near copy of the one before it.
Input<int32_t> many_sets(size_t rows) {
  Input<int32_t> input;
  input.self_join = true;
  uint64_t state = 1;
  const auto next = [&state] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int32_t>(state >> 40);
  };
  for (size_t row = 0; row < rows; ++row) {
    if (row % 4 == 3) {
      input.left.push_back(input.left.back());
      input.left.back()[row % 50] = next();
    } else {
      IntSet &set = input.left.emplace_back();
      for (int i = 0; i < 50; ++i) set.push_back(next());
    }
  }
  return input;
}

GpuOptions keeping_nothing() {
  GpuOptions options;
  options.kept_memory = 0;
  return options;
}

// A join whose planned memory is taken by another program works with the rest.
TEST_F(GpuSharing, MemoryThatOthersTakeMeansTiles) {
  const Input<int32_t> input = many_sets(1'000'000);
  JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.9);
  spec.self_join = true;
  spec.memory_limit = size_t{4} << 30;
  GpuFigures figures;
  const std::vector<Pair> expected = run_on_gpu(spec, input, keeping_nothing(), &figures);
  EXPECT_EQ(figures.tile_pairs, 0u);
  EXPECT_GT(expected.size(), 200'000u);
  const auto engine = make_gpu_engine(spec, keeping_nothing());
  feed_blocks(*engine, input);
  const Hog hog(size_t{200} << 20);
  EXPECT_EQ(difference(expected, pull(*engine)), "");
  EXPECT_GT(engine->figures().tile_pairs, 0u);
}

// A join waits for memory if another one has all of it at the start.
TEST_F(GpuSharing, MemoryThatComesBackSoonIsWaitedFor) {
  const Input<int32_t> input = many_sets(200'000);
  JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.9);
  spec.self_join = true;
  spec.memory_limit = size_t{4} << 30;
  const std::vector<Pair> expected = run_on_gpu(spec, input, keeping_nothing());
  Hog hog(size_t{256} << 20);
  std::thread other([&hog] {
    std::this_thread::sleep_for(500ms);
    hog.free();
  });
  EXPECT_EQ(difference(expected, run_on_gpu(spec, input, keeping_nothing())), "");
  other.join();
}

// The costs were measured on an H200.
TEST_F(GpuSharing, AnH200IsAsFastAsMeasured) {
  const std::string name = gpu::Device(0, 0).name();
  const GpuSlowdown slowdown = gpu_slowdown();
  EXPECT_GE(slowdown.work, 1);
  EXPECT_GE(slowdown.compare, 1);
  if (name.find("H200") == std::string::npos) return;
  EXPECT_LT(slowdown.work, 1.1);
  EXPECT_LT(slowdown.compare, 1.1);
}

}  // namespace
}  // namespace simjoin::test
