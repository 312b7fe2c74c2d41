"""Oracles decide whether a policy is as good as possible in a state.

`Workbench` holds a policy, its runs and the bound store; `parse_oracle` makes an oracle from a spec; its `test` gives a
`Verdict`; `check_witness` lets the independent checker replay a verdict.

The names are loaded on first use, because reading records only needs `misstep.oracles.values`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from misstep.oracles.bounds import BoundStore
    from misstep.oracles.grammar import parse_oracle
    from misstep.oracles.oracle import Oracle, Walk
    from misstep.oracles.presets import DEFAULT_ORACLE
    from misstep.oracles.verdict import Kind, Objective, Status, Verdict, is_fuzzing_bug
    from misstep.oracles.witness import check_witness
    from misstep.oracles.workbench import Workbench

_HOMES = {
    "DEFAULT_ORACLE": "presets",
    "BoundStore": "bounds",
    "Kind": "verdict",
    "Objective": "verdict",
    "Oracle": "oracle",
    "Status": "verdict",
    "Verdict": "verdict",
    "Walk": "oracle",
    "Workbench": "workbench",
    "check_witness": "witness",
    "is_fuzzing_bug": "verdict",
    "parse_oracle": "grammar",
}

__all__ = [
    "DEFAULT_ORACLE",
    "BoundStore",
    "Kind",
    "Objective",
    "Oracle",
    "Status",
    "Verdict",
    "Walk",
    "Workbench",
    "check_witness",
    "is_fuzzing_bug",
    "parse_oracle",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'misstep.oracles' has no attribute {name!r}")
    return getattr(import_module(f"misstep.oracles.{_HOMES[name]}"), name)
