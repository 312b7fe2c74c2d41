"""A policy as a program: chooses the first operator that applies.

The protocol is described in docs/policy-protocol.md. Use it with
`--policy "exec:python examples/policies/first_applicable.py"`.
"""

import json
import sys

hello = json.loads(sys.stdin.readline())
preconditions = hello["preconditions"]  # for each operator, pairs of variable and value
print(json.dumps({"protocol": 1, "name": "first applicable", "digest": "1"}), flush=True)


def choose(state):  # type: ignore[no-untyped-def]
    for operator, facts in enumerate(preconditions):
        if all(state[variable] == value for variable, value in facts):
            return operator
    return None


for line in sys.stdin:
    batch = json.loads(line)
    operators = [choose(state) for state in batch["states"]]
    print(json.dumps({"id": batch["id"], "operators": operators}), flush=True)
