"""Cartpole: balance a pole on a cart by pushing the cart left or right, on a short track.

The usual constants and explicit Euler steps. Without --trig, sine and cosine are replaced by their
values at small angles, which keeps the model within the core of the format. Deterministic, in real numbers.
"""

from __future__ import annotations

from misstep.tasks.models.control import AT_THE_END, CLOCK, draw, horizon, inside, step
from misstep.tasks.models.expressions import (
    Expression,
    add,
    any_of,
    cos,
    div,
    gt,
    lt,
    mul,
    sin,
    sub,
)
from misstep.tasks.models.model import BuiltinModel, Edge, SafetyModel, reals
from misstep.tasks.parameters import Flag

STEP = 0.02
GRAVITY = 9.8
POLE, TOTAL = 0.1, 1.1  # masses: of the pole, and together with the cart
HALF_LENGTH = 0.5
FORCE = {"left": -10.0, "right": 10.0}
TIPPED = 0.20944
TRACK = 2.4
START = dict.fromkeys(("x", "v", "angle", "speed"), (-0.05, 0.05))


def build(*, horizon: int, trig: bool) -> SafetyModel:
    moment = POLE * HALF_LENGTH

    def push(label: str, force: float) -> Edge:
        sine = sin("angle") if trig else "angle"
        swing = mul(mul(mul(moment, "speed"), "speed"), sine)
        q = div(add(force, swing), TOTAL)
        pull: Expression = mul(GRAVITY, sine)
        if trig:
            cosine = cos("angle")
            inertia = sub(4 / 3, div(mul(mul(POLE, cosine), cosine), TOTAL))
            turn = div(sub(pull, mul(cosine, q)), mul(HALF_LENGTH, inertia))
            drive = sub(q, div(mul(mul(moment, turn), cosine), TOTAL))
        else:
            turn = div(sub(pull, q), HALF_LENGTH * (4 / 3 - POLE / TOTAL))
            drive = sub(q, div(mul(moment, turn), TOTAL))
        effect = {
            "x": add("x", mul(STEP, "v")),
            "v": add("v", mul(STEP, drive)),
            "angle": add("angle", mul(STEP, "speed")),
            "speed": add("speed", mul(STEP, turn)),
        }
        return step(label, [], effect)

    return SafetyModel(
        labels=tuple(FORCE),
        variables=[*reals(x=10.0, v=20.0, angle=3.2, speed=20.0), CLOCK],
        edges=[push(label, force) for label, force in FORCE.items()],
        start=inside(START),
        unsafe=any_of(lt("angle", -TIPPED), gt("angle", TIPPED), lt("x", -TRACK), gt("x", TRACK)),
        goal=AT_THE_END,
        draw=lambda dice: draw(START, dice),
        constants={"horizon": horizon},
        features=("trigonometric-functions",) if trig else (),
    )


MODEL = BuiltinModel(
    name="cartpole",
    summary="balance a pole on a cart",
    parameters=(horizon(200), Flag("trig", "with sine and cosine, a feature few tools have")),
    build=build,
)
