// SIMJOIN_CHECK: this file is compiled with checks, the engine in builds for tests and debugging only.
#include "core/base/check.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <span>

#include "core/join.hpp"
#include "unit/drive.hpp"

namespace simjoin::test {
namespace {

TEST(CheckDeathTest, AFailedCheckNamesItsConditionAndPlace) {
  const int least = 2;
  SIMJOIN_CHECK(least == 2);
  EXPECT_DEATH(SIMJOIN_CHECK(least == 3), "check_test.cpp:[0-9]+: check failed: least == 3");
}

// Returns the engine of a join with one set that has taken a temporary file. The descriptor is none.
std::unique_ptr<JoinEngine> engine_with_file() {
  JoinSpec spec;
  spec.self_join = true;
  std::unique_ptr<JoinEngine> engine = make_cpu_engine(spec);
  const int32_t token = 1;
  test::add_set(*engine, Side::left, std::span(&token, 1));
  engine->set_spill_file(-1, 0);
  return engine;
}

TEST(CheckDeathTest, AnEngineTakesOneTemporaryFile) {
  if (!has_checks()) GTEST_SKIP() << "the engine was built without checks";
  EXPECT_DEATH(engine_with_file()->set_spill_file(-1, 0), "cpu_engine.cpp:[0-9]+: check failed: !file_");
}

TEST(CheckDeathTest, AnEngineKnowsTheSizesOfItsRowsOnly) {
  if (!has_checks()) GTEST_SKIP() << "the engine was built without checks";
  EXPECT_DEATH(static_cast<void>(engine_with_file()->set_size(Side::left, 1)), "check failed: row < ");
}

}  // namespace
}  // namespace simjoin::test
