"""A generalised plan for spanner: walk to the gate, take every spanner on the way, tighten all nuts there.

It reaches the goal from every state that has a plan: nothing is left behind, and spanners that are carried already
count. Where there are more spanners than nuts it picks up more than it needs, so it is not always a cheapest plan.
"""


def get_plan(
    objects: set[tuple[str, str]],
    init: set[tuple[str, ...]],
    goal: set[tuple[str, ...]],
) -> list[str]:
    man = next(name for name, kind in objects if kind == "man")
    spanners = sorted(name for name, kind in objects if kind == "spanner")
    place = {atom[1]: atom[2] for atom in init if atom[0] == "at"}
    after = {atom[1]: atom[2] for atom in init if atom[0] == "link"}
    nuts = sorted(atom[1] for atom in goal if ("loose", atom[1]) in init)
    held = [spanner for spanner in spanners if ("carrying", man, spanner) in init]
    plan: list[str] = []
    here = place[man]
    while nuts:
        for spanner in spanners:
            if place.get(spanner) == here:
                plan.append(f"(pick-up-spanner {man} {spanner} {here})")
                held.append(spanner)
        if here not in after:
            break
        plan.append(f"(walk {man} {here} {after[here]})")
        here = after[here]
    usable = [spanner for spanner in held if ("usable", spanner) in init]
    for nut, spanner in zip(nuts, usable, strict=False):
        plan.append(f"(tighten-nut {man} {spanner} {nut} {here})")
    return plan
