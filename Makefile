# SPDX-License-Identifier: Apache-2.0
# The short names of what there is to do; meson does the building.
#   make            build into build/
#   make demo       build, and show RDMA between two processes
#   make test       everything that is checked automatically; the last line says how much passed
#   make install    PREFIX=/usr/local DESTDIR=
#   make bench      measure beside plain UDP sockets
#   make fuzz        FUZZ_SECONDS=60: look for inputs that break parsers and engine
#   make soak        SOAK_SECONDS=60: the simulation with ever new seeds
#   make mutants     puts bugs into the engine and checks that the tests notice
#   make interop    against the kernel's driver and real adapters, where there are any
#   make format     lay out the C files
#   make clean      remove the build directories

PREFIX ?= /usr/local
DESTDIR ?=
MESON ?= meson
NINJA ?= ninja
FUZZ_SECONDS ?= 60
SOAK_SECONDS ?= 60

.PHONY: all build demo test install bench fuzz soak mutants interop format clean

all: build

build/build.ninja:
	@command -v $(MESON) >/dev/null || { echo "make: meson is not installed; tools/install-deps build installs what is needed" >&2; exit 1; }
	$(MESON) setup build

build: build/build.ninja
	$(NINJA) -C build

demo:
	tools/install-deps build
	$(MAKE) --no-print-directory build
	tools/demo build

test:
	@tools/install-deps test
	@exec tools/test

# A build directory of its own: the prefix is compiled in, and root may install what somebody else built.
install:
	@command -v $(MESON) >/dev/null || { echo "make: meson is not installed; tools/install-deps build installs what is needed" >&2; exit 1; }
	@if [ -f build-install/build.ninja ]; then $(MESON) configure build-install --prefix "$(abspath $(PREFIX))"; \
	else $(MESON) setup build-install --prefix "$(abspath $(PREFIX))" -Dtests=false; fi
	$(NINJA) -C build-install
	DESTDIR="$(DESTDIR)" $(MESON) install -C build-install --no-rebuild

bench: build
	bench/compare build

fuzz:
	tools/fuzz $(FUZZ_SECONDS)

soak: build
	tools/soak $(SOAK_SECONDS) build

mutants:
	tests/mutants/run

interop: build
	@if [ -x tests/interop/run ]; then exec tests/interop/run build; \
	else echo "make: there are no interoperability tests here yet (tests/interop/run)" >&2; exit 1; fi

format:
	clang-format -i $$(tools/check-format --list)

clean:
	rm -rf build build-test build-clang build-asan build-tsan build-fuzz build-install
