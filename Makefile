# Two commands on a fresh machine: `make demo` and `make test`. Both set up what they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.core
ALL := $(VENV)/.all
EXTRAS := hf,data,corpus,track,fast,bench,harness,tasks,cluster,transfer,kenlm,serve,dev
# errors are shown; warnings about package indexes that do not answer are not
INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt --editable
BUDGET ?= 3m
WORKERS ?= 2
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

.PHONY: setup demo test test-all test-slow bench table lint clean

setup: $(ALL)

$(CORE): pyproject.toml constraints.txt
	@echo "Setting up $(VENV) for the demo: PyTorch and the packages it needs. About 250 MB to download, 1.2 GB on disk, one to five minutes."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(INSTALL) .
	@touch $@

$(ALL): $(CORE)
	@echo "Adding what the tests need: transformers, datasets, lm-eval, the linters. About 250 MB to download, 1 GB on disk, one to five minutes."
	@$(INSTALL) ".[$(EXTRAS)]"
	@touch $@

demo: $(CORE)
	$(BIN)/foreword demo --budget $(BUDGET)

# minutes: every part, every promise over every recipe, the shape of the code
test: $(ALL)
	$(PYTEST) -m "not thorough and not slow" tests/unit tests/contracts tests/architecture $(ARGS)

# and then the rest: other programs' numbers, every command, every page of the docs, floods of parameters
test-all: test
	$(PYTEST) -m "thorough and not slow" $(ARGS)

test-slow: $(ALL)
	$(BIN)/python -m pytest -m slow $(ARGS)

bench: $(ALL)
	$(BIN)/python benchmarks/run.py $(ARGS)

# trains every system for three minutes (about an hour in all) and writes the README's table
table: $(CORE)
	$(BIN)/python benchmarks/table.py $(ARGS)

lint: $(ALL)
	$(BIN)/ruff format --check -q foreword tests benchmarks docs
	$(BIN)/ruff check foreword tests benchmarks docs
	$(BIN)/mypy
	$(BIN)/lint-imports

clean:
	rm -rf $(VENV) runs
