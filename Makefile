# The targets for development. All output is in build/. `make` without a target installs what is missing and builds the command and the package.

BUILD := build
PYTHON := $(BUILD)/venv/bin/python
JOBS ?= $(shell nproc)
TEST_FLAGS ?=

# Objects are found again in the cache from any checkout.
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := true
export PYTHONPATH := $(CURDIR)/$(BUILD)/python

.PHONY: all setup demo check test bench release wheel wheel-test docs asan tsan coverage format clean help

all: setup
	@test -f $(BUILD)/build.ninja || cmake --preset dev -DPython_EXECUTABLE=$(CURDIR)/$(PYTHON) >$(BUILD)/configure.log 2>&1 \
	  || { cat $(BUILD)/configure.log; rm -f $(BUILD)/build.ninja; exit 1; }
	@ninja -C $(BUILD) -j $(JOBS) $(NINJA_FLAGS)

setup:
	@tools/setup.sh

demo: all
	@$(PYTHON) -m tilewright examples/run_all.py

# A sample of the tests, in a few minutes: unit tests, lit with all error messages, and a fifth of tests/run, each case on one engine.
check: all
	@$(PYTHON) tools/run_tests.py --build $(BUILD) --only unit lit run --sample 20 $(TEST_FLAGS)

# The last line is "N passed, N failed, N skipped".
test: all
	@$(PYTHON) tools/run_tests.py --build $(BUILD) $(TEST_FLAGS)

bench: all
	@$(PYTHON) benchmarks/bench.py $(BENCH_FLAGS)

# Links LLVM statically. The result needs only the C and C++ libraries.
release: setup
	@cmake --preset release -DPython_EXECUTABLE=$(CURDIR)/$(PYTHON)
	@ninja -C $(BUILD)/release -j $(JOBS)
	@$(PYTHON) tools/size.py $(BUILD)/release

# Builds dist/*.whl for each Python version and checks each against the tags in its name.
wheel: setup
	@python3 tools/wheel.py --jobs $(JOBS) $(WHEEL_FLAGS)

# Installs the wheels into fresh environments and runs tests/wheel there. The last line is "N passed, N failed".
wheel-test:
	@python3 tools/wheel_test.py $(WHEEL_TEST_FLAGS)

# Builds the site in English and Chinese. The first call creates a virtual environment for its tools.
docs: all
	@test -x $(BUILD)/site-venv/bin/mkdocs && cmp -s tools/site_requirements.txt $(BUILD)/site-venv/stamp || { \
	  python3 -m venv $(BUILD)/site-venv && $(BUILD)/site-venv/bin/pip install --quiet --disable-pip-version-check -r tools/site_requirements.txt && \
	  cp tools/site_requirements.txt $(BUILD)/site-venv/stamp; }
	@$(PYTHON) tools/site.py --build $(BUILD)
	@NO_MKDOCS_2_WARNING=1 $(BUILD)/site-venv/bin/mkdocs build --quiet --strict
	@echo 'build/site/index.html'

# LLVM and compiled kernels are not instrumented. Memory that LLVM allocates and Tilewright frees is not checked.
asan: export ASAN_OPTIONS := alloc_dealloc_mismatch=0:allocator_may_return_null=1:detect_container_overflow=0:allow_user_poisoning=0:detect_leaks=0
asan: export UBSAN_OPTIONS := halt_on_error=1:print_stacktrace=1
asan: setup
	@cmake --preset asan
	@ninja -C $(BUILD)/asan -j $(JOBS)
	@$(PYTHON) tools/run_tests.py --build $(BUILD)/asan --only unit lit

# Launches and compiles from eight threads, and the HTTP service of the examples for a minute. LLVM and compiled kernels are not instrumented. No report is suppressed.
tsan: export TSAN_OPTIONS := ignore_noninstrumented_modules=1:history_size=4:allocator_may_return_null=1:die_after_fork=0
tsan: setup
	@cmake --preset tsan
	@ninja -C $(BUILD)/tsan -j $(JOBS) threads_test engine_threads_test runtime_test embed_api_test example_service
	@ctest --test-dir $(BUILD)/tsan --output-on-failure -R 'threads_test|runtime_test|embed_api_test'
	@$(BUILD)/tsan/bin/example_service examples/service/attention.py --load 60

# Measures the coverage of each folder by the tests of `make check`. Fails below the floors in tests/coverage.json.
coverage: setup
	@cmake --preset coverage -DPython_EXECUTABLE=$(CURDIR)/$(PYTHON)
	@ninja -C $(BUILD)/coverage -j $(JOBS)
	@$(PYTHON) tools/coverage.py --build $(BUILD)/coverage $(COVERAGE_FLAGS)

format: setup
	@git ls-files -co --exclude-standard -- '*.cpp' '*.h' | xargs -r clang-format-22 -i

help:
	@echo 'make            set the machine up, build the command and the Python package'
	@echo 'make demo       run every example and print a table'
	@echo 'make check      run a sample of the tests, in a few minutes'
	@echo 'make test       run all tests              (TEST_FLAGS="--only unit lit")'
	@echo 'make bench      compare with rivals         (BENCH_FLAGS="--only gemm" or "--sweep")'
	@echo 'make release    build self-contained, print the sizes'
	@echo 'make wheel      build dist/*.whl            (WHEEL_FLAGS="--python 3.12")'
	@echo 'make wheel-test install and test them       (WHEEL_TEST_FLAGS="--only 3.12-numpy2")'
	@echo 'make docs       build the site into build/site'
	@echo 'make asan       build and test with the address and undefined-behavior sanitizers'
	@echo 'make tsan       build and test launches and compilation from eight threads with the thread sanitizer'
	@echo 'make coverage   report what the tests of make check execute, by folder'
	@echo 'make format     format the C++ sources'
	@echo 'make clean      remove what was built'

# Keeps the virtual environment, which does not depend on the sources.
clean:
	@find $(BUILD) -mindepth 1 -maxdepth 1 ! -name venv -exec rm -rf {} +
