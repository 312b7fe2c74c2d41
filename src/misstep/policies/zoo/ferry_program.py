"""A generalised plan for ferry with a planted bug: it was written for a ferry that is empty.

From a state in which a car is on board, the program does not see that car. It boards another one, which does not
apply, or it is content although the car on board has not arrived. From every state with an empty ferry it reaches the
goal, car by car and not always the cheapest way. Asked in every state (`--closed`) it never gets a car to its harbour.
"""


def get_plan(
    objects: set[tuple[str, str]],  # noqa: ARG001
    init: set[tuple[str, ...]],
    goal: set[tuple[str, ...]],
) -> list[str]:
    here = next(atom[1] for atom in init if atom[0] == "at-ferry")
    place = {atom[1]: atom[2] for atom in init if atom[0] == "at"}
    plan: list[str] = []
    for _, car, target in sorted(goal):
        start = place.get(car, target)  # the bug: a car on board counts as one that has arrived
        if start == target:
            continue
        if here != start:
            plan.append(f"(sail {here} {start})")
        plan += [f"(board {car} {start})", f"(sail {start} {target})", f"(debark {car} {target})"]
        here = target
    return plan
