"""Tasks with as many operators as one likes, written down directly: translating them would take minutes."""

from __future__ import annotations

from misstep.tasks.task import Task


def delivery(trucks: int, places: int, packages: int) -> Task:
    """Trucks drive from each place to each other one and carry packages."""
    lines = ["begin_version", "3", "end_version", "begin_metric", "1", "end_metric"]
    lines.append(str(trucks + packages))
    for truck in range(trucks):
        values = [f"Atom at(t{truck}, l{place})" for place in range(places)]
        lines += ["begin_variable", f"var{truck}", "-1", str(places), *values, "end_variable"]
    for package in range(packages):
        values = [f"Atom at(p{package}, l{place})" for place in range(places)]
        values += [f"Atom in(p{package}, t{truck})" for truck in range(trucks)]
        head = ["begin_variable", f"var{trucks + package}", "-1", str(places + trucks)]
        lines += [*head, *values, "end_variable"]
    starts = [str(7 * package % places) for package in range(packages)]
    goals = [f"{trucks + p} {(13 * p + places // 2) % places}" for p in range(packages)]
    lines += ["0", "begin_state", *["0"] * trucks, *starts, "end_state"]
    lines += ["begin_goal", str(packages), *goals, "end_goal"]
    operators = [*_drives(trucks, places), *_loads(trucks, places, packages)]
    lines += [str(len(operators)), *operators, "0", ""]
    return Task("\n".join(lines).encode())


def _operator(name: str, prevail: list[str], effect: str, cost: int) -> str:
    words = ["begin_operator", name, str(len(prevail)), *prevail, "1", f"0 {effect}", str(cost)]
    return "\n".join([*words, "end_operator"])


def _drives(trucks: int, places: int) -> list[str]:
    return [
        _operator(f"drive t{t} l{a} l{b}", [], f"{t} {a} {b}", 1 + (a + b) % 7)
        for t in range(trucks)
        for a in range(places)
        for b in range(places)
        if a != b
    ]


def _loads(trucks: int, places: int, packages: int) -> list[str]:
    found = []
    for p in range(packages):
        for t in range(trucks):
            for at in range(places):
                here, inside = f"{trucks + p} {at} {places + t}", f"{trucks + p} {places + t} {at}"
                found.append(_operator(f"load p{p} t{t} l{at}", [f"{t} {at}"], here, 1))
                found.append(_operator(f"unload p{p} t{t} l{at}", [f"{t} {at}"], inside, 1))
    return found
