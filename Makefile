# SPDX-License-Identifier: GPL-2.0
#
# What a person types.  The module's own build is in Kbuild, the work in
# scripts/; `make help` lists the targets.

SHELL		:= /bin/bash
.SHELLFLAGS	:= -euo pipefail -c
MAKEFLAGS	+= --no-print-directory

release_of	= $(shell cat $(1)/include/config/kernel.release 2>/dev/null)
DEBIAN_RELEASE	:= $(shell . scripts/versions && echo $$LINUX_RELEASE)
RELEASE		:= $(if $(KDIR),$(call release_of,$(KDIR)),$(DEBIAN_RELEASE))
KO		:= build/$(RELEASE)/shverbs.ko

# The models of HCAs that run-hca and shell-hca plug in, with commas between.
HCA		?= mthca

# Scripts keep their own time from the start of make.
export SHVERBS_T0 := $(shell date +%s)

MODULES_DIR	:= $(DESTDIR)/lib/modules/$(RELEASE)/updates
MODPROBE_DIR	:= $(DESTDIR)/etc/modprobe.d

.PHONY: all
all: module

##@ Building

.PHONY: module
module: ## build/RELEASE/shverbs.ko (the default); KDIR=TREE takes that prepared kernel tree
ifdef KDIR
	$(if $(RELEASE),,$(error $(KDIR) is not a prepared kernel tree))
	@mkdir -p build/$(RELEASE)
	$(MAKE) -C $(KDIR) M=$(CURDIR) MO=$(CURDIR)/build/$(RELEASE) modules
else
	@scripts/build-module stock
endif
	@echo "$(KO)"

.PHONY: module-debug
module-debug: ## the module for the debug kernel
	@scripts/build-module debug

.PHONY: debug-kernel
debug-kernel: ## the kernel with KASAN, lockdep, kmemleak, fault injection (12 minutes or more)
	@scripts/kernel-image debug

.PHONY: tests
tests: ## the programs of the tests
	@scripts/build-tests

##@ Running

.PHONY: run
run: ## build, boot Debian's kernel, and show the main job
	@scripts/demo

.PHONY: shell
shell: ## a root shell in the guest, with rxe0 and the module
	@scripts/build-module stock
	@scripts/build-tests
	@scripts/guest --shell --timeout 0

.PHONY: run-hca shell-hca
run-hca: ## one guest with models of HCAs beside rxe0: what is there, and pings on each
	@scripts/build-module stock
	@scripts/guest --hca $(HCA) --mem 1G --timeout 200 -- show-hca $(HCA)
shell-hca: ## a root shell in such a guest; load-hca and hca-control are at hand
	@scripts/build-module stock
	@scripts/build-tests
	@scripts/guest --hca $(HCA) --mem 1G --shell --timeout 0

.PHONY: test
test: ## the whole suite; its last line is "N passed, N failed"
	@scripts/run-tests all

.PHONY: quick
quick: ## the kselftests on Debian's kernel only
	@scripts/run-tests kselftest

.PHONY: kselftest pyverbs parity selftest debug hca
kselftest: ## tests/kselftest, with abi_* on ib_uverbs, too
	@scripts/run-tests kselftest
parity: ## tests/kselftest/abi_*, on ib_uverbs and on shverbs
	@scripts/run-tests parity
pyverbs: ## rdma-core's own tests, on ib_uverbs and on shverbs
	@scripts/run-tests pyverbs
hca: ## tests/hca on models of HCAs, on ib_uverbs and on shverbs
	@scripts/run-tests hca
debug: ## the kselftests and the KUnit suites on the debug kernel
	@scripts/run-tests debug
selftest: ## of the bench: does it notice hangs, panics and splats?
	@scripts/run-tests selftest

##@ Measuring

.PHONY: bench
bench: ## instructions of each verb, on ib_uverbs and on shverbs, and of sharing
	@scripts/bench

.PHONY: bench-plot
bench-plot: ## Documentation/performance.svg of what make bench measured last
	@scripts/bench-plot

.PHONY: bench-profile
bench-profile: ## instructions of each function, on both
	@scripts/bench-profile

##@ Installing

.PHONY: install
install: ## the module for RELEASE and the modprobe rule; DESTDIR is honoured
	@[ -e $(KO) ] || { echo "no $(KO): run make first"; exit 1; }
	@[ -n "$(DESTDIR)" ] || command -v depmod >/dev/null || { echo "no depmod here: install kmod first"; exit 1; }
	install -D -m 644 $(KO) $(MODULES_DIR)/shverbs.ko
	install -D -m 644 scripts/shverbs.conf $(MODPROBE_DIR)/shverbs.conf
	$(if $(DESTDIR),,depmod $(RELEASE))

.PHONY: uninstall
uninstall: ## undo that
	rm -f $(MODULES_DIR)/shverbs.ko $(MODPROBE_DIR)/shverbs.conf
	$(if $(DESTDIR),,depmod $(RELEASE))

##@ Keeping house

.PHONY: fmt
fmt: ## rustfmt on all Rust sources
	@scripts/fmt

.PHONY: clippy
clippy: ## clippy on the module; a warning fails
	@scripts/clippy

.PHONY: lint
lint: ## shellcheck on all shell scripts, and whether what is generated is up to date
	@scripts/lint

.PHONY: coverage-abi abi-table
coverage-abi: ## implemented/total of ib_uverbs's commands and methods; fails if any is missing
	@scripts/in-root python3 scripts/coverage-abi "$$(scripts/kernel-tree stock)"
abi-table: ## Documentation/abi.md
	@scripts/in-root python3 scripts/coverage-abi "$$(scripts/kernel-tree stock)" --write

.PHONY: clean
clean: ## remove build/
	rm -rf build

.PHONY: distclean
distclean: clean ## remove the caches outside of the checkout, too
	@scripts/clean-cache

.PHONY: help
help: ## this
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@/ { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' Makefile
