"""Built-in models with the parameters that tests share, and the exact numbers of the small ones.

The numbers were computed from explicit models written independently of the generators.
"""

from __future__ import annotations

from typing import Any

from support.ground_truth import Census

Choices = dict[str, Any]

# The policy is the first applicable label in declared order; all initial states of the condition.
GOLDEN: list[tuple[str, Choices, Census]] = [
    (
        "one-way-line",
        {"cells": 5, "packages": 2, "vmax": 3},
        Census(15, 331, 586, 80, 1, 0, 58, (3, 7, 21), 15, 20),
    ),
    (
        "one-way-line",
        {"cells": 5, "packages": 2, "vmax": 3, "drop": True},
        Census(15, 348, 735, 85, 3, 0, 60, (5, 10, 19), 15, 21),
    ),
    (
        "one-way-line",
        {"cells": 6, "packages": 2, "vmax": 3, "drop": True, "ice": "3"},
        Census(21, 585, 1352, 138, 3, 0, 11, (5, 10, 11), 0, 3),
    ),
    (
        "two-way-line",
        {"cells": 5, "packages": 2, "vmax": 3},
        Census(15, 741, 1499, 200, 1, 0, 301, (110, 211, 274), 15, 90),
    ),
    (
        "two-way-line",
        {"cells": 6, "packages": 2, "vmax": 3, "drop": True, "ice": "2"},
        Census(21, 1285, 3346, 333, 5, 0, 536, (128, 284, 422), 21, 153),
    ),
    (
        "blocksworld-cost",
        {"blocks": 3, "limit": 2, "max_cost": 2},
        Census(12, 594, 1710, 27, 27, 0, 567, (270, 312, 351), 12, 81),
    ),
    (
        "blocksworld-cost",
        {"blocks": 4, "limit": 3, "max_cost": 1},
        Census(72, 2000, 6408, 16, 16, 0, 1984, (1552, 1754, 1956), 72, 64),
    ),
    (
        "n-puzzle",
        {"width": 3, "height": 2, "max_cost": 0, "tile": 1, "cell": 4},
        Census(600, 672, 1414, 72, 1, 0, 600, (552, 600, 600), 600, 24),
    ),
    (
        "n-puzzle",
        {"width": 2, "height": 2, "max_cost": 1, "tile": 1, "cell": 3},
        Census(18, 176, 408, 32, 8, 0, 144, (128, 136, 144), 18, 16),
    ),
    (
        "beluga",
        {"racks": 1, "lines": "0/1", "swaps": 4},
        Census(4, 120, 342, 14, 2, 0, 72, (34, 72, 72), 4, 2),
    ),
    (
        "beluga",
        {"racks": 1, "lines": "0,2/1", "swaps": 5},
        Census(12, 702, 2252, 80, 2, 0, 337, (62, 186, 331), 12, 15),
    ),
]

# Every domain with every variant, small.
VARIANTS: list[tuple[str, Choices]] = [
    *((name, choices) for name, choices, _ in GOLDEN),
    ("one-way-line", {"cells": 5, "packages": 2, "vmax": 2, "ice": "0,2", "park": True}),
    ("two-way-line", {"cells": 4, "packages": 1, "vmax": 1, "ice": "1", "park": True}),
    ("blocksworld-cost", {"blocks": 3, "limit": 1, "max_cost": 1, "terminal": True}),
    ("n-puzzle", {"width": 3, "height": 2, "tile": 2, "cell": 0, "wrap": True, "max_cost": 0}),
    ("n-puzzle", {"width": 2, "height": 2, "tile": 1, "cell": 1, "max_cost": 1, "terminal": True}),
    ("beluga", {"racks": 2, "lines": "0,1/2", "swaps": 3}),
    ("beluga", {"racks": 1, "lines": "1/0/2", "swaps": 3}),
    ("bouncing-ball", {"horizon": 6}),
    ("inverted-pendulum", {"horizon": 6}),
    ("cartpole", {"horizon": 6}),
    ("cartpole", {"horizon": 6, "trig": True}),
    ("follow-car", {"horizon": 4}),
    ("follow-car", {"horizon": 4, "nondeterministic": True}),
]


def described(value: Any) -> str:
    """An identifier of a test for these parameters."""
    if not isinstance(value, dict):
        return str(value) if isinstance(value, str) else ""
    return ",".join(k if v is True else f"{k}={v}" for k, v in value.items())
