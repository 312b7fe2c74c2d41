"""Relation symbols, in a module that can be imported without PyTorch."""

from __future__ import annotations

from dataclasses import dataclass

GOAL = "_goal"


@dataclass(frozen=True)
class Relation:
    """A relation symbol: a predicate in the state, or (`name` ends in `_goal`) in the goal."""

    name: str
    arity: int


__all__ = ["GOAL", "Relation"]
