#!/usr/bin/env bash
# Builds the extension with sanitizers and runs the tests that reach native code against it.
set -euo pipefail
bin=$1
cd "$(dirname "$0")/.."
cmake --preset sanitize -DPython_EXECUTABLE="$PWD/$bin/python" >/dev/null
cmake --build --preset sanitize --parallel "$(nproc)"
package=build/sanitize/package/misstep
rm -rf build/sanitize/package
mkdir -p build/sanitize/package
cp -r src/misstep "$package"
cp build/sanitize/bindings/_core*.so "$package/"
# The interpreter itself is not instrumented, so the runtime is preloaded, and its own leaks are not ours to judge.
LD_PRELOAD="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0 \
    MISSTEP_SANITIZED=1 PYTHONPATH=build/sanitize/package "$bin/python" -m pytest -q -x -p no:cacheprovider \
    tests/core tests/soundness
