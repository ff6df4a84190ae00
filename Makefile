# One interpreter decides: PYTHON=python3.12 make setup
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
DOCS   := $(VENV)/.docs-ready
TESTS  ?= tests
EXTRAS := all
APART  := rabbitmq or spark or browser or terminal or real_client or compose or slow or long

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-slow test-long test-attack certificates check docs pictures dist bench up down tui clean

help: ## this list
	@printf 'The RDSS sandbox\n\n'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-16s %s\n", $$1, $$2}'

setup: $(READY) ## make .venv with everything pinned, and a Java for Spark if there is none

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make setup PYTHON=python3.12" >&2; exit 3; }
	@echo "setting up $(VENV): about a minute, once"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --disable-pip-version-check --quiet --progress-bar on --upgrade pip
	@$(BIN)/python -m pip install --disable-pip-version-check --progress-bar on --constraint constraints.txt --editable '.[$(EXTRAS),dev]' \
	  | sed -un 's/^Collecting \([^ ]*\).*/  getting \1/p; s/^Installing collected.*/  installing/p'
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
	@$(BIN)/pytest -n auto --dist loadgroup -m "($(APART)) and not long" --ignore tests/attack $(TESTS)

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

$(DOCS): $(READY)
	@$(BIN)/python -m pip install --disable-pip-version-check --quiet --constraint constraints.txt --group docs
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

bench: $(READY) ## us and our peers side by side, with ratios: tests/bench/results.md
	@$(BIN)/python -m tests.bench $(ARGS)

up: $(READY) ## start the sandbox: UP="--profile compose" for another profile
	@$(BIN)/sandbox up $(UP)

down: $(READY) ## stop it
	@$(BIN)/sandbox down

tui: $(READY) ## look inside the running sandbox
	@$(BIN)/sandbox tui

clean: ## remove what was made here: the environment, caches, runs
	@rm -rf $(VENV) .jdk .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis runs dist site spark-warehouse
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
