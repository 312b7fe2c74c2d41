"""Options in front of a network or an agent: what the file does not say, and what its inputs and outputs stand for.

network:--activation=tanh --inputs=pos,vel,LIMIT --outputs=acc,dec FILE
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from misstep.errors import InputFormatError
from misstep.policies.networks.activation import Activation, parse_activation
from misstep.policies.networks.declaration import (
    Declaration,
    LayerNorms,
    load_golden,
    parse_norms,
)
from misstep.policies.options import Parser, word
from misstep.tasks.jani.interface import JaniInterface


def names(text: str) -> tuple[str, ...]:
    """Separated by commas."""
    found = tuple(part.strip() for part in text.split(","))
    if not all(found):
        raise ValueError("names separated by commas, as in --{name}=a,b,c")
    return found


def switch(text: str) -> bool:
    if text not in ("on", "off"):
        raise ValueError("on or off")
    return text == "on"


OPTIONS: Mapping[str, Parser] = MappingProxyType(
    {
        "activation": parse_activation,
        "layer-norm": parse_norms,
        "part": word,
        "layers": names,
        "check": word,
        "mask": switch,
        "interface": word,
        "inputs": names,
        "outputs": names,
    }
)


def declaration_of(
    options: Mapping[str, Any], interface: JaniInterface | None = None, where: str = ""
) -> Declaration:
    """What the options declare, and where they are silent the interface."""
    own = interface or JaniInterface((), (), (), True, None, None)
    activation: Activation | None = options.get("activation")
    if activation is None and own.activation is not None:
        activation = _parsed(parse_activation, own.activation, "activation", where)
    norms: LayerNorms | None = options.get("layer_norm")
    if norms is None and own.layer_norm is not None:
        norms = _parsed(parse_norms, own.layer_norm, "layer-norm", where)
    check = Path(options["check"]) if "check" in options else own.check
    golden = None if check is None else load_golden(check)
    part, layers = options.get("part", own.part), options.get("layers")
    return Declaration(activation, norms, part, golden, layers)


def _parsed(parse: Parser, text: str, key: str, where: str) -> Any:
    try:
        return parse(text)
    except ValueError as error:
        raise InputFormatError(f"{key} is {text!r:.60}", where=where, expected=str(error)) from None


__all__ = ["OPTIONS", "declaration_of", "names", "switch"]
