#!/usr/bin/env bash
# From nothing to a tested policy: generate a task, look at it, run a policy on it, test it, replay what was found.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
say() { printf '\n$ %s\n' "$*"; "$@"; }

say misstep generate gripper --balls 4 -o "$folder/task"
say misstep census "$folder/task"
say misstep plan "$folder/task" --search astar-lmcut
say misstep check-policy "$folder/task" --policy heuristic:ff
say misstep run "$folder/task" --policy heuristic:ff
say misstep test "$folder/task" --policy heuristic:ff --pool 30 --out "$folder/found" || [ $? -eq 1 ] # 1: bugs found
say misstep records "$folder/found" --verdict BUG
say misstep replay "$folder/found"
