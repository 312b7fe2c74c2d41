"""What a built-in domain is, and what comes out of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from misstep.tasks.domains.pddl import Problem
from misstep.tasks.parameters import Parameter


@dataclass(frozen=True)
class BuiltinDomain:
    """A domain and the generator of its problems.

    `problem` takes `Dice` and every parameter by name. It may refuse a combination of sizes that
    are fine one by one, with a UsageError.
    """

    name: str
    summary: str
    dead_ends: bool  # some reachable state of some instance cannot reach the goal
    invertible: bool  # every action can be undone by one other action
    parameters: tuple[Parameter, ...]
    pddl: str
    problem: Callable[..., Problem]


@dataclass(frozen=True)
class Instance:
    """One generated task, as text; the name holds all that is needed to generate it again."""

    name: str
    domain_pddl: str
    problem_pddl: str


__all__ = ["BuiltinDomain", "Instance", "Parameter"]
