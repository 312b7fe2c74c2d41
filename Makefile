# Everything a newcomer needs: `make demo`, `make test`. Needs Python 3.10+, a C++20 compiler, cmake and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
# Warnings are errors in continuous integration only: a newcomer's compiler may know more of them than ours.
WERROR := $(if $(CI),ON,OFF)
NATIVE := $(shell find core bindings CMakeLists.txt -type f)

.DEFAULT_GOAL := help
.PHONY: help setup demo test neural lint unit alone cpp sanitize soundness bench clean

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

setup: $(VENV)/.installed  ## create .venv and install Misstep into it

$(VENV)/.tools: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.10 or newer is needed, this is " + sys.version) if sys.version_info < (3, 10) else None'
	@command -v cmake >/dev/null || { echo "cmake is needed (version 3.25 or newer)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check 'scikit-build-core>=0.11' 'nanobind>=3.1,<4'
	@touch $@

# The extension is built in build/, so that a second build compiles only what changed.
$(VENV)/.installed: $(VENV)/.tools $(NATIVE)
	$(BIN)/pip install --quiet --disable-pip-version-check --no-build-isolation \
	    --config-settings=cmake.define.MISSTEP_WERROR=$(WERROR) --editable '.[dev]'
	@touch $@

demo: setup  ## test a trained network that comes with Misstep, explain what was found
	@PATH="$(CURDIR)/$(BIN):$$PATH" bash examples/demo.sh

test: setup lint alone cpp unit  ## all tests

neural: setup  ## install PyTorch and run the tests that need it
	$(BIN)/pip install --quiet --disable-pip-version-check torch==2.13.0 safetensors
	$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal tests/policies tests/training tests/cli/test_training.py

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@find core bindings tests/core/cpp -name '*.h' -o -name '*.cpp' | xargs $(BIN)/clang-format --dry-run --Werror
	$(BIN)/mypy

unit: setup
	$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal

alone:  ## build each core library alone, so that an undeclared dependency fails to link
	@cmake -S . -B build/alone -DMISSTEP_BINDINGS=OFF -DMISSTEP_ALONE=ON -DMISSTEP_TESTS=ON -DMISSTEP_WERROR=$(WERROR) >/dev/null
	@cmake --build build/alone --parallel $(JOBS) >/dev/null && echo "each core library builds alone"

cpp: alone  ## the tests of the core libraries, in C++
	@ctest --test-dir build/alone --parallel $(JOBS) --output-on-failure

sanitize: $(VENV)/.tools  ## the tests with address and undefined-behaviour sanitizers
	bash tests/sanitize.sh $(BIN)

soundness: setup  ## the large campaigns against exhaustive ground truth
	$(BIN)/python -m pytest -q -n $(JOBS) -m soundness

bench: setup  ## the benchmarks, with the peers they are compared with
	$(BIN)/pip install --quiet --disable-pip-version-check --no-build-isolation --editable '.[bench]' torch==2.13.0
	$(BIN)/python -m benchmarks.all

clean:  ## remove what was built
	rm -rf $(VENV) build dist demo-out .mypy_cache .ruff_cache .pytest_cache .hypothesis
