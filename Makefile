# Builds, installs, tests and demonstrates simjoin. `make help` lists the targets.
#
# CMake builds the engine (src/core, src/gpu_service) into build/cmake. PGXS builds the PostgreSQL module (src/pg) into build/pg<version>
# and simjoin.so. PG_CONFIG chooses the PostgreSQL installation. The default is the newest one on this machine that
# extensions can be built for. CXX chooses the compiler, and WERROR=1 makes its warnings errors.

EXTENSION = simjoin
MODULE_big = simjoin
SIMJOIN_VERSION := $(shell sed -n "s/^default_version *= *'\([^']*\)'.*/\1/p" simjoin.control)
DATA = $(wildcard sql/simjoin--*.sql)

CMAKE ?= cmake
# A build with warnings as errors, as of `make check-all`, stays so. Nothing is then compiled again to install it.
WERROR ?= $(if $(shell grep -s SIMJOIN_WERROR:BOOL=ON build/cmake/CMakeCache.txt),1)
# DEBUG=1 builds for a debugger, with the checks of SIMJOIN_CHECK. That stays, too, until DEBUG= is given.
DEBUG ?= $(if $(shell grep -s SIMJOIN_DEBUG:BOOL=ON build/cmake/CMakeCache.txt),1)

# ---------------------------------------------------------------------------------------------------------
# Targets that are scripts. They run without PGXS, so that they also work on a machine without PostgreSQL.

SCRIPT_GOALS = help deps check check-all fresh-check docker-check citus-check upgrade-check demo equivalence hostile sanitize tsan memcheck bench gpucheck gpubench format \
  format-check tidy unit-tests core dist deb

ifneq ($(filter $(SCRIPT_GOALS),$(MAKECMDGOALS)),)

JOBS ?= $(shell nproc)

.PHONY: $(MAKECMDGOALS)

help:
	@sed -n 's/^#: //p' Makefile

#: make                build the engine and the PostgreSQL module; CUDA=off leaves the GPU engine out, DEBUG=1 adds checks
#: make deps           install missing packages for building and testing (apt, with sudo unless root)
#: make install        install into the PostgreSQL of PG_CONFIG
#: make installcheck   run the SQL tests against a running server with simjoin installed
#: make check          deps, build, and the tests that would find a broken product, in minutes; last line: N passed, N failed
#: make check-all      every test that needs no GPU, also with sanitizers, and with warnings as errors; before a change is committed
#: make fresh-check    demo and check on fresh Debian and Ubuntu systems, as root; FRESH='--help' lists the options
#: make docker-check   the steps of docs/docker/Dockerfile without Docker, as root
#: make equivalence    random queries with and without the join operator; CASES=10000 SEED=7 for others, CASE=12 for one
#: make hostile        random calls with the values and tables of a hostile role; CASES=20000 SEED=7 KIND=view CASE=12
#: make citus-check    the manual's page on Citus on three servers; CITUS_SOURCE names a source tree of Citus to build
#: make upgrade-check  pg_upgrade with databases that use simjoin; OLD_PG_CONFIG names the PostgreSQL to come from
#: make sanitize       the engine's tests with address and undefined-behaviour sanitizers; make tsan with ThreadSanitizer
#: make memcheck       the SQL tests and random queries with the server under valgrind
#: make demo           deps, build, near-duplicates of this machine's own texts in a temporary cluster
#: make bench          time every algorithm on generated collections; BENCH='--help' lists the options
#: make gpucheck       every test that needs a GPU, on a host with one; make gpubench times the GPU engine
#: make dist            the archive of a release for PGXN, build/simjoin-VERSION.zip
#: make deb             a Debian package for the PostgreSQL of PG_CONFIG, in build/deb
#: make unit-tests     build and run the engine's unit tests
#: make format         reformat the C++ sources; make format-check only compares
#: make tidy           run clang-tidy over the C++ sources
#: make clean          remove everything that was built
deps:
	@test/tools/deps clang-format-14

check:
	@test/tools/check

check-all:
	@test/tools/check all

fresh-check:
	@test/tools/fresh-check $(FRESH)

demo:
	@test/tools/demo

docker-check:
	@test/tools/docker-check

citus-check:
	@test/tools/citus-check

upgrade-check:
	@test/tools/upgrade-check $(OLD_PG_CONFIG)

equivalence:
	@test/tools/equivalence

hostile:
	@test/tools/hostile

sanitize:
	@test/tools/sanitize address

tsan:
	@test/tools/sanitize thread

memcheck:
	@test/tools/memcheck

bench:
	@test/tools/bench $(BENCH)

gpucheck:
	@test/tools/gpucheck

gpubench:
	@test/tools/gpubench

core:
	@test/tools/build-core simjoin_core

dist:
	@test/tools/dist

deb:
	@test/tools/deb

unit-tests:
	@test/tools/build-core all
	ctest --test-dir build/cmake --output-on-failure -j $(JOBS)

format:
	@test/tools/format

format-check:
	@test/tools/format --check

tidy:
	@test/tools/tidy

# Other targets on the same command line (as in `make deps install`) get a make of their own.
$(filter-out $(SCRIPT_GOALS),$(MAKECMDGOALS)):
	+$(MAKE) $@

else
# ---------------------------------------------------------------------------------------------------------
# The module, by PGXS.

