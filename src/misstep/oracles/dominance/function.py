"""A dominance function of a task, ready to use."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from misstep._core import DominanceCore
from misstep.checking.dominance import DominanceTables
from misstep.errors import InputFormatError
from misstep.oracles.dominance.compute import Progress, compute_tables
from misstep.oracles.dominance.files import read_tables, write_tables
from misstep.oracles.dominance.settings import DominanceSettings
from misstep.tasks.task import State, Task

if TYPE_CHECKING:
    from misstep.oracles.dominance.index import ComparisonIndex


Bytes = bytes  # the class has a property of that name


class Part(NamedTuple):
    """What one factor contributes to D(s, t)."""

    variables: tuple[int, ...]
    ids: tuple[int, int]  # abstract states: of the dominated state, of the dominating one
    value: int


@dataclass(frozen=True)
class FactorInfo:
    """A factor and its table."""

    factoring: int
    variables: tuple[int, ...]
    states: int
    finite: int  # pairs with a value
    pairs: int
    fallback: str | None  # the limit that left this factor with less than it could know


class DominanceFunction:
    """D(s, t) <= h*(s) - h*(t) for all s with a plan.

    For an unsolvable task (`solvable` is False) it has no values. `remarks` says which limits were reached; the values
    are sound in any case.
    """

    def __init__(
        self,
        task: Task,
        core: DominanceCore,
        *,
        solvable: bool = True,
        merges: int = 0,
        seconds: float = 0.0,
        remarks: tuple[str, ...] = (),
    ) -> None:
        self.task = task
        self.core = core
        self.solvable = solvable
        self.merges = merges
        self.seconds = seconds
        self.remarks = remarks
        self._independent: DominanceTables | None = None

    @staticmethod
    def compute(
        task: Task, settings: DominanceSettings | None = None, progress: Progress | None = None
    ) -> DominanceFunction:
        """Compute the tables; `progress(stage, steps, seconds)` is called a few times a second."""
        done = compute_tables(task, settings or DominanceSettings(), progress)
        return DominanceFunction(
            task,
            done.core,
            solvable=done.solvable,
            merges=done.merges,
            seconds=done.seconds,
            remarks=done.remarks,
        )

    # -- values -----------------------------------------------------------------------------------

    def value(self, dominated: State, dominating: State) -> int | None:
        """D(dominated, dominating); None: nothing is known (minus infinity)."""
        return self.core.value(dominated, dominating)

    def by_factor(self, dominated: State, dominating: State) -> list[Part]:
        """The summands of the value, from the factoring that gives it; empty if there is none."""
        return [Part(*part) for part in self.core.by_factor(dominated, dominating)]

    def matrix(
        self, dominated: NDArray[np.int32], dominating: NDArray[np.int32]
    ) -> NDArray[np.int64]:
        """All pairs of two batches; `misstep._core.MINUS_INFINITY` where nothing is known."""
        return self.core.matrix(dominated, dominating)

    def morphs(self, dominating: State, limit: int | None = None) -> list[tuple[State, int]]:
        """States s that differ from t in one variable, with D(s, t), best first; then by variable and value."""
        return self.core.single_morphs(dominating)[:limit]

    def best_morphs(self, dominating: State, count: int) -> list[tuple[State, int]]:
        """The states s with the highest D(s, t), however much they differ from t; best first, then by values."""
        return self.core.best_morphs(dominating, count)

    def index(self) -> ComparisonIndex:
        """An empty index of states to compare."""
        from misstep.oracles.dominance.index import ComparisonIndex

        return ComparisonIndex(self)

    def independent(self) -> DominanceTables:
        """The same function as the independent checker reads it."""
        if self._independent is None:
            self._independent = DominanceTables(self.to_bytes())
        return self._independent

    # -- what it is made of -----------------------------------------------------------------------

    @property
    def factors(self) -> list[FactorInfo]:
        """The factors of all factorings."""
        return [
            FactorInfo(
                factoring,
                tuple(info["variables"]),
                info["states"],
                info["finite"],
                info["pairs"],
                None if info["fallback"] == "none" else info["fallback"],
            )
            for factoring in range(len(self.core))
            for info in self.core.factors(factoring)
        ]

    @property
    def rounds(self) -> tuple[int, ...]:
        """How often all factors were gone through, by factoring; 0 for a single factor, where D is known at once."""
        return tuple(self.core.rounds(factoring) for factoring in range(len(self.core)))

    @property
    def bytes(self) -> int:
        return self.core.bytes

    # -- files ------------------------------------------------------------------------------------

    def to_bytes(self) -> Bytes:
        """The tables without the task; `misstep.checking.dominance` describes them."""
        return self.core.write()

    @staticmethod
    def from_bytes(task: Task, tables: Bytes) -> DominanceFunction:
        try:
            return DominanceFunction(task, DominanceCore.read(task, tables))
        except ValueError as error:
            raise InputFormatError(f"no dominance function: {error}", where=task.name) from error

    def save(self, path: Path) -> None:
        """Write the tables to a file; `misstep.oracles.dominance.files` describes it."""
        write_tables(path, self.task, self.core, solvable=self.solvable)

    @staticmethod
    def load(path: Path, task: Task) -> DominanceFunction:
        """Read tables that `save` wrote for the same variables, operators and goal."""
        core, solvable = read_tables(path, task)
        return DominanceFunction(task, core, solvable=solvable)


__all__ = ["DominanceFunction", "FactorInfo", "Part"]
