#!/usr/bin/env bash
# The main job in miniature: generate a task, look at it, plan it, and let the independent checker judge.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
say() { printf '\n$ %s\n' "$*"; "$@"; }

say misstep generate gripper --balls 4 -o "$folder"
say misstep census "$folder"
say misstep plan "$folder" --search astar-lmcut
say misstep plan "$folder" --search gbfs-ff -o "$folder/plan"
echo "done: both plans were validated by the independent checker"
