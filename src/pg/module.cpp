// What PostgreSQL calls when it loads the library, and the library's version.
#include "pg/base/pg.hpp"

extern "C" {
#include "miscadmin.h"
#include "utils/builtins.h"
}

#include <hwy/nanobenchmark.h>

#include "core/base/interruption.hpp"
#include "core/device/gpu.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/base/settings.hpp"
#include "pg/computation/shared_progress.hpp"
#include "pg/guard/creation.hpp"
#include "pg/guard/statement.hpp"
#include "pg/index/index_path.hpp"
#include "pg/join/plan/path.hpp"
#include "pg/nearest/path.hpp"
#include "pg/query/query_source.hpp"
#include "pg/rows/input_cache.hpp"
#include "pg/service/gpu_service.hpp"

#ifndef SIMJOIN_VERSION
#error "SIMJOIN_VERSION is to be defined as default_version of simjoin.control"
#endif

// While Highway's library is loaded, it measures the timer of its benchmarks, which takes most of the time
// that a session or a parallel worker needs to load the module. The linker finds this function first. Nothing
// here has a benchmark.
PGDLLEXPORT uint64_t hwy::platform::TimerResolution() {
  return 1;
}

extern "C" {

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);
void _PG_init(void) {
  simjoin::GpuBackend *gpu = nullptr;
#ifdef SIMJOIN_CUDA
  gpu = &simjoin::cuda_backend();
#endif
  simjoin::set_gpu_backend(gpu);
  // Before the settings that every session has: those of the service exist in a server that preloads simjoin.
  if (process_shared_preload_libraries_in_progress) simjoin::pg::install_gpu_service(gpu);
  simjoin::set_interruption(simjoin::pg::statement_ends);
  simjoin::pg::Settings::define(simjoin::pg::shrink_input_cache);
  if (process_shared_preload_libraries_in_progress) simjoin::pg::request_shared_progress();
  simjoin::pg::install_query_hooks();
  simjoin::pg::install_join_hook();
  simjoin::pg::install_index_hook();
  simjoin::pg::install_nearest_rows_hook();
  simjoin::pg::install_statement_hooks();
  simjoin::pg::install_creation_hook();
}

PG_FUNCTION_INFO_V1(simjoin_version);
Datum simjoin_version(PG_FUNCTION_ARGS) {
  (void)fcinfo;
  PG_RETURN_TEXT_P(cstring_to_text(SIMJOIN_VERSION));
}
}
