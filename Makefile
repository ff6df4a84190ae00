# One interpreter decides: PYTHON=python3.12 make setup
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
DOCS   := $(VENV)/.docs-ready
SUPPLY := $(VENV)/.supply-ready
TESTS  ?= tests
APART  := rabbitmq or spark or browser or terminal or real_client or compose or slow or long

.DEFAULT_GOAL := help
# Nothing is installed but files with a hash in locks/, whatever a registry answers.
LOCKED := $(BIN)/python -m pip install --disable-pip-version-check --require-hashes --requirement
# One resolution for every system and every Python that we run on, with the versions of constraints.txt.
LOCK   := $(BIN)/uv pip compile --quiet --universal --python-version 3.11.5 --generate-hashes --no-header --no-annotate \
          --constraint constraints.txt
# The image of the emulator has every extra that a part of it can use.
EMULATOR := $(addprefix --extra=,messages avro topics metrics pages partiql fast compose)

.PHONY: help setup demo test test-slow test-long test-attack certificates check docs pictures dist sbom audit lock bench \
        mutants up down tui clean

help: ## this list
	@printf 'The RDSS sandbox\n\n'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-16s %s\n", $$1, $$2}'

setup: $(READY) ## make .venv with everything pinned, and a Java for Spark if there is none

$(READY): pyproject.toml locks/build.txt locks/dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make setup PYTHON=python3.12" >&2; exit 3; }
	@echo "setting up $(VENV): about a minute, once"
	@$(PYTHON) -m venv $(VENV)
	@$(LOCKED) locks/build.txt --quiet
	@{ $(LOCKED) locks/dev.txt --progress-bar on && touch $(VENV)/.installed; } \
	  | sed -un 's/^Collecting \([^ ]*\).*/  getting \1/p; s/^Installing collected.*/  installing/p'
	@rm $(VENV)/.installed
	@$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation --editable .
	@$(BIN)/sandbox --help >/dev/null
	@$(BIN)/python -m sandbox.pipeline.spark.java
	@touch $@

demo: $(READY) ## the main job end to end: messages, faults, a live reshard, Spark, a verdict
	@$(BIN)/sandbox demo $(ARGS)

# The tests start Python hundreds of times: its modules are compiled once, whatever the environment says.
test test-slow test-long test-attack: export PYTHONDONTWRITEBYTECODE :=

test: $(READY) ## what needs nothing but Python, in minutes: TESTS=tests/schemas for a part
	@$(BIN)/pytest -n auto --dist loadgroup -m "not ($(APART))" $(TESTS)

test-slow: $(READY) $(DOCS) ## the rest: RabbitMQ, Spark, browsers, other people's clients, the compose stack
	@$(BIN)/pytest -n auto --dist loadgroup -m "($(APART) or hypothesis) and not long" --ignore tests/attack $(TESTS)

test-long: $(READY) ## what takes an hour: every certificate, each extra alone, every attack
	@$(BIN)/pytest -n 2 -m long --ignore tests/attack $(TESTS)
	@$(BIN)/pytest -m long tests/attack

certificates: $(READY) ## certify other people's clients, and renew docs/certificates.md
	@$(BIN)/python -m tests.certificates $(ARGS)

test-attack: $(READY) ## a sandbox under attack, and how long its good clients wait: nothing beside it
	@$(BIN)/pytest -m "slow and not long" tests/attack

check: $(READY) ## ruff, mypy strict, the import contracts, the size bound
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python tests/file_sizes.py

$(DOCS): $(READY) locks/docs.txt
	@$(LOCKED) locks/docs.txt --quiet
	@touch $@

$(SUPPLY): $(READY) locks/supply.txt
	@$(LOCKED) locks/supply.txt --quiet
	@touch $@

docs: $(DOCS) ## the site of docs/, to be read without a network: site/index.html
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	@echo "site/index.html"

pictures: $(READY) ## the pictures of docs/, taken from a seeded sandbox
	@$(BIN)/python -m tests.docs.pictures

dist: $(READY) ## build the wheel and the sdist in dist/, and check them
	@rm -rf dist
	@$(BIN)/python -m build --no-isolation --outdir dist . >/dev/null
	@$(BIN)/twine check --strict dist/*

sbom: $(SUPPLY) ## what an installation with all extras has, in CycloneDX: dist/rdss-sandbox.cdx.json
	@mkdir -p dist
	@$(BIN)/cyclonedx-py requirements locks/all.txt --pyproject pyproject.toml --mc-type application \
	  --output-reproducible --output-file dist/rdss-sandbox.cdx.json

audit: $(SUPPLY) ## known advisories against what is locked: from the network, else from .ci/advisories.json
	@$(BIN)/python .ci/audit $(ARGS)

lock: $(SUPPLY) ## renew locks/ after a change of pyproject.toml or constraints.txt
	@printf 'pip\nhatchling\n' | $(LOCK) - --output-file locks/build.txt
	@$(LOCK) $(EMULATOR) pyproject.toml --output-file locks/emulator.txt
	@$(LOCK) $(EMULATOR) --extra tui pyproject.toml --output-file locks/tui.txt
	@$(LOCK) $(EMULATOR) --extra pipeline pyproject.toml --output-file locks/pipeline.txt
	@$(LOCK) --all-extras pyproject.toml --output-file locks/dev.txt
	@$(LOCK) --extra all pyproject.toml --output-file locks/all.txt
	@$(LOCK) --group docs --output-file locks/docs.txt
	@$(LOCK) --group supply --output-file locks/supply.txt

bench: $(READY) ## us and our peers side by side, with ratios: tests/bench/results.md
	@$(BIN)/python -m tests.bench $(ARGS)

mutants: $(READY) ## change the code, and see which tests notice: tests/mutants/README.md
	@$(BIN)/python -m tests.mutants $(ARGS)

up: $(READY) ## start the sandbox: UP="--profile compose" for another profile
	@$(BIN)/sandbox up $(UP)

down: $(READY) ## stop it
	@$(BIN)/sandbox down

tui: $(READY) ## look inside the running sandbox
	@$(BIN)/sandbox tui

clean: ## remove what was made here: the environment, caches, runs
	@rm -rf $(VENV) .jdk .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis runs dist site spark-warehouse
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
