"""Bouncing ball: push a ball down in time, or it loses its energy and never comes up again.

The ball can be pushed while it is between five and nine metres high. Unsafe is a ball too slow and too
low to rise to five metres again, by a linear estimate: the limit on the height falls from five metres
at standstill to zero at the speed of a fall from there (9.9029 m/s). Deterministic, in real numbers.
"""

from __future__ import annotations

from misstep.tasks.models.control import (
    AT_THE_END,
    BEFORE_THE_END,
    CLOCK,
    draw,
    horizon,
    inside,
    step,
)
from misstep.tasks.models.expressions import (
    Expression,
    add,
    all_of,
    between,
    gt,
    le,
    mul,
    sub,
)
from misstep.tasks.models.model import BuiltinModel, Edge, SafetyModel, Variable

STEP = 0.3
GRAVITY = -9.8067
PUSH = 4.0
REACH = 5 / 9.9029
LOST = 5 - 1e-4
START = {"h": (5.0, 9.0), "v": (-1.0, 1.0)}


def build(*, horizon: int) -> SafetyModel:
    fallen = add(add("h", mul("v", STEP)), 0.5 * GRAVITY * STEP * STEP)

    def edges(label: str, guard: list[Expression], push: float) -> list[Edge]:
        faster = sub("v", push) if push else "v"
        flight = {"h": fallen, "v": sub(add("v", GRAVITY * STEP), push)}
        bounce = {"h": mul(0.9, "h"), "v": mul(-0.9487, faster)}
        return [
            step(label, [*guard, gt(fallen, 0)], flight),
            step(label, [*guard, le(fallen, 0)], bounce),
        ]

    return SafetyModel(
        labels=("push", "skip"),
        variables=[
            Variable("h", 0, 1000, "real"),
            Variable("v", -100, 100, "real"),
            CLOCK,
        ],
        edges=[*edges("push", [between(5, "h", 9)], PUSH), *edges("skip", [], 0.0)],
        start=inside(START),
        unsafe=all_of(
            le(add("h", mul("v", REACH)), LOST),
            le(sub("h", mul("v", REACH)), LOST),
            BEFORE_THE_END,
        ),
        goal=AT_THE_END,
        draw=lambda dice: draw(START, dice),
        constants={"horizon": horizon},
    )


MODEL = BuiltinModel(
    name="bouncing-ball",
    summary="push a ball in time so that it keeps bouncing",
    parameters=(horizon(1000),),
    build=build,
)
