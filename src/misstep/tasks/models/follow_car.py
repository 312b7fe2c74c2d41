"""Follow car: keep a distance to the car in front by braking, coasting or accelerating.

The run ends well at the horizon, or when the car in front is far away. In the variant
--nondeterministic the car in front changes its speed at will, by up to one metre a second each step.
Real numbers.
"""

from __future__ import annotations

from misstep.tasks.models.control import AT_THE_END, CLOCK, draw, horizon, inside, step
from misstep.tasks.models.expressions import (
    Expression,
    add,
    any_of,
    between,
    ge,
    gt,
    ite,
    le,
    lt,
    mul,
    sub,
)
from misstep.tasks.models.model import BuiltinModel, SafetyModel, Variable
from misstep.tasks.parameters import Flag

STEP = 0.5
ACCELERATION = {"brake": -3.0, "coast": 0.0, "accel": 3.0}
FASTEST = 40.0
AWAY = 900.0
START = {"gap": (59.0, 62.0), "speed": (30.0, 30.5), "lead": (20.0, 30.0)}


def build(*, horizon: int, nondeterministic: bool) -> SafetyModel:
    edges = []
    for label, acceleration in ACCELERATION.items():
        speed: Expression = add("speed", acceleration * STEP) if acceleration else "speed"
        guard = [between(0, speed, FASTEST)] if acceleration else []
        driven = {"gap": add("gap", mul(sub("lead", speed), STEP)), "speed": speed}
        effects: list[dict[str, Expression]] = [driven]
        if nondeterministic:
            effects += [
                {**driven, "lead": ite(lt("lead", 1), 0.0, sub("lead", 1))},
                {**driven, "lead": ite(gt("lead", FASTEST - 1), FASTEST, add("lead", 1))},
            ]
        edges.append(step(label, guard, *effects))
    return SafetyModel(
        labels=tuple(ACCELERATION),
        variables=[
            Variable("gap", -200, 1000, "real"),
            Variable("speed", 0, 40, "real"),
            Variable("lead", 0, 40, "real"),
            CLOCK,
        ],
        edges=edges,
        start=inside(START),
        unsafe=le("gap", 0),
        goal=any_of(AT_THE_END, ge("gap", AWAY)),
        draw=lambda dice: draw(START, dice),
        constants={"horizon": horizon},
    )


MODEL = BuiltinModel(
    name="follow-car",
    summary="keep a distance to the car in front",
    parameters=(horizon(1000), Flag("nondeterministic", "the car in front changes its speed")),
    build=build,
)
