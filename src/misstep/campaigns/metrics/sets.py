"""The sets that all metrics are made of: pool, solved, tested, bugs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from misstep.campaigns.records import Record


@dataclass(frozen=True, slots=True)
class BasicSets:
    """Sizes for one task, policy, seed and oracle."""

    pool: int
    """States to be tested; more than `tested` if the campaign is not finished."""
    solved: int
    """Tested states from which the policy reaches the goal."""
    tested: int
    """States with a verdict, whatever it is."""
    fails: int
    costly: int
    unsafe: int
    unclassified: int
    sound: int
    """OPTIMAL; of a model: NOT A BUG."""
    unknown: int

    @property
    def bugs(self) -> int:
        return self.fails + self.costly + self.unsafe + self.unclassified


def basic_sets(records: Sequence[Record], pool: int | None = None) -> BasicSets:
    """Of the records of one task; `pool` is the size of its pool, if not all of it was tested."""
    kinds = Counter(record.kind for record in records if record.is_bug)
    unknown = sum(record.verdict == "UNKNOWN" for record in records)
    return BasicSets(
        pool=len(records) if pool is None else pool,
        solved=sum(record.run.outcome == "goal" for record in records),
        tested=len(records),
        fails=kinds["fails"],
        costly=kinds["costly"],
        unsafe=kinds["unsafe"],
        unclassified=kinds["unclassified"],
        sound=len(records) - kinds.total() - unknown,
        unknown=unknown,
    )


def ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def mean(values: Iterable[float | None]) -> float | None:
    """The average of the values that exist: how a domain sums up its instances."""
    present = [value for value in values if value is not None]
    return ratio(sum(present), len(present))
