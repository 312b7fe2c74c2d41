"""A program of its own for gripper (`exec:`, JSON lines) with a planted bug: it picks up with the left gripper only.

So it carries one ball at a time and needs more trips than a cheapest plan. It reaches the goal from every state. It
uses nothing but the standard library; the protocol is described in docs/policy-protocol.md.
"""

import json
import sys


def choose(facts: set[str], rooms: dict[str, str]) -> str:
    """The name of an operator; `rooms` says where each ball has to be."""
    here = next(fact[9:-1] for fact in facts if fact.startswith("at-robot("))
    held = sorted(fact[6:-1].split(", ") for fact in facts if fact.startswith("carry("))
    for ball, gripper in held:
        if rooms[ball] == here:
            return f"drop {ball} {here} {gripper}"
    for ball in sorted(rooms):
        # The bug: the right gripper stays empty.
        if rooms[ball] != here and f"at({ball}, {here})" in facts and "free(left)" in facts:
            return f"pick {ball} {here} left"
    return f"move {here} " + ("room-b" if here == "room-a" else "room-a")


def main() -> None:
    task = json.loads(sys.stdin.readline())
    names = [[value.removeprefix("Atom ") for value in own] for own in task["variables"]]
    goals = [names[variable][value][3:-1].split(", ") for variable, value in task["goal"]]
    rooms = dict(goals)
    greeting = {"protocol": 1, "name": "gripper, left-handed", "digest": "gripper-exec 1"}
    print(json.dumps(greeting), flush=True)
    for line in sys.stdin:
        batch = json.loads(line)
        states = [{names[v][x] for v, x in enumerate(state)} for state in batch["states"]]
        answers = [choose(facts, rooms) for facts in states]
        print(json.dumps({"id": batch["id"], "operators": answers}), flush=True)


if __name__ == "__main__":
    main()
