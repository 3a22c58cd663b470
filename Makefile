# Everything that people and CI do here. `make demo` and `make test` need Rust, git, Python 3 and a C compiler, nothing else.

CARGO ?= cargo
RUNNER := target/debug/runner
# Where other people's Python packages are installed, each set in an environment of its own.
PYTHONS := target/python
DEMO_SANDBOX ?= auto

# Real files of other tools, and where real instances are rebuilt: both lie outside of the checkout.
CONFORMANCE := $(or $(PATCHMILL_CONFORMANCE),../shared/conformance)
REAL ?= ../patchmill-real

.PHONY: demo record-demo images test bench bench-parsers labelled differential hub sdk-anthropic sdk-openai_responses soak check fmt lint docs deny

# Solves and grades the demo's issues with recorded replies, on the best sandbox of this machine, into runs/demo. In containers where
# `make images` has built the demo's images.
demo:
	$(CARGO) build --locked --package runner
	scripts/build-demo.sh
	rm -rf runs/demo
	images=; \
	if scripts/images/build.sh --built demo 2>/dev/null; then images='--image patchmill-demo:{instance_id}'; fi; \
	$(RUNNER) run --dataset datasets/demo.jsonl --model replay:trajectories/demo --out runs/demo --grade --fail-under 1 \
		--sandbox $(DEMO_SANDBOX) $$images

# Records the demo's trajectories again, after the agent's words changed. Look at the diff.
record-demo:
	$(MAKE) demo DEMO_SANDBOX=bubblewrap
	cp runs/demo/trajectories/*.json trajectories/demo/

# Container images for the demo and the tests, from Debian's packages; needs docker and mmdebstrap, and the network the first time. Then those of a few
# real instances, where rows of their dataset are at hand.
images:
	scripts/images/build.sh
	scripts/images/build.sh real

# All tests. Those in containers are skipped, loudly, where their images cannot be built.
test:
	-scripts/images/build.sh --missing
	@if $(CARGO) nextest --version >/dev/null 2>&1; \
	then $(CARGO) nextest run --locked --workspace; \
	else $(CARGO) test --locked --workspace; fi

# The runner's own cost against floors measured in the same run, and what sealing may cost. Fails where a bar is missed.
bench:
	$(CARGO) build --locked --release --package runner
	$(CARGO) build --locked --release --package sandbox --example round_trips
	python3 scripts/bench/bench.py
	$(CARGO) run --locked --release --package sandbox --example seal -- check
	python3 scripts/bench/grading.py
	python3 scripts/bench/rows.py
	$(MAKE) bench-parsers

# Our log parsers against the official ones and on big logs, and that none takes more than linear time. Needs the index of Python's packages, and
# real logs: PATCHMILL_CONFORMANCE names their directory.
bench-parsers: $(PYTHONS)/swebench/done
	$(CARGO) test --locked --release --package grade --test it linear
	$(CARGO) build --locked --release --package grade --examples
	$(PYTHONS)/swebench/bin/python scripts/bench/parsers.py $(if $(PATCHMILL_CONFORMANCE),--conformance $(PATCHMILL_CONFORMANCE))

# Grades predictions whose official verdict is known on rebuilt real instances, and compares. Needs the index of Python's packages; with
# LABELLED_PYTHON=3.11 only the instances for that version are taken.
labelled:
	$(CARGO) build --locked --package runner
	scripts/labelled-predictions.py --labelled $(CONFORMANCE)/predictions/labelled-by-official-harness.jsonl \
		--rows $(CONFORMANCE)/instances/swe-bench-lite-sample.jsonl --out $(REAL) $(if $(LABELLED_PYTHON),--python $(LABELLED_PYTHON))

# Asks the official packages for their answers to generated cases, compares ours, and keeps them for the tests.
differential:
	scripts/differential/run 2000 a $(PYTHONS)/differential

# The hub's real client on our fake of the hub, and its cache against ours.
hub: $(PYTHONS)/hub/done
	$(PYTHONS)/hub/bin/python scripts/check-hub.py

# A vendor's own client on our strict fake of its service, and the bodies of our requests against the client's types.
sdk-anthropic: $(PYTHONS)/anthropic/done
sdk-openai_responses: $(PYTHONS)/openai/done
sdk-anthropic sdk-openai_responses: sdk-%:
	rm -rf target/bodies/$*
	mkdir -p target/bodies/$*
	PATCHMILL_KEEP_BODIES=$(CURDIR)/target/bodies/$* $(CARGO) test --locked --quiet --package model --test it $*::
	$(CARGO) build --locked --package testkit --example strict_$*
	$(<D)/bin/python -P scripts/sdk/$*.py target/debug/examples/strict_$* target/bodies/$*

$(PYTHONS)/swebench/done: PACKAGES := swebench==5.0.2
$(PYTHONS)/hub/done: PACKAGES := huggingface_hub pyarrow
$(PYTHONS)/anthropic/done: PACKAGES := anthropic==2.14.0
$(PYTHONS)/openai/done: PACKAGES := openai==3.57.0
$(PYTHONS)/%/done:
	python3 -m venv $(@D)
	$(@D)/bin/pip install --quiet $(PACKAGES)
	touch $@

# 300 instances (SOAK_INSTANCES) in containers of an engine that misbehaves; needs root, dockerd, and `make images`. docs/soak.md says what came of it.
soak:
	$(CARGO) build --locked --release --package runner
	python3 scripts/soak/soak.py

# What CI checks before it tests.
check: fmt lint docs

fmt:
	$(CARGO) fmt --all --check

lint:
	$(CARGO) clippy --locked --workspace --all-targets -- --deny warnings

docs:
	RUSTDOCFLAGS="--deny warnings" $(CARGO) doc --locked --workspace --no-deps

# Licences, sources and banned crates; needs cargo-deny.
deny:
	$(CARGO) deny check bans licenses sources
