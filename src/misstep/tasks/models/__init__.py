"""The built-in models: safety tasks in JANI, from very small ones to ones that are too large to analyse completely.

The same model, parameters and seed give the same text, byte for byte, on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from misstep.errors import UsageError
from misstep.tasks.domains.dice import Dice
from misstep.tasks.domains.write import write_generated
from misstep.tasks.models import (
    beluga,
    blocksworld_cost,
    bouncing_ball,
    cartpole,
    follow_car,
    inverted_pendulum,
    n_puzzle,
    one_way_line,
    two_way_line,
)
from misstep.tasks.models.model import BuiltinModel, ModelInstance, instantiate
from misstep.tasks.parameters import checked_choices, checked_seed, is_integer, look_up

STARTS = 50
MAX_STARTS = 100_000

MODELS: Mapping[str, BuiltinModel] = MappingProxyType(
    {
        module.MODEL.name: module.MODEL
        for module in (
            one_way_line,
            two_way_line,
            blocksworld_cost,
            n_puzzle,
            beluga,
            bouncing_ball,
            inverted_pendulum,
            cartpole,
            follow_car,
        )
    }
)


def generate_model(
    model: str, /, *, seed: int = 0, starts: int = STARTS, **choices: int | bool | str
) -> ModelInstance:
    """A built-in model; parameters not given take their default.

    The seed draws the listed initial states, up to `starts` different ones, none for 0; the first
    one is also in the initial values of the variables. All else is the same for every seed.
    """
    look_up("model", model, MODELS)
    builtin = MODELS[model]
    checked = checked_choices(model, builtin.parameters, choices)
    seed = checked_seed(seed)
    if not is_integer(starts) or not 0 <= starts <= MAX_STARTS:
        raise UsageError(f"starts is {starts!r}", expected=f"an integer from 0 to {MAX_STARTS}")
    key = "-".join([model, *_described(checked), f"seed{seed}"])
    name = key if starts == STARTS else f"{key}-starts{starts}"
    return instantiate(
        builtin.build(**checked),
        name=name,
        description=builtin.summary,
        dice=Dice(key),  # more starts begin with the same ones
        starts=starts,
    )


def _described(choices: Mapping[str, int | bool | str]) -> list[str]:
    """The name without flags that are off and empty texts; a slash cannot be part of a file name."""
    return [
        name if value is True else f"{name}{str(value).replace('/', '+')}"
        for name, value in choices.items()
        if value is not False and value != ""
    ]


def write_model(instance: ModelInstance, path: Path, *, force: bool = False) -> None:
    """Write the file; one that differs is replaced only if `force` is set."""
    write_generated({path: instance.text}, "model", force=force)


__all__ = [
    "MODELS",
    "STARTS",
    "BuiltinModel",
    "ModelInstance",
    "generate_model",
    "write_model",
]
