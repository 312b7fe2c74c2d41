#!/usr/bin/env bash
# Runs the fuzzers of a folder, one after the other: FOLDER [SECONDS in all] [JOBS]. Findings are kept in FOLDER/findings.
# Needs only the folder of this script and the programs, so that both can be copied to another machine.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=$(cd "$1" && pwd) seconds=${2:-60} jobs=${3:-2}
findings=$folder/findings
mkdir -p "$findings"
mapfile -t programs < <(find "$folder" -maxdepth 1 -name 'fuzz_*' -type f -executable | sort)
[ ${#programs[@]} -gt 0 ] || { echo "there is no fuzzer in $folder"; exit 1; }
each=$(((seconds + ${#programs[@]} - 1) / ${#programs[@]}))

# Processes share a folder of inputs and read what the others have found. One that has met a crash is started again.
# libFuzzer's own mode for this (-fork) spends nearly all of a minute on reading inputs where a fuzzer is slow.
fuzz() {
    local program=$1 log=$2 end=$((SECONDS + each))
    shift 2
    while [ "$SECONDS" -lt "$end" ]; do
        "$program" -max_total_time=$((end - SECONDS)) -timeout=5 -rss_limit_mb=1024 -max_len=4096 -len_control=0 \
            -use_value_profile=1 -reload=1 -print_final_stats=1 -artifact_prefix="$findings/$(basename "$program")-" \
            "$@" >>"$log" 2>&1 && return
    done
}

bad=0
for program in "${programs[@]}"; do
    name=$(basename "$program")
    corpus=$folder/corpus/$name
    mkdir -p "$corpus"
    rm -f "$findings/$name"-*.log
    inputs=("$corpus")
    [ -f "$here/${name#fuzz_}.dict" ] && inputs+=("-dict=$here/${name#fuzz_}.dict")
    [ -d "$here/seeds/${name#fuzz_}" ] && inputs+=("$here/seeds/${name#fuzz_}")
    # A fuzzer that starts with nothing tries short inputs for long, and those are refused.
    if [ ! -d "$here/seeds/${name#fuzz_}" ] && [ -z "$(ls -A "$corpus")" ]; then
        for i in {1..64}; do head -c $((i * 32)) /dev/urandom >"$corpus/start-$i"; done
    fi
    for job in $(seq "$jobs"); do fuzz "$program" "$findings/$name-$job.log" "${inputs[@]}" & done
    wait
    found=$(find "$findings" -name "$name-*" ! -name '*.log' | wc -l)
    runs=$(cat "$findings/$name"-*.log | awk '/^stat::number_of_executed_units:/ { sum += $2 } END { print sum + 0 }')
    echo "$name: $runs runs, $(find "$corpus" -type f | wc -l) inputs kept, $found findings"
    [ "$found" -eq 0 ] && [ "$runs" -gt 0 ] || bad=1
done
exit $bad
