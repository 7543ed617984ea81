# For a first look: `make demo` shows it, `make build` builds it, `make test` tests it. All three install missing tools and
# print their names.
CARGO ?= cargo
# With --workspace, libraries have the same features as in the tests, and are built once for both.
DEBUG_BUILD = $(CARGO) build --workspace --locked --bin frontdesk

.PHONY: demo build dist static macos docs test test-without-fast-path features fuzz clients documents deploy-check containers helm drill promises browser apps sites readiness setup keys check bench compare

demo: setup keys
	$(CARGO) build --release --locked --bin frontdesk
	./target/release/frontdesk demo $(if $(LISTEN),--listen $(LISTEN)) $(if $(ADMIN),--admin $(ADMIN))

# Builds the binary target/release/frontdesk.
build:
	@deploy/setup cc
	$(CARGO) build --release --locked --bin frontdesk

# Makes a tarball, a Python wheel, an npm package, a Debian package and an SBOM in target/packages/out; installs, runs and
# checks each.
dist:
	@deploy/setup cc
	$(CARGO) build --profile dist --locked --bin frontdesk
	deploy/packages/build target/dist/frontdesk target/packages/out
	tests/packages/run target/packages/out

# The same with a static binary, for any Linux: in target/packages/x86_64-unknown-linux-musl and, run in an emulator,
# aarch64-unknown-linux-musl. PROFILE=release is built in half the time.
STATIC ?= x86_64-unknown-linux-musl aarch64-unknown-linux-musl
static: PROFILE ?= dist
static: export CARGO_PROFILE_DIST_STRIP = symbols
static: export CARGO_PROFILE_RELEASE_STRIP = symbols
static:
	@deploy/setup cc python3 curl qemu-aarch64-static
	@set -ex; for target in $(STATIC); do \
	  deploy/cross zigbuild $$target --profile $(PROFILE) --locked --bin frontdesk; \
	  tests/packages/static target/$$target/$(PROFILE)/frontdesk $$target; \
	  deploy/packages/build target/$$target/$(PROFILE)/frontdesk target/packages/$$target $$target; \
	  case $$target in $$(uname -m)-*) tests/packages/run target/packages/$$target ;; esac; \
	done

# Checks that everything compiles for macOS. It runs nothing: that needs a Mac.
macos:
	@deploy/setup python3
	deploy/cross check aarch64-apple-darwin --workspace --locked

# Builds the manual as a site with search, in target/docs/html; every link of it leads somewhere.
docs: target/tools/bin/mdbook
	@deploy/setup python3
	docs/site/build $< target/docs

target/tools/bin/mdbook:
	@deploy/setup cc
	$(CARGO) install mdbook --version 0.5.4 --locked --no-default-features --features search --root target/tools

# Many tests wait for a time limit or for another process, so more of them run at once than there are CPUs.
TESTS_AT_ONCE ?= $$(($$(getconf _NPROCESSORS_ONLN) * 3 / 2))

test: keys
	@deploy/setup cc openssl curl python3 redis-server faketime nginx apache2
	@if $(CARGO) nextest --version >/dev/null 2>&1; then \
	  set -x; $(CARGO) nextest run --workspace --locked --test-threads $(TESTS_AT_ONCE); \
	else \
	  set -x; $(CARGO) test --workspace --locked; \
	fi

# The same tests with every request through pingora: what passes there must not need the fast path.
test-without-fast-path:
	FRONTDESK_TEST_FAST_PATH=off $(MAKE) test

# Builds with each of the optional parts left out, and with all of them left out.
features: setup
	CARGO=$(CARGO) .ci/features test

# Fuzzes what strangers and operators send: each target for SECONDS (60). The first build takes minutes.
fuzz: setup
	CARGO=$(CARGO) tests/fuzz/run $(or $(SECONDS),60)

# Clients that others wrote, against the demo; they come from PyPI and npm.
clients: setup keys
	$(DEBUG_BUILD)
	tests/clients/run ./target/debug/frontdesk

# Imports the largest API documents that npm has, and random ones, and calls what they describe. Once more with another
# seed: make documents SEED=2.
documents: setup keys
	$(DEBUG_BUILD)
	tests/clients/documents/run ./target/debug/frontdesk $(SEED)

# Checks deploy/ with the Kubernetes schemas, promtool, systemd-analyze, and a linter of container files.
deploy-check: setup keys
	$(DEBUG_BUILD)
	tests/deploy/run ./target/debug/frontdesk

# Builds the image and runs it: confined, as a sidecar's pod, as two replicas with a Redis, with the compose file. Needs root.
containers: setup
	@deploy/setup podman
	$(DEBUG_BUILD)
	tests/containers/run ./target/debug/frontdesk

# Lints the Helm charts, renders them with several values, and checks what comes out.
helm: setup
	$(DEBUG_BUILD)
	tests/helm/run ./target/debug/frontdesk

# Starts, reconfigures and drains real processes under load, beside a site that restarts and dies.
drill: setup
	$(DEBUG_BUILD)
	tests/drill/run ./target/debug/frontdesk

# Checks that nothing is bought twice, with replicas, a failing store and wrong clocks. More options: see the script's head.
promises: setup
	@deploy/setup redis-server faketime
	$(DEBUG_BUILD)
	tests/drill/promises ./target/debug/frontdesk --keys 1000 --seconds 30
	tests/drill/promises ./target/debug/frontdesk --keys 1000 --seconds 30 --store sentinel

# Tests pages of React, Vue and Svelte, and the operator's page, in a headless Chromium; leaves pictures in target/browser.
browser: setup keys
	@deploy/setup chromium
	$(DEBUG_BUILD)
	tests/browser/run ./target/debug/frontdesk

# Calls unmodified software without a REST API: sites by their forms, GraphQL, SOAP, XML-RPC, JSON-RPC; and sends forms as
# Chromium does. SITES=django for one of them.
sites: setup
	@deploy/setup chromium node npm php
	$(DEBUG_BUILD)
	tests/sites/run ./target/debug/frontdesk $(SITES)

# Compares real applications directly and through Frontdesk, in a headless Chromium: nothing may differ.
apps: setup
	@deploy/setup chromium node npm nginx php
	$(CARGO) build --release --locked --bin frontdesk
	tests/apps/run ./target/release/frontdesk $(APPS)

# How ready sites are for agents, directly and through Frontdesk: a table of levels and checks.
readiness: setup
	@deploy/setup node npm nginx php
	$(CARGO) build --release --locked --bin frontdesk
	tests/readiness/run ./target/release/frontdesk $(SITES)

# Checks the format, lints, that the fuzzers compile, docs, and every file in conf/.
check: setup keys
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) check --locked --manifest-path tests/fuzz/Cargo.toml --target-dir target
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --document-private-items --locked
	$(DEBUG_BUILD)
	@for file in conf/*.toml; do ./target/debug/frontdesk check "$$file" || exit 1; done

bench: setup
	$(CARGO) bench --workspace --locked

# Compares with nginx, HAProxy, Envoy, Caddy and Traefik: twenty minutes on a quiet machine; writes benches/RESULTS.md.
compare: setup
	$(CARGO) build --profile dist --locked --bin frontdesk
	benches/compare target/dist/frontdesk

setup:
	@deploy/setup

keys:
	@deploy/keys conf/keys
