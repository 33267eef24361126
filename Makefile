# Thin on purpose: what these do is in CMakeLists.txt, CMakePresets.json and scripts/.
JOBS ?= $(shell nproc)
WERROR ?= OFF
FUZZ_SECONDS ?= 60
BENCH_ARGS ?=

build = cmake --preset $(1) -DWEFT_WERROR=$(WERROR) >/dev/null && cmake --build --preset $(1) -j$(JOBS) $(2)
CARD = weft weft-broker weft_ibverbs weft_rdmacm weft_sysfs weft-connections
suite = ctest --preset $(1) -j$(JOBS) --no-label-summary

.PHONY: all bootstrap run demo test interop asan tsan bench fuzz format tidy clean

all: bootstrap
	@$(call build,release)

bootstrap:
	@scripts/bootstrap

# A newcomer's first minute: builds what programs need to run on the card, and runs some.
run: bootstrap
	@$(call build,release,--target $(CARD))
	@scripts/first-minute

# Every verb between simulated hosts that lose packets.
demo: bootstrap
	@$(call build,release,--target weft)
	@build/bin/weft demo

test: all
	@$(call suite,release)

# Weft and Soft-RoCE of the Linux kernel, in an emulated machine; a part of `make test`.
interop: all
	@$(call suite,release) -V -L interop

asan tsan: bootstrap
	@$(call build,$@)
	@$(call suite,$@)

bench: all
	@set -e; for program in build/bench/*; do echo "$$program $(BENCH_ARGS)"; "$$program" $(BENCH_ARGS); done

fuzz: bootstrap
	@$(call build,fuzz)
	@scripts/fuzz $(FUZZ_SECONDS)

format: bootstrap
	@scripts/format

tidy: all
	@/usr/bin/python3 tests/tidy/tidy.py .
	@run-clang-tidy-14 -quiet -p build -j $(JOBS) "^$(CURDIR)/(src|tests|bench)/" 2>/dev/null

clean:
	@rm -rf build build-debug build-asan build-tsan build-fuzz
