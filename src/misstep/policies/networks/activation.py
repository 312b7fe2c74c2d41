"""What stands between the layers of a network, by name: `relu`, `leaky-relu:0.2`, `gelu-tanh`.

A state dict holds weights and no functions, so the name has to come from somewhere: the format, the file, or the user.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

# The names, with the parameter that PyTorch takes by default where there is one.
NAMES: dict[str, float | None] = {
    "relu": None,
    "tanh": None,
    "sigmoid": None,
    "elu": 1.0,
    "gelu": None,
    "gelu-tanh": None,
    "leaky-relu": 0.01,
    "silu": None,
    "identity": None,
}
# Classes of PyTorch, as they print themselves.
_CLASSES = {
    "ReLU": "relu",
    "Tanh": "tanh",
    "Sigmoid": "sigmoid",
    "ELU": "elu",
    "GELU": "gelu",
    "LeakyReLU": "leaky-relu",
    "SiLU": "silu",
    "Identity": "identity",
}
# Another program may have a class of the same name that computes something else.
_CLASS = re.compile(r"<class 'torch\.nn\.modules\.(?:activation|linear)\.(\w+)'>")
_PARTIAL = re.compile(rf"functools\.partial\({_CLASS.pattern}(?:, (.*))?\)")
_KEYWORDS = {"elu": "alpha", "leaky-relu": "negative_slope"}


@dataclass(frozen=True)
class Activation:
    name: str
    parameter: float = 0.0

    def __str__(self) -> str:
        return self.name if NAMES[self.name] is None else f"{self.name}:{self.parameter:g}"


RELU, TANH = Activation("relu"), Activation("tanh")


def activation_names() -> str:
    """All of them, to be told to a user."""
    return ", ".join(
        name if default is None else f"{name}:{default:g}" for name, default in NAMES.items()
    )


def parse_activation(text: str) -> Activation:
    """From `leaky-relu:0.2`; ValueError with what was expected."""
    name, colon, number = text.strip().lower().replace("_", "-").partition(":")
    if name not in NAMES:
        raise ValueError(f"one of {activation_names()}")
    default = NAMES[name]
    if default is None:
        if colon:
            raise ValueError(f"{name} without a number")
        return Activation(name)
    try:
        parameter = float(number) if colon else default
    except ValueError:
        parameter = math.nan
    if not math.isfinite(parameter):
        raise ValueError(f"{name}:NUMBER, as in {name}:{default:g}")
    return Activation(name, parameter)


def of_class(text: str) -> Activation | None:
    """From what a class of PyTorch prints, `<class 'torch.nn.modules.activation.ELU'>`, or a partial call of one.

    None if it is a function that we do not have.
    """
    if match := _CLASS.fullmatch(text.strip()):
        name = _CLASSES.get(match[1])
        return None if name is None else Activation(name, NAMES[name] or 0.0)
    match = _PARTIAL.fullmatch(text.strip())
    name = _CLASSES.get(match[1]) if match else None
    if match is None or name is None:
        return None
    given = match[2] or ""
    if name == "gelu" and given in ("approximate='tanh'", "'tanh'"):
        return Activation("gelu-tanh")
    keyword, equals, number = given.rpartition("=")
    if not given:
        return Activation(name, NAMES[name] or 0.0)
    if name not in _KEYWORDS or (equals and keyword != _KEYWORDS[name]):
        return None
    try:
        return parse_activation(f"{name}:{number}")
    except ValueError:
        return None


__all__ = [
    "NAMES",
    "RELU",
    "TANH",
    "Activation",
    "activation_names",
    "of_class",
    "parse_activation",
]
