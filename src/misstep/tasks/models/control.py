"""The common parts of the control models: a plant in real numbers, a clock, and a horizon that ends the run.

Every step advances the clock, so no state occurs twice. The horizon is a constant of the model, and
reaching it safely is the goal. Beyond it nothing is applicable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from misstep.tasks.domains.dice import Dice
from misstep.tasks.models.expressions import Expression, add, all_of, between, eq, ge, lt
from misstep.tasks.models.model import Edge, Outcome, Start, Variable
from misstep.tasks.parameters import Parameter

CLOCK = Variable("t", 0, "horizon", input=False)
BEFORE_THE_END = lt("t", "horizon")
AT_THE_END = ge("t", "horizon")
Box = Mapping[str, tuple[float, float]]


def horizon(default: int) -> Parameter:
    return Parameter("horizon", default, 1, 1_000_000, "number of steps to stay safe")


def step(
    label: str, guard: Sequence[Expression], *effects: Mapping[str, Expression], likely: float = 0.5
) -> Edge:
    """One step of the clock; the first effect has the probability `likely`, the others share the rest."""
    others = len(effects) - 1
    shares = [likely if others else 1, *([(1 - likely) / others] * others if others else [])]
    return Edge(
        label,
        all_of(*guard, BEFORE_THE_END),
        [
            Outcome({**effect, "t": add("t", 1)}, share)
            for effect, share in zip(effects, shares, strict=True)
        ],
    )


def inside(box: Box) -> Expression:
    """The initial states: somewhere in the box, at time zero."""
    return all_of(*_sides(box), eq("t", 0))


def _sides(box: Box) -> Iterator[Expression]:
    for name, (low, high) in box.items():
        yield between(low, name, high)


def draw(box: Box, dice: Dice) -> Start:
    drawn = {
        name: low + (high - low) * (dice.below(2**53) / 2**53) for name, (low, high) in box.items()
    }
    return {**drawn, "t": 0}
