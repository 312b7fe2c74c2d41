"""The trained networks that come with Misstep: test subjects for the built-in models, good and not safe.

Each has a card, JSON beside it: the model with its options, the commands and the seed that made it, how often it gets
unsafe, and a start state from which that is proven to be avoidable.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from misstep.errors import UsageError

FOLDER = Path(__file__).parents[2] / "shipped" / "safety"


@dataclass(frozen=True)
class ShippedNetwork:
    name: str
    interface: Path  # what a policy is loaded from
    card: Mapping[str, Any]


def shipped_names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def shipped_network(name: str) -> ShippedNetwork:
    if name not in shipped_names():
        raise UsageError(
            f"no network {name!r} is shipped", expected="one of " + ", ".join(shipped_names())
        )
    card = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return ShippedNetwork(name, FOLDER / f"{name}.jani2nnet", MappingProxyType(card))


__all__ = ["ShippedNetwork", "shipped_names", "shipped_network"]
