"""The common parts of the two transport lines: a truck with a speed, packages along the way, a cliff.

Motion uses the speed from before the action. A truck that drives beyond an end has crashed, which is
unsafe. Each variant adds outcomes independently of the others:
- drop: while the truck drives or pulls in with packages on board, one may fall off;
- ice: on these cells a moving truck does not answer to acc and dec, and move makes it faster;
- park: at the last cell a standing truck may park, and then never has to drive again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

from misstep.errors import UsageError
from misstep.tasks.domains.dice import Dice
from misstep.tasks.models.expressions import (
    Expression,
    add,
    all_of,
    any_of,
    between,
    eq,
    ge,
    gt,
    le,
    lt,
    ne,
    sub,
    total,
)
from misstep.tasks.models.model import Edge, Outcome, SafetyModel, Start, Variable, sure
from misstep.tasks.parameters import Flag, Parameter, Text

LABELS = ("pick", "drop", "acc", "dec", "move")
MISHAP = 0.1  # of each extra outcome
CHANGES = {"acc": 1, "dec": -1, "move": 0}


def cells_of(text: str) -> tuple[int, ...]:
    """`3,5` as numbers; none for an empty text."""
    cells = tuple(int(cell) for cell in text.split(",") if text.strip())
    if any(cell < 0 for cell in cells) or len(set(cells)) != len(cells):
        raise ValueError(text)
    return cells


PARAMETERS = (
    Parameter("cells", 10, 2, 100, "number of cells"),
    Parameter("packages", 5, 1, 1000, "number of packages"),
    Parameter("vmax", 3, 1, 20, "highest speed, in cells a step"),
    Flag("drop", "a package may fall off while driving"),
    Text("ice", "", "different cells such as 3,5", cells_of, "cells where the truck may slip"),
    Flag("park", "a truck at the last cell may park"),
)


@dataclass(frozen=True)
class Line:
    cells: int
    packages: int
    vmax: int
    drop: bool
    ice: Sequence[int]
    park: bool
    two_way: bool

    @property
    def last(self) -> int:
        return self.cells - 1

    def speeds(self, label: str) -> Expression:
        """When a motion is allowed."""
        lowest = -self.vmax if self.two_way else 0
        if label == "acc":
            return le("vel", self.vmax - 1)
        if label == "dec":
            return ge("vel", lowest + 1)
        return ne("vel", 0) if self.two_way else ge("vel", 1)

    def landing(self, cell: int) -> int:
        """Where a package falls that is lost on the way from a cell."""
        return cell if self.two_way else min(cell + 1, self.last)

    def slips(self, label: str) -> Iterator[tuple[Expression, int | None]]:
        """The cases on ice: a condition on the speed, and the change of speed of the extra outcome."""
        forwards, backwards = ge("vel", 1), le("vel", -1)
        if label != "move":
            yield ne("vel", 0) if self.two_way else forwards, 0
            if self.two_way or label == "acc":
                yield eq("vel", 0), None
            return
        if self.vmax > 1:
            yield between(1, "vel", self.vmax - 1), 1
        yield eq("vel", self.vmax), None
        if self.two_way:
            if self.vmax > 1:
                yield all_of(le(1 - self.vmax, "vel"), backwards), -1
            yield eq("vel", -self.vmax), None


def build(
    *, cells: int, packages: int, vmax: int, drop: bool, ice: str, park: bool, two_way: bool
) -> SafetyModel:
    line = Line(cells, packages, vmax, drop, cells_of(ice), park, two_way)
    if any(cell >= cells for cell in line.ice):
        raise UsageError(
            f"ice on cell {max(line.ice)} of {cells} cells", expected=f"cells from 0 to {line.last}"
        )
    loads = [f"load_{i}" for i in range(cells)]
    variables = [
        *(Variable(load, 0, packages) for load in loads),
        Variable("pos", 0, line.last),
        Variable("cargo", 0, packages),
        Variable("vel", -vmax if two_way else 0, vmax),
        Variable("crash", 0, 1, input=False),
        *([Variable("parked", 0, 1)] if park else []),
    ]
    beyond = [gt(add("pos", "vel"), line.last)]
    if two_way:
        beyond.append(lt(add("pos", "vel"), 0))
    return SafetyModel(
        labels=(*LABELS, *(["park"] if park else [])),
        variables=variables,
        edges=[*_handling(line), *_motions(line, any_of(*beyond)), *_parking(line)],
        start=all_of(
            *(eq(name, 0) for name in ("pos", "vel", "crash", *(["parked"] if park else []))),
            eq(loads[-1], 0),
            eq(total(*loads, "cargo"), packages),
        ),
        unsafe=eq("crash", 1),
        goal=all_of(eq(loads[-1], packages), eq("pos", line.last), eq("crash", 0)),
        draw=lambda dice: _draw(line, [v.name for v in variables], dice),
        distance=any_of(*beyond, eq("crash", 1)),
    )


def _handling(line: Line) -> Iterator[Edge]:
    standing = eq("vel", 0)
    for cell in range(line.cells if line.two_way else line.last):
        load = f"load_{cell}"
        yield sure(
            "pick",
            [standing, eq("pos", cell), ge(load, 1), le("cargo", line.packages - 1)],
            **{load: sub(load, 1), "cargo": add("cargo", 1)},
        )
    for cell in range(line.cells) if line.two_way else [line.last]:
        load = f"load_{cell}"
        yield sure(
            "drop",
            [standing, eq("pos", cell), ge("cargo", 1)],
            **{load: add(load, 1), "cargo": sub("cargo", 1)},
        )


def _motions(line: Line, beyond: Expression) -> Iterator[Edge]:
    within = [le(add("pos", "vel"), line.last)]
    if line.two_way:
        within.append(ge(add("pos", "vel"), 0))
    for label, change in CHANGES.items():
        free = [line.speeds(label), eq("crash", 0)]
        if line.park:
            free.append(eq("parked", 0))
        yield sure(label, [*free, beyond], crash=1)
        intended = _moved(change)
        if not line.drop and not line.ice:
            yield sure(label, [*free, *within], **intended)
            continue
        for cell in range(line.cells):
            falls: list[tuple[list[Expression], Outcome | None]] = [([], None)]
            if line.drop:
                load = f"load_{line.landing(cell)}"
                lost = {**intended, "cargo": sub("cargo", 1), load: add(load, 1)}
                falls = [
                    ([eq("cargo", 0)], None),
                    ([ge("cargo", 1)], Outcome(lost, MISHAP)),
                ]
            slips: list[tuple[list[Expression], Outcome | None]] = [([], None)]
            if cell in line.ice:
                slips = [
                    ([when], None if slip is None else Outcome(_moved(slip), MISHAP))
                    for when, slip in line.slips(label)
                ]
            for (cargo, fall), (speed, slip) in product(falls, slips):
                mishaps = [mishap for mishap in (fall, slip) if mishap is not None]
                likely = Outcome(intended, 1 - MISHAP * len(mishaps))
                guard = all_of(*free, eq("pos", cell), *within, *cargo, *speed)
                yield Edge(label, guard, [likely, *mishaps])


def _moved(change: int) -> dict[str, Expression]:
    moved: dict[str, Expression] = {"pos": add("pos", "vel")}
    if change:
        moved["vel"] = add("vel", 1) if change > 0 else sub("vel", 1)
    return moved


def _parking(line: Line) -> Iterator[Edge]:
    if line.park:
        yield sure("park", [eq("pos", line.last), eq("vel", 0), eq("parked", 0)], parked=1)


def _draw(line: Line, names: Sequence[str], dice: Dice) -> Start:
    """Packages spread at random over the truck and all cells but the last, by random dividers."""
    places = ["cargo", *(f"load_{i}" for i in range(line.last))]
    length = line.packages + len(places) - 1
    dividers = [-1, *sorted(dice.sample(range(length), len(places) - 1)), length]
    counts = [right - left - 1 for left, right in pairwise(dividers)]
    filled = dict(zip(places, counts, strict=True))
    return {name: filled.get(name, 0) for name in names}
