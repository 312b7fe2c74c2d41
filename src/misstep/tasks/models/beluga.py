"""Beluga: unload jigs from an aircraft and hand them to production lines, with few swaps.

Jigs come out of the aircraft in the order of their stacking, onto a trailer. From there they are pushed
into racks, at the front or at the back; from either end of a rack they are popped onto a truck; from the
truck they go to a line, if it is the one in demand, or back to the trailer. Each line wants its jigs
in a fixed order, and which line asks next is redrawn after every delivery, every push and
every return to the trailer. Every push counts as a swap; unsafe is too many of them.

Racks and the aircraft are rows of slots filled from the first on, so that a state holds no trace of
how it came about. The number after the last jig stands for none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from misstep.errors import UsageError
from misstep.tasks.domains.dice import Dice
from misstep.tasks.models.expressions import (
    Expression,
    add,
    all_different,
    all_of,
    any_of,
    div,
    eq,
    ge,
    le,
    look_up,
    ne,
)
from misstep.tasks.models.model import (
    BuiltinModel,
    Edge,
    Outcome,
    SafetyModel,
    Start,
    Variable,
    sure,
)
from misstep.tasks.parameters import Parameter, Text

MAX_JIGS = 16


def lines_of(text: str) -> tuple[tuple[int, ...], ...]:
    """`0,3/2,1` as two lines; together they want each jig once."""
    lines = tuple(tuple(int(jig) for jig in line.split(",")) for line in text.split("/"))
    jigs = sorted(jig for line in lines for jig in line)
    if jigs != list(range(len(jigs))) or len(jigs) > MAX_JIGS or len(lines) > 4:
        raise ValueError(text)
    return lines


@dataclass(frozen=True)
class Yard:
    racks: int
    lines: tuple[tuple[int, ...], ...]
    swaps: int

    @property
    def jigs(self) -> int:
        return sum(map(len, self.lines))

    @property
    def none(self) -> int:
        return self.jigs

    def rack(self, r: int) -> list[str]:
        return [f"rack{r}_{k}" for k in range(self.jigs)]

    @property
    def plane(self) -> list[str]:
        return [f"plane_{k}" for k in range(self.jigs)]

    def shifted(self, slots: Sequence[str]) -> dict[str, Expression]:
        """The slots after the first one is taken."""
        return dict(zip(slots, [*slots[1:], self.none], strict=True))

    def demands(
        self, delivered: tuple[int, int] | None = None
    ) -> Iterator[tuple[list[Expression], list[Expression]]]:
        """The cases of a redraw: which lines are unfinished, and which demands can come next.

        `delivered` is the line and the number of the jig it gets in this very step.
        """
        cases: list[list[tuple[list[Expression], Expression | None]]] = []
        for number, line in enumerate(self.lines):
            progress, length = f"line_{number}", len(line)
            if delivered is not None and delivered[0] == number:
                then = delivered[1] + 1
                cases.append([([], line[then] if then < length else None)])
            else:
                head = look_up(progress, line)
                cases.append([([le(progress, length - 1)], head), ([eq(progress, length)], None)])
        for case in product(*cases):
            heads = [head for _, head in case if head is not None]
            # With nothing left to deliver there is nothing left to push or return either.
            if heads or delivered is not None:
                yield [test for tests, _ in case for test in tests], heads or [self.none]

    def redrawn(
        self,
        label: str,
        guard: Sequence[Expression],
        effect: dict[str, Expression],
        delivered: tuple[int, int] | None = None,
    ) -> Iterator[Edge]:
        for tests, heads in self.demands(delivered):
            share: Expression = 1 if len(heads) == 1 else div(1, len(heads))
            yield Edge(
                label,
                all_of(*guard, *tests),
                [Outcome({**effect, "next": head}, share) for head in heads],
            )


def build(*, racks: int, lines: str, swaps: int) -> SafetyModel:
    yard = Yard(racks, lines_of(lines), swaps)
    if yard.jigs < 2:
        raise UsageError("beluga with one jig", expected="two jigs or more")
    none = yard.none
    rack_numbers = range(racks)
    racks_slots = [slot for r in rack_numbers for slot in yard.rack(r)]
    progress = [f"line_{number}" for number in range(len(yard.lines))]
    return SafetyModel(
        labels=(
            "unload_beluga",
            "send",
            *(f"push_{end}_{r}" for r in rack_numbers for end in ("front", "back")),
            *(f"pop_{end}_{r}" for r in rack_numbers for end in ("front", "back")),
            "unload_truck",
        ),
        variables=[
            *(Variable(slot, 0, none) for slot in yard.plane),
            Variable("trailer", 0, none),
            *(Variable(slot, 0, none) for slot in racks_slots),
            Variable("truck", 0, none),
            *(
                Variable(name, 0, len(line))
                for name, line in zip(progress, yard.lines, strict=True)
            ),
            Variable("next", 0, none),
            Variable("swaps", 0, swaps),
        ],
        edges=[*_aircraft(yard), *_deliveries(yard), *_pushes(yard), *_pops(yard), *_returns(yard)],
        start=all_of(
            *(ne(slot, none) for slot in yard.plane),
            all_different(yard.plane),
            *(eq(place, none) for place in ("trailer", *racks_slots, "truck")),
            *(eq(count, 0) for count in (*progress, "swaps")),
            any_of(*(eq("next", line[0]) for line in yard.lines)),
        ),
        unsafe=ge("swaps", swaps),
        goal=all_of(
            *(eq(name, len(line)) for name, line in zip(progress, yard.lines, strict=True))
        ),
        draw=lambda dice: _draw(yard, [*racks_slots, "truck"], progress, dice),
    )


def _aircraft(yard: Yard) -> Iterator[Edge]:
    first = yard.plane[0]
    guard = [eq("trailer", yard.none), ne(first, yard.none)]
    yield sure("unload_beluga", guard, trailer=first, **yard.shifted(yard.plane))


def _deliveries(yard: Yard) -> Iterator[Edge]:
    for number, line in enumerate(yard.lines):
        for position, jig in enumerate(line):
            guard = [eq("truck", jig), eq("next", jig)]
            effect: dict[str, Expression] = {"truck": yard.none, f"line_{number}": position + 1}
            yield from yard.redrawn("send", guard, effect, (number, position))


def _pushes(yard: Yard) -> Iterator[Edge]:
    loaded = [ne("trailer", yard.none), le("swaps", yard.swaps - 1)]
    counted: dict[str, Expression] = {"trailer": yard.none, "swaps": add("swaps", 1)}
    for r in range(yard.racks):
        slots = yard.rack(r)
        moved_up = dict(zip(slots, ["trailer", *slots], strict=False))
        yield from yard.redrawn(f"push_front_{r}", loaded, {**moved_up, **counted})
        for k, slot in enumerate(slots):
            free = [eq(slot, yard.none), *([ne(slots[k - 1], yard.none)] if k else [])]
            yield from yard.redrawn(
                f"push_back_{r}", [*loaded, *free], {slot: "trailer", **counted}
            )


def _pops(yard: Yard) -> Iterator[Edge]:
    ready = eq("truck", yard.none)
    for r in range(yard.racks):
        slots = yard.rack(r)
        filled = [ready, ne(slots[0], yard.none)]
        yield sure(f"pop_front_{r}", filled, truck=slots[0], **yard.shifted(slots))
        for k, slot in enumerate(slots):
            last = [ne(slot, yard.none), *(eq(after, yard.none) for after in slots[k + 1 : k + 2])]
            yield sure(f"pop_back_{r}", [ready, *last], truck=slot, **{slot: yard.none})


def _returns(yard: Yard) -> Iterator[Edge]:
    guard = [ne("truck", yard.none), eq("trailer", yard.none)]
    yield from yard.redrawn("unload_truck", guard, {"trailer": "truck", "truck": yard.none})


def _draw(yard: Yard, empty: Sequence[str], progress: Sequence[str], dice: Dice) -> Start:
    stacking = dice.shuffled(range(yard.jigs))
    return {
        **dict(zip(yard.plane, stacking, strict=True)),
        "trailer": yard.none,
        **dict.fromkeys(empty, yard.none),
        **dict.fromkeys(progress, 0),
        "next": dice.choice(yard.lines)[0],
        "swaps": 0,
    }


MODEL = BuiltinModel(
    name="beluga",
    summary="hand jigs from an aircraft to production lines with few swaps",
    parameters=(
        Parameter("racks", 2, 1, 8, "number of racks"),
        Text(
            "lines",
            "0,3/2,1",
            f"jigs from 0 on, each once, at most {MAX_JIGS}, such as 0,3/2,1",
            lines_of,
            "the jigs of each production line in order; lines are separated by /",
        ),
        Parameter("swaps", 6, 1, 1000, "number of swaps that is unsafe"),
    ),
    build=build,
)
