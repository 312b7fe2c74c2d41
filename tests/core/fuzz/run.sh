#!/usr/bin/env bash
# Runs the fuzzers of a folder, one after the other: FOLDER [SECONDS in all] [JOBS]. Findings are kept in FOLDER/findings.
# Needs only the folder of this script and the programs, so that both can be copied to another machine.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=$(cd "$1" && pwd) seconds=${2:-60} jobs=${3:-2}
mkdir -p "$folder/findings"
mapfile -t programs < <(find "$folder" -maxdepth 1 -name 'fuzz_*' -type f -executable | sort)
[ ${#programs[@]} -gt 0 ] || { echo "there is no fuzzer in $folder"; exit 1; }
each=$(((seconds + ${#programs[@]} - 1) / ${#programs[@]}))
bad=0
for program in "${programs[@]}"; do
    name=$(basename "$program")
    corpus=$folder/corpus/$name
    mkdir -p "$corpus"
    extra=()
    [ -f "$here/${name#fuzz_}.dict" ] && extra+=("-dict=$here/${name#fuzz_}.dict")
    seeds=()
    [ -d "$here/seeds/${name#fuzz_}" ] && seeds=("$here/seeds/${name#fuzz_}")
    # A fuzzer that starts with nothing tries short inputs for long, and those are refused.
    if [ ${#seeds[@]} -eq 0 ] && [ -z "$(ls -A "$corpus")" ]; then
        for i in {1..64}; do head -c $((i * 32)) /dev/urandom >"$corpus/start-$i"; done
    fi
    cd "$folder/findings"
    "$program" -fork="$jobs" -ignore_crashes=1 -ignore_timeouts=1 -ignore_ooms=1 -timeout=5 -rss_limit_mb=1024 \
        -max_len=4096 -len_control=0 -use_value_profile=1 -max_total_time="$each" -artifact_prefix="$folder/findings/$name-" \
        "${extra[@]}" "$corpus" "${seeds[@]}" >"$folder/findings/$name.log" 2>&1
    found=$(find "$folder/findings" -name "$name-*" ! -name '*.log' | wc -l)
    runs=$(grep -aoE '^#[0-9]+' "$folder/findings/$name.log" | tail -1)
    echo "$name: ${runs:-none} runs, $(find "$corpus" -type f | wc -l) inputs kept, $found findings"
    [ "$found" -eq 0 ] && [ -n "$runs" ] || bad=1
done
exit $bad
