# A newcomer only needs `make demo` and `make test`. They need Python 3.10+, a C++20 compiler and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
# Warnings are errors in continuous integration only: a newcomer's compiler may know more of them than ours.
WERROR := $(if $(CI),ON,OFF)
NATIVE := $(shell find core bindings CMakeLists.txt -type f)
# cmake and ninja come from the package registry where the machine has none, or a cmake that is too old.
OWN_CMAKE := $(shell cmake --version 2>/dev/null | awk 'NR == 1 { split($$3, v, "."); if (v[1] * 100 + v[2] >= 325) print "yes" }')
TOOLS := $(if $(OWN_CMAKE),,'cmake>=3.25') $(if $(shell command -v ninja),,ninja)
CMAKE := $(if $(OWN_CMAKE),cmake,$(BIN)/cmake)
CTEST := $(if $(OWN_CMAKE),ctest,$(BIN)/ctest)
# Packages are installed by the pip of the machine if it can install into another environment (22.3 or newer), since a
# pip in .venv takes five seconds to set up. Python files are compiled when they are first imported, because most never are.
OWN_PIP = $(shell $(PYTHON) -c 'import pip, sys; sys.exit(tuple(map(int, pip.__version__.split(".")[:2])) < (22, 3))' 2>/dev/null && echo yes)
PIP = $(if $(OWN_PIP),$(PYTHON) -m pip --python $(VENV),$(BIN)/pip) --disable-pip-version-check
PIP_INSTALL = $(PIP) install --quiet --no-compile

.DEFAULT_GOAL := help
.PHONY: help setup demo docs wheel wheel-test release-check test neural originals browser lint unit alone cpp sanitize soundness fuzz fuzz-native storm storm-cluster bench clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

setup: $(VENV)/.developer  ## create .venv and install Misstep into it, with what the tests need

$(VENV)/.tools: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.10 or newer is needed, this is " + sys.version) if sys.version_info < (3, 10) else None'
	$(PYTHON) -m venv $(if $(OWN_PIP),--without-pip )$(VENV)
	$(PIP_INSTALL) $(if $(OWN_PIP),pip) 'scikit-build-core>=0.11' 'nanobind>=3.1,<4' $(TOOLS)
	@touch $@

# The extension is built in build/, so that a second build compiles only what changed.
INSTALL = $(PIP_INSTALL) --no-build-isolation --config-settings=cmake.define.MISSTEP_WERROR=$(WERROR)

$(VENV)/.installed: $(VENV)/.tools $(NATIVE)
	$(INSTALL) --editable .
	@touch $@

$(VENV)/.developer: $(VENV)/.tools $(NATIVE)
	$(INSTALL) --editable '.[dev]'
	@touch $(VENV)/.installed $@

demo: $(VENV)/.installed  ## test a trained network that comes with Misstep, explain what was found
	@PATH="$(CURDIR)/$(BIN):$$PATH" bash examples/demo.sh

test: setup lint alone cpp unit  ## all tests

# The tests that are skipped without PyTorch, and tests of code that they share.
NEURAL := $(addprefix tests/policies/,asnet gnn rgnn networks sb3 service/test_networks.py test_torch_archive.py test_zoo.py) \
    $(addprefix tests/cli/,test_repeats.py test_training.py test_train_loop.py test_train_qlearning.py) tests/training \
    $(addprefix tests/experiments/,test_bug_lessons.py test_studies.py test_trainings.py) tests/quality/test_zoo.py \
    tests/attack/test_decoding.py tests/attack/test_teachers.py tests/cli/test_experiment.py::test_trainings_at_the_scale_smoke \
    $(foreach page,how-to/pytorch training tutorials/pytorch-policy,'tests/docs/test_code_blocks.py::test_code_runs_as_it_is_written[docs/$(page).md]') \
    $(foreach page,how-to/pytorch safety-training tutorials/train-select-retest,'tests/docs/test_commands.py::test_commands_work_as_they_are_typed[docs/$(page).md]')

neural: setup  ## install PyTorch and run the tests that need it
	$(PIP_INSTALL) torch==2.13.0 safetensors
	$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal $(NEURAL)

# The tests that compare with other programs, whose files, models and environments Misstep takes.
ORIGINALS := $(addprefix tests/,checking/test_jani_prism.py reports/test_ci_reports.py \
    safety/test_label_policies.py safety/test_risk_storm.py safety/test_sb3_example.py tasks/test_gym.py) \
    $(addprefix tests/tasks/,jani/test_gym.py jani/test_momba.py models/test_momba.py) \
    $(addprefix tests/policies/,gnn/test_kernels.py networks/test_foreign_trees.py networks/test_onnx.py \
    remote/test_wire.py sb3 sketch/test_dlplan.py wl/test_wlplan.py) \
    $(foreach test,damaged_files what_is_not_damaged_is_read,'tests/attack/test_fuzz.py::test_$(test)[onnx]')

originals: setup  ## install the programs whose files Misstep reads and run the tests that compare with them
	$(PIP_INSTALL) torch==2.13.0
	$(INSTALL) --editable '.[originals]'
	$(PIP_INSTALL) --no-deps dlplan==0.3.29
	$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal $(ORIGINALS)

