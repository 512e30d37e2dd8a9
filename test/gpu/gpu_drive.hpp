// Feeding the GPU engine and pulling its pairs, and skipping where there is no GPU.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "cuda/gpu_engine.hpp"
#include "unit/drive.hpp"

namespace simjoin::test {

// A test that needs a device; skipped with the reason where there is none.
template <class Base>
class OnDevice : public Base {
 protected:
  void SetUp() override {
    std::string reason;
    if (!gpu_available(&reason)) GTEST_SKIP() << "no GPU to test on: " << reason;
  }
};

// Runs a whole join on the GPU and returns its pairs in ascending order.
template <class Token>
std::vector<Pair> run_on_gpu(JoinSpec spec, const Input<Token> &input, const GpuOptions &options = {},
                             GpuFigures *figures = nullptr) {
  spec.self_join = input.self_join;
  const std::unique_ptr<GpuJoinEngine> engine = make_gpu_engine(spec, options);
  feed(*engine, input);
  std::vector<Pair> pairs = pull(*engine);
  if (figures != nullptr) *figures = engine->figures();
  return pairs;
}

}  // namespace simjoin::test
