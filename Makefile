# Thin on purpose: what these do is in CMakeLists.txt, CMakePresets.json and scripts/.
JOBS ?= $(shell nproc)
WERROR ?= OFF
FUZZ_SECONDS ?= 60
BENCH_ARGS ?=
SOAK_MINUTES ?= 10

build = cmake --preset $(1) -DWEFT_WERROR=$(WERROR) $(3) >/dev/null && cmake --build --preset $(1) -j$(JOBS) $(2)
TESTED = -DWEFT_TESTS=ON -DWEFT_BENCH=ON
UNTESTED = -DWEFT_TESTS=OFF -DWEFT_BENCH=OFF  # needs nothing that only tests need
CARD = weft weft-broker weft_ibverbs weft_rdmacm weft_sysfs weft-connections
# One test more than there are processors: programs wait for much of their time.
suite = ctest --preset $(1) -j$(shell expr $(JOBS) + 1) --no-label-summary

.PHONY: all bootstrap bootstrap-run run demo test interop asan tsan bench fuzz soak format tidy clean

all: bootstrap
	@$(call build,release,,$(TESTED))

bootstrap:
	@scripts/bootstrap

bootstrap-run:
	@scripts/bootstrap --run

# A newcomer's first minute: builds what programs need to run on the card, and runs some.
run: bootstrap-run
	@$(call build,release,--target $(CARD),$(UNTESTED))
	@scripts/first-minute

# Every verb between simulated hosts that lose packets.
demo: bootstrap-run
	@$(call build,release,--target weft,$(UNTESTED))
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

# Mixed programs while everything goes wrong. SOAK_SEED and SOAK_ROUND replay what failed. And tests that are too slow
# for the suite.
soak: bootstrap
	@$(call build,release,--target $(CARD) soak_check verbs_stress bottleneck,$(TESTED))
	@SOAK_MINUTES=$(SOAK_MINUTES) SOAK_SEED=$(SOAK_SEED) SOAK_ROUND=$(SOAK_ROUND) \
	  /usr/bin/python3 -B tests/soak/soak.py build
	$(if $(SOAK_ROUND),,@/usr/bin/python3 -B tests/report/calibration_test.py build/bin/weft --slow)
	$(if $(SOAK_ROUND),,@WEFT_LONG=1 /usr/bin/python3 -B tests/programs/bottleneck_test.py "$(CURDIR)/build" 98)

format: bootstrap
	@scripts/format

# With the commands of the debug build, where each file is compiled alone.
tidy: bootstrap
	@cmake --preset debug $(TESTED) >/dev/null
	@/usr/bin/python3 tests/tidy/tidy.py .
	@run-clang-tidy-14 -quiet -p build-debug -j $(JOBS) "^$(CURDIR)/(src|tests|bench)/" 2>/dev/null

clean:
	@rm -rf build build-debug build-asan build-tsan build-fuzz