override PG_CONFIG := $(shell PG_CONFIG='$(PG_CONFIG)' test/tools/find-pg-config)
ifeq ($(PG_CONFIG),)
$(error No PostgreSQL to build for was found. Run `make deps`, or set PG_CONFIG to the pg_config of an installation with its \
server development files)
endif
PGXS := $(shell $(PG_CONFIG) --pgxs)
# PGXS sets the compiler that PostgreSQL was built with. CXX of the environment has precedence.
ifeq ($(origin CXX),environment)
override CXX := $(CXX)
endif

PG_VERSION := $(shell $(PG_CONFIG) --version)
OBJECT_DIR := build/pg$(firstword $(subst ., ,$(word 2,$(PG_VERSION))))
CORE_LIBRARY = build/cmake/libsimjoin_core.a
CUDA_COMPILER := $(shell CUDA='$(CUDA)' test/tools/find-nvcc)
GPU_LIBRARY = $(if $(CUDA_COMPILER),build/cmake/cuda/libsimjoin_cuda.a)
# The files of a folder are compiled as one, which takes a quarter of the time. So names of unnamed namespaces are unique in a
# folder.
SOURCES := $(sort $(shell find src/pg -name '*.cpp'))
UNITS := $(sort $(patsubst src/pg/%/,%,$(filter-out src/pg/,$(dir $(SOURCES)))) $(basename $(notdir $(wildcard src/pg/*.cpp))))
OBJS = $(UNITS:%=$(OBJECT_DIR)/%.o)

# PostgreSQL's headers count as system headers, so that only our own code gives warnings.
PG_CPPFLAGS = -Isrc -isystem $(includedir_server) -DSIMJOIN_VERSION='"$(SIMJOIN_VERSION)"' \
  $(if $(CUDA_COMPILER),-DSIMJOIN_CUDA)
# A distribution's PGXS may ask for link-time optimisation, which needs the same compiler for linking.
# COPT is PGXS's variable for flags of one build. PGXS itself gives it to C only.
PG_CXXFLAGS = -std=c++20 -Wall -Wextra $(if $(WERROR),-Werror) $(if $(DEBUG),-Og -g -DSIMJOIN_CHECKS,-O2) -fno-lto $(COPT)
# cudart is linked statically, so that the module loads without CUDA.
SHLIB_LINK = -fno-lto $(GPU_LIBRARY) $(CORE_LIBRARY) -Wl,--exclude-libs,ALL -Wl,-Bsymbolic-functions -lhwy_contrib -lhwy -lutf8proc \
  $(if $(CUDA_COMPILER),$$(cat build/cmake/cuda/libraries) -ldl -lrt) -lstdc++ -lpthread -lm

# Bitcode would only help to inline the functions into JIT-compiled expressions.
override with_llvm = no

REGRESS = $(patsubst test/sql/%.sql,%,$(sort $(wildcard test/sql/*.sql)))
REGRESS_OPTS = --inputdir=test --outputdir=build/regress
REGRESS_PREP = regress-folders
ISOLATION = $(patsubst test/isolation/specs/%.spec,%,$(sort $(wildcard test/isolation/specs/*.spec)))
ISOLATION_OPTS = --inputdir=test/isolation --outputdir=build/isolation
EXTRA_CLEAN = build

include $(PGXS)

# pg_regress looks for expected/ below its output folder first.
.PHONY: regress-folders
regress-folders:
	mkdir -p build/regress build/isolation
	ln -sfn ../../expected build/regress/expected

$(OBJS): $(OBJECT_DIR)/%.o: $(OBJECT_DIR)/%.cpp $(OBJECT_DIR)/version
	$(COMPILE.cc) -MMD -MP -o $@ $<

# Includes the files of a folder, and changes if one comes or goes.
$(UNITS:%=$(OBJECT_DIR)/%.cpp): $(OBJECT_DIR)/%.cpp: FORCE
	@mkdir -p $(@D)
	@printf '#include "%s"\n' $(sort $(wildcard src/pg/$*/*.cpp src/pg/$*.cpp)) > $@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

# The file changes with the version of the server or the extension, and if CUDA, warnings as errors or checks are switched.
# Everything is then compiled again.
.PHONY: FORCE
BUILT_FOR = $(PG_VERSION) $(SIMJOIN_VERSION) $(CUDA_COMPILER) $(if $(WERROR),WERROR) $(if $(DEBUG),DEBUG)
$(OBJECT_DIR)/version: FORCE
	@mkdir -p $(OBJECT_DIR)
	@echo '$(BUILT_FOR)' | cmp -s - $@ || echo '$(BUILT_FOR)' > $@

# Names what simjoin.so was linked for.
build/linked-version: FORCE
	@mkdir -p build
	@echo '$(BUILT_FOR)' | cmp -s - $@ || echo '$(BUILT_FOR)' > $@

# CMake reports a compiler or Highway that is too old before anything is compiled.
BUILD_CORE = CMAKE='$(CMAKE)' CUDA='$(CUDA)' WERROR='$(WERROR)' DEBUG='$(DEBUG)' test/tools/build-core
.PHONY: configured
configured:
	@$(BUILD_CORE)

$(OBJS): | configured

$(CORE_LIBRARY): FORCE | configured
	@$(BUILD_CORE) simjoin_core $(if $(CUDA_COMPILER),simjoin_cuda)

# Made with it. The recipe lets make look at its time again.
$(GPU_LIBRARY): FORCE | $(CORE_LIBRARY)
	@:

$(MODULE_big)$(DLSUFFIX): $(CORE_LIBRARY) $(GPU_LIBRARY) build/linked-version

-include $(OBJS:.o=.d)

endif
