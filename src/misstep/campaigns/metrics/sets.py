"""The sets that all metrics are made of: pool, solved, tested, bugs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from misstep.campaigns.records import PoolRecord, RunRecord, TestedState


@dataclass(frozen=True, slots=True)
class BasicSets:
    """Sizes for one task, policy, seed and oracle."""

    pool: int
    solved: int
    """Pool states from which the policy reaches the goal."""
    tested: int
    """Pool states with a verdict, whatever it is."""
    fails: int
    costly: int
    unclassified: int
    optimal: int
    unknown: int

    @property
    def bugs(self) -> int:
        return self.fails + self.costly + self.unclassified


def basic_sets(
    pool: Sequence[PoolRecord], runs: Iterable[RunRecord], tested: Iterable[TestedState]
) -> BasicSets:
    verdicts = Counter((state.verdict, state.kind) for state in tested)
    return BasicSets(
        pool=len(pool),
        solved=sum(run.outcome == "goal" for run in runs),
        tested=sum(verdicts.values()),
        fails=verdicts["BUG", "fails"],
        costly=verdicts["BUG", "costly"],
        unclassified=verdicts["BUG", "unclassified"],
        optimal=verdicts["OPTIMAL", None],
        unknown=verdicts["UNKNOWN", None],
    )


def ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def mean(values: Iterable[float | None]) -> float | None:
    """The average of the values that exist: how a domain sums up its instances."""
    present = [value for value in values if value is not None]
    return ratio(sum(present), len(present))
