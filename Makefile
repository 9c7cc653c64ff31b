# Two commands on a fresh machine: `make demo` and `make test`. Both set up what they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
MADE := $(VENV)/.made
BUDGET ?= 3m

.PHONY: setup demo test test-slow bench lint golden clean

setup: $(MADE)

$(MADE): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[hf,data,track,fast,bench,harness,tasks,transfer,dev]"
	touch $(MADE)

demo: $(MADE)
	$(BIN)/foreword demo --budget $(BUDGET)

test: $(MADE)
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow" $(ARGS)

test-slow: $(MADE)
	$(BIN)/python -m pytest -m slow $(ARGS)

bench: $(MADE)
	$(BIN)/python benchmarks/run.py $(ARGS)

lint: $(MADE)
	$(BIN)/ruff check foreword tests benchmarks docs
	$(BIN)/mypy
	$(BIN)/lint-imports

clean:
	rm -rf $(VENV) runs