browser: setup build/axe/axe.min.js  ## drive the report in a headless Chromium; root gets one if there is none
	@PYTHONPATH=tests $(BIN)/python -m support.chromium || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || \
	    { export DEBIAN_FRONTEND=noninteractive; \
	      $(call within,600) apt-get update -qq && $(call within,600) apt-get install -y -qq chromium >/dev/null; } || \
	    echo "no Chromium could be installed, so that the tests are skipped"
	$(call within,900) $(BIN)/python -m pytest -q tests/browser

# A time limit in seconds for commands that may wait for a network or a browser, if the machine has `timeout`.
within = $(shell command -v timeout >/dev/null && echo timeout $(1))

build/axe/axe.min.js:
	@mkdir -p build/axe
	@command -v npm >/dev/null || { echo "npm is missing, so that accessibility is not checked"; exit 0; }; \
	    cd build/axe && $(call within,120) npm pack --silent axe-core@4 >/dev/null && \
	    tar xzf axe-core-*.tgz --strip-components=1 package/axe.min.js || \
	    echo "axe-core could not be fetched, so that accessibility is not checked"

docs: setup  ## build the documentation as a site that works offline: build/docs/html/index.html
	$(INSTALL) --editable '.[docs]'
	PYTHONPATH=docs:tests $(BIN)/python -m docsite.build

wheel: $(VENV)/.tools  ## build a wheel for this platform, which installs without a compiler, in dist/
	@rm -f dist/misstep-*.whl
	$(PIP) wheel --quiet --no-build-isolation --no-deps --wheel-dir dist .
	@ls dist/misstep-*.whl

wheel-test: setup wheel  ## install the wheel into an empty environment without a compiler and run the demo there
	$(BIN)/python -m pytest -q -m wheel tests/test_wheel.py

release-check: setup wheel-test  ## what a machine can check before a release: docs/release.md
	@rm -f dist/misstep-*.tar.gz
	$(BIN)/python -c "from scikit_build_core.build import build_sdist; build_sdist('dist')"
	PYTHONPATH=tests $(BIN)/python -m support.release dist

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@find core bindings tests/core/cpp tests/core/fuzz -name '*.h' -o -name '*.cpp' | xargs $(BIN)/clang-format --dry-run --Werror
	$(BIN)/mypy

unit: setup
	$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal --ignore tests/browser

alone: $(VENV)/.tools  ## build each core library alone, so that an undeclared dependency fails to link
	@$(CMAKE) -S . -B build/alone -DMISSTEP_BINDINGS=OFF -DMISSTEP_ALONE=ON -DMISSTEP_TESTS=ON -DMISSTEP_WERROR=$(WERROR) >/dev/null
	@$(CMAKE) --build build/alone --parallel $(JOBS) >/dev/null && echo "each core library builds alone"

cpp: alone  ## the tests of the core libraries, in C++
	@$(CTEST) --test-dir build/alone --parallel $(JOBS) --output-on-failure

sanitize: $(VENV)/.tools  ## the tests with address and undefined-behaviour sanitizers
	bash tests/sanitize.sh $(BIN)

soundness: setup  ## the large campaigns against exhaustive ground truth
	$(BIN)/python -m pytest -q -n $(JOBS) -m soundness

FUZZ_SECONDS ?= 3600
KILLS ?= 1000
STORM_SECONDS ?= 600
SEED ?= $(shell date +%s)
CLANG ?= clang++

fuzz: setup  ## damage the input of every reader for FUZZ_SECONDS; findings are kept in build/fuzz-findings
	PYTHONPATH=tests $(BIN)/python -m attack.fuzzing --seconds $(FUZZ_SECONDS) --jobs $(JOBS) --seed $(SEED) \
	    --out build/fuzz-findings

fuzz-native: $(VENV)/.tools  ## fuzz the C++ readers and what the core claims, guided by coverage, for FUZZ_SECONDS
	@command -v $(CLANG) >/dev/null || { echo "clang is needed with its libFuzzer: apt-get install clang"; exit 1; }
	@$(CMAKE) -S . -B build/fuzz -DCMAKE_CXX_COMPILER=$(CLANG) -DCMAKE_BUILD_TYPE=RelWithDebInfo -DMISSTEP_BINDINGS=OFF \
	    -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1" -DMISSTEP_SANITIZE=fuzzer-no-link,address,undefined -DMISSTEP_FUZZ=ON >/dev/null
	@$(CMAKE) --build build/fuzz --parallel $(JOBS) --target fuzz_all >/dev/null
	bash tests/core/fuzz/run.sh build/fuzz/tests/core/fuzz $(FUZZ_SECONDS) $(JOBS)

storm-cluster: setup  ## kill workers of a cluster for STORM_SECONDS seconds while campaigns run on it: the records must be the same
	$(PIP_INSTALL) 'distributed>=2025.1'
	PYTHONPATH=tests $(BIN)/python -m support.storm_cluster --seconds $(STORM_SECONDS)

storm: setup  ## kill campaigns and trainings KILLS times and let them go on: the records must be the same
	PYTHONPATH=tests $(BIN)/python -m support.storm --kills $(KILLS) --jobs $(JOBS)

bench: setup  ## the benchmarks, with the peers they are compared with
	$(PIP_INSTALL) --no-build-isolation --editable '.[bench]' torch==2.13.0
	$(BIN)/python -m benchmarks.all

clean:  ## remove what was built
	rm -rf $(VENV) build dist demo-out .mypy_cache .ruff_cache .pytest_cache .hypothesis
