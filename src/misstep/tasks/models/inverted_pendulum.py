"""Inverted pendulum: keep a pendulum upright by pushing it left or right.

The sine is replaced by its argument. Pushes that would tip the pendulum over are not applicable, so only
doing nothing enters an unsafe state. Deterministic, in real numbers.
"""

from __future__ import annotations

from misstep.tasks.models.control import AT_THE_END, CLOCK, draw, horizon, inside, step
from misstep.tasks.models.expressions import Expression, add, any_of, between, ge, le, mul
from misstep.tasks.models.model import BuiltinModel, SafetyModel, reals

STEP = 0.1
GRAVITY = 9.8067
TORQUE = {"left": -2.0, "right": 2.0, "skip": 0.0}
TIPPED = 0.785
FASTEST = 10.0
START = {"angle": (-0.05, 0.05), "speed": (-0.1, 0.1)}


def build(*, horizon: int) -> SafetyModel:
    edges = []
    for label, torque in TORQUE.items():
        pull = mul(1.5 * GRAVITY, "angle")
        speed = add("speed", mul(add(pull, 3 * torque) if torque else pull, STEP))
        angle = add("angle", mul(speed, STEP))
        guard: list[Expression] = []
        if torque:
            guard = [between(-TIPPED, angle, TIPPED), between(-FASTEST, speed, FASTEST)]
        edges.append(step(label, guard, {"angle": angle, "speed": speed}))
    return SafetyModel(
        labels=tuple(TORQUE),
        variables=[*reals(angle=7.85, speed=FASTEST), CLOCK],
        edges=edges,
        start=inside(START),
        unsafe=any_of(le("angle", -TIPPED), ge("angle", TIPPED)),
        goal=AT_THE_END,
        draw=lambda dice: draw(START, dice),
        constants={"horizon": horizon},
    )


MODEL = BuiltinModel(
    name="inverted-pendulum",
    summary="keep a pendulum upright by pushing it",
    parameters=(horizon(1000),),
    build=build,
)
