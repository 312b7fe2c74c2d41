"""What a built-in domain is, and what comes out of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from misstep.tasks.domains.pddl import Problem
from misstep.tasks.domains.write import write_generated
from misstep.tasks.files import StrPath
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

    world: ClassVar[str] = "planning"
    name: str
    domain_pddl: str
    problem_pddl: str

    @property
    def files(self) -> dict[str, str]:
        """The text of each file, by its name."""
        return {"domain.pddl": self.domain_pddl, "problem.pddl": self.problem_pddl}

    def write(self, folder: StrPath, *, force: bool = False) -> tuple[Path, Path]:
        """Write `domain.pddl` and `problem.pddl`, and return their paths.

        Files that are already there with the same content are left alone; with another content they
        are replaced only if `force` is set.
        """
        domain, problem = (Path(folder) / name for name in self.files)
        texts = {domain: self.domain_pddl, problem: self.problem_pddl}
        write_generated(texts, "instance", force=force)
        return domain, problem


__all__ = ["BuiltinDomain", "Instance", "Parameter"]
