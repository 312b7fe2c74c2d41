#!/usr/bin/env bash
# From nothing to a judged policy: generate a task, look at it, plan it, run a policy on it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
say() { printf '\n$ %s\n' "$*"; "$@"; }

say misstep generate gripper --balls 4 -o "$folder"
say misstep census "$folder"
say misstep plan "$folder" --search astar-lmcut
say misstep plan "$folder" --search gbfs-ff -o "$folder/plan"
say misstep check-policy "$folder" --policy heuristic:ff
say misstep run "$folder" --policy heuristic:ff
printf '\nThe policy reaches the goal, but its cost is above that of the cheapest plan: a detour.\n'
