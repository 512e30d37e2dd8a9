// Helpers for tests of the GPU: joins, failing device calls, and skipping without a GPU.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/sets/set_blocks.hpp"
#include "core/sets/vocabulary.hpp"
#include "cuda/base/device.hpp"
#include "cuda/base/gpus.hpp"
#include "cuda/base/injected_faults.hpp"
#include "cuda/engine/gpu_engine.hpp"
#include "cuda/sets/upload.hpp"
#include "unit/drive.hpp"

namespace simjoin::test {

// A test that needs a device. It is skipped, with the reason, if there is none.
template <class Base>
class OnDevice : public Base {
 protected:
  void SetUp() override {
    std::string reason;
    if (!gpu_available(&reason)) GTEST_SKIP() << "no GPU to test on: " << reason;
  }
};

// Returns the free bytes of device memory.
inline size_t free_memory() {
  size_t free = 0, total = 0;
  cudaMemGetInfo(&free, &total);
  return free;
}

// Returns a side of these sets, on the device.
inline std::unique_ptr<gpu::UploadedSide> uploaded(gpu::Device &device, const IntSets &sets) {
  MemoryCounter memory;
  BlockWriter writer(memory);
  for (const IntSet &set : sets) {
    const auto count = static_cast<uint32_t>(set.size());
    SetSlice row = row_of(std::span(set), count);
    EXPECT_EQ(writer.append(Side::left, row), nullptr);
  }
  auto side = std::make_unique<gpu::UploadedSide>(device);
  const SharedBlock block = writer.take_last(Side::left);
  side->append(block, block->all());
  side->finish();
  return side;
}

// Calls work() on a thread of its own, and returns its result or throws its exception. The thread's GPU is
// CUDA's first one, or the last usable one if `last` is set.
template <class Work>
auto on_thread(Work &&work, bool last = false) {
  const auto body = [&] {
    if (last) gpu::use_device(static_cast<int>(usable_gpus().size()) - 1);
    return work();
  };
  return std::async(std::launch::async, body).get();
}

// Runs `work`, which must succeed by itself, and lets each of its device calls fail in turn: by too little
// memory, and as a failed launch. If there are more than `most_calls`, only some fail. `work` must end with
// the right kind of error. If memory ran out it may continue, and then went_on() is called. Sometimes it runs
// without a fault in between.
template <class Work, class WentOn>
void fail_each_call(uint64_t least_calls, Work &&work, WentOn &&went_on, uint64_t most_calls = UINT64_MAX) {
  work();  // from now on the process holds what it keeps
  const uint64_t before = device_calls();
  work();
  const uint64_t calls = device_calls() - before;
  ASSERT_GE(calls, least_calls);
  int turn = 0;
  for (uint64_t call = 1; call <= calls; call += 1 + calls / most_calls) {
    for (const bool launch : {false, true}) {
      SCOPED_TRACE("call " + std::to_string(call) + " of " + std::to_string(calls));
      fail_device_call(call, launch);
      try {
        work();
        EXPECT_FALSE(launch) << "failed unnoticed";
        went_on();
      } catch (const Error &error) {
        EXPECT_EQ(error.kind(), launch ? ErrorKind::device_failure : ErrorKind::limit_exceeded);
        EXPECT_FALSE(error.hint().empty());
      }
      fail_device_call(0, false);
    }
    if (turn++ % 16 == 0) work();
  }
}

// The same for work that cannot continue after a fault.
template <class Work>
void fail_each_call(uint64_t least_calls, Work &&work) {
  fail_each_call(least_calls, work, [] { ADD_FAILURE() << "failed unnoticed"; });
}

// Adds the sets in blocks, as an engine on a GPU takes them: texts as their numbers.
template <class Token>
void feed_blocks(JoinEngine &engine, const Input<Token> &input) {
  static MemoryCounter memory;
  Vocabulary vocabulary(input.self_join, memory);
  BlockWriter writer(memory);
  std::vector<uint32_t> numbers;
  const auto add = [&](Side side, const auto &sets) {
    for (const auto &set : sets) {
      const auto count = static_cast<uint32_t>(set.size());
      SetSlice row;
      if constexpr (std::is_integral_v<Token>) {
        row = row_of(std::span(set), count);
      } else {
        const std::vector<std::string_view> texts(set.begin(), set.end());
        numbers.resize(count);
        vocabulary.number(texts, numbers.data());
        row = row_of(std::span<const uint32_t>(numbers), count);
      }
      if (SharedBlock full = writer.append(side, row)) engine.add_block(std::move(full));
    }
    if (SharedBlock last = writer.take_last(side)) engine.add_block(std::move(last));
  };
  add(Side::left, input.left);
  if (!input.self_join) add(Side::right, input.right);
}

// Runs a whole join on the GPU and returns its pairs in ascending order.
template <class Token>
std::vector<Pair> run_on_gpu(JoinSpec spec, const Input<Token> &input, const GpuOptions &options = {},
                             GpuFigures *figures = nullptr) {
  spec.self_join = input.self_join;
  const std::unique_ptr<GpuJoinEngine> engine = make_gpu_engine(spec, options);
  feed_blocks(*engine, input);
  std::vector<Pair> pairs = pull(*engine);
  if (figures != nullptr) *figures = engine->figures();
  return pairs;
}

// Abandons a self-join after each of these numbers of steps, and expects that it ends within a time.
inline void abandon(JoinSpec spec, const GpuOptions &options, const IntSets &sets,
                    std::initializer_list<int> steps, std::chrono::milliseconds patience) {
  spec.self_join = true;
  for (const int count : steps) {
    auto engine = make_gpu_engine(spec, options);
    feed_blocks<int32_t>(*engine, {sets, {}, true});
    Batch batch;
    for (int i = 0; i < count; ++i) engine->step(std::chrono::milliseconds(1), batch);
    const auto begin = std::chrono::steady_clock::now();
    engine.reset();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, patience) << count << " steps";
  }
}

}  // namespace simjoin::test
