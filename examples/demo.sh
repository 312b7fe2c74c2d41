#!/usr/bin/env bash
# From nothing to the faults of a trained network: generate a task, run a shipped ASNet on it, test it, explain what was found.
set -euo pipefail
cd "$(dirname "$0")/.."
out=demo-out
rm -rf "$out"
say() { printf '\n$ %s\n' "$*"; "$@"; }

say misstep generate gripper --balls 6 --scatter 50 --seed 2 -o "$out/task"
say misstep census "$out/task"
say misstep run "$out/task" --policy shipped:gripper
say misstep test "$out/task" --policy shipped:gripper --pool 30 --out "$out/found" || [ $? -eq 1 ] # 1: bugs found
say misstep records "$out/found" --verdict BUG
say misstep explain "$out/found"
say misstep explain "$out/found" 0 --deeper --time 20 # the initial state
say misstep judge "$out/found" --oracle exact || [ $? -eq 1 ] # another opinion on the same states
say misstep replay "$out/found"
say misstep report "$out/found" -o "$out/report.html"

cat <<END

Every bug above is proven: a better plan is known, and an independent checker has replayed it. To look closer:
  . .venv/bin/activate
  misstep explain $out/found 2                        # another bug: the run beside the better plan
  open $out/report.html in a browser                  # all bugs, step by step
  misstep replay $out/found --rerun                   # run the policy again and compare
  misstep test --resume --out $out/found --pool 200   # go on with more states
  misstep list                                            # the other shipped policies, domains and oracles
  python examples/test_a_task.py                          # the same from Python
END
