"""The sets from which all metrics are computed: pool, solved, tested, bugs."""

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
    crash: int
    sound: int
    """OPTIMAL; of a model: NOT A BUG."""
    unknown: int
    flaky: int

    @property
    def bugs(self) -> int:
        return self.fails + self.costly + self.unsafe + self.unclassified + self.crash


def basic_sets(records: Sequence[Record], pool: int | None = None) -> BasicSets:
    """The sets of one task's records; `pool` is the size of its pool, if not all of it was tested."""
    kinds = Counter(record.kind for record in records if record.is_bug)
    verdicts = Counter(record.verdict for record in records)
    return BasicSets(
        pool=len(records) if pool is None else pool,
        solved=sum(record.run.outcome == "goal" for record in records),
        tested=len(records),
        fails=kinds["fails"] + kinds["fails-all"] + kinds["fails-some"],
        costly=kinds["costly"] + kinds["costly-best"] + kinds["costly-some"],
        unsafe=kinds["unsafe"],
        unclassified=kinds["unclassified"],
        crash=kinds["crash"],
        sound=verdicts["OPTIMAL"] + verdicts["NOT A BUG"],
        unknown=verdicts["UNKNOWN"],
        flaky=verdicts["FLAKY"],
    )


def ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def mean(values: Iterable[float | None]) -> float | None:
    """The average of the values that are not None, as domains combine their instances."""
    present = [value for value in values if value is not None]
    return ratio(sum(present), len(present))
