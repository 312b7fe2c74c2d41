#!/usr/bin/env bash
# Builds the extension with sanitizers and runs the tests that reach native code against it.
set -euo pipefail
bin=$PWD/$1
cd "$(dirname "$0")/.."
cmake --preset sanitize -DMISSTEP_TESTS=ON -DPython_EXECUTABLE="$bin/python" >/dev/null
cmake --build --preset sanitize --parallel "$(nproc)"
ctest --test-dir build/sanitize --parallel "$(nproc)" --output-on-failure
package=build/sanitize/package/misstep
rm -rf build/sanitize/package
mkdir -p build/sanitize/package
cp -r src/misstep "$package"
cp build/sanitize/bindings/_core*.so "$package/"

# Tasks are translated beforehand: the translator runs under a memory limit, which the sanitizer's shadow memory exceeds.
export MISSTEP_TEST_FOLDER=$PWD/build/sanitize/tests MISSTEP_CACHE_DIR=$PWD/build/sanitize/cache
mkdir -p "$MISSTEP_TEST_FOLDER"
tests="tests/core tests/runs tests/fuzzing tests/oracles tests/faults tests/safety tests/tasks/jani tests/soundness tests/policies/asnet
    tests/policies/test_load.py"
"$bin/python" -m pytest -q -n "$(nproc)" -p no:cacheprovider $tests

# The interpreter is not instrumented, so the runtime is preloaded, and leaks of the interpreter are ignored. The
# editable installation would come before any path, so it is removed.
LD_PRELOAD="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0 \
    PYTHONPATH=build/sanitize/package "$bin/python" -c '
import sys
sys.meta_path = [finder for finder in sys.meta_path if "ScikitBuild" not in type(finder).__name__]
import misstep._core
assert "sanitize" in misstep._core.__file__, misstep._core.__file__
import pytest
sys.exit(pytest.main(sys.argv[1:]))
' -q -x -p no:cacheprovider -p no:xdist $tests
