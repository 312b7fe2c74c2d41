"""Sizes that the tests of the built-in domains share."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from misstep.errors import UsageError
from misstep.tasks.domains import DOMAINS
from misstep.tasks.domains.dice import Dice

Sizes = dict[str, int]

PERCENTAGES = {"percent", "holes", "gluten", "blocked", "walls"}


@pytest.fixture(scope="session")
def toys() -> dict[str, Sizes]:
    """Sizes whose states can be listed in a moment."""
    return {
        "blocksworld": {"blocks": 3},
        "childsnack": {"children": 1, "trays": 1, "tables": 1, "gluten": 100},
        "delivery": {"width": 2, "height": 1, "packages": 1},
        "elevators": {
            "passengers": 1,
            "blocks": 1,
            "floors": 1,
            "slow": 1,
            "fast": 0,
            "capacity": 1,
        },
        "ferry": {"cars": 2, "locations": 2},
        "floortile": {"width": 2, "height": 1, "robots": 1},
        "gripper": {"balls": 2},
        "matching-blocksworld": {"blocks": 2},
        "miconic": {"passengers": 2, "floors": 2},
        "reward": {"width": 2, "height": 2, "rewards": 2, "blocked": 0},
        "rovers": {"rovers": 1, "waypoints": 2, "objectives": 1, "goals": 1},
        "satellite": {
            "satellites": 1,
            "instruments": 1,
            "modes": 1,
            "directions": 2,
            "observations": 1,
        },
        "scanalyzer": {"lines": 1, "rows": 1},
        "sokoban": {"width": 3, "height": 3, "boxes": 1, "walls": 0},
        "spanner": {"spanners": 2, "nuts": 1, "locations": 2},
        "storage": {"crates": 1, "hoists": 1, "width": 1, "height": 1},
        "transport": {"vehicles": 1, "packages": 2, "locations": 3, "capacity": 2},
        "visitall": {"width": 2, "height": 2, "percent": 100, "holes": 0},
        "woodworking": {"parts": 2, "woods": 3, "colours": 1},
    }


@pytest.fixture(scope="session")
def draw_sizes() -> Callable[..., Sizes]:
    """Small random sizes that the domain accepts."""

    def draw(name: str, seed: int, span: int = 4) -> Sizes:
        dice = Dice(f"sizes {name} {seed}")
        while True:
            sizes = {}
            for parameter in DOMAINS[name].parameters:
                wide = 100 if parameter.name in PERCENTAGES else span
                most = min(wide, parameter.maximum - parameter.minimum)
                sizes[parameter.name] = parameter.minimum + dice.below(most + 1)
            try:
                DOMAINS[name].problem(Dice("accepted?"), **sizes)
            except UsageError:
                continue
            return sizes

    return draw
