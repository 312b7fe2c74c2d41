"""Compare campaigns: `misstep.compare`.

States are joined by the content of their task and by their values, so it does not matter which campaign found a state
first, and with which name or number. On common states the comparison is exact: `change_of` says how each has changed.
On all states, shares are compared. Statistical tests use tasks, not states, because states of one task are alike: with
enough tasks there is a paired test, with fewer a note that there are too few.

Only records are read; nothing runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

from misstep.campaigns.records import Record
from misstep.comparison.changes import CHANGES, Change, change_of
from misstep.comparison.sides import Side, open_sides
from misstep.comparison.statistics import (
    ENOUGH_TASKS,
    Interval,
    holm,
    interval,
    resamples,
    sign_flip_p,
)
from misstep.errors import UsageError

SEED = 0  # of the bootstrap: the same campaigns give the same text
POOL = "planning.fuzzing.max_states"
# Settings that are shown with the names of `misstep test`; all others have their names in config.toml.
WORDS = {
    "oracle": "oracle",
    "seed": "seed",
    "planning.fuzzing.bias": "bias (--fuzz)",
    "model.bias": "bias (--fuzz)",
    POOL: "--pool",
    "model.runs": "--runs",
}


@dataclass(frozen=True)
class Families:
    """How families of bugs change from one campaign to another, with the number of bugs before and after."""

    came: dict[str, int]
    went: dict[str, int]
    stayed: dict[str, tuple[int, int]]
    unnamed: tuple[int, int]  # bugs whose fault is not proven, which belong to no family
    common: bool  # counted on common states; else on all, as there are none

    def as_dict(self) -> dict[str, Any]:
        return {
            "came": self.came,
            "went": self.went,
            "stayed": {key: list(counts) for key, counts in self.stayed.items()},
            "unnamed": list(self.unnamed),
            "on_common_states": self.common,
        }


@dataclass(frozen=True)
class PairedTest:
    """A paired test of two campaigns over tasks, or the reason why there is none."""

    first: str
    second: str
    measure: str  # bugs or solved: the share of tested states
    tasks: int
    common: bool  # on common states; else on all, as there are none
    difference: Interval | None = None  # mean of second minus first
    p_value: float | None = None
    corrected: float | None = None
    problem: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return {
            "first": self.first,
            "second": self.second,
            "measure": self.measure,
            "tasks": self.tasks,
            "on_common_states": self.common,
            "difference": None if self.difference is None else self.difference.as_list(),
            "p_value": self.p_value,
            "corrected": self.corrected,
            "problem": self.problem,
        }


class Comparison:
    """The comparison of several campaigns, as returned by `compare`."""

    def __init__(self, sides: Sequence[Side]) -> None:
        self.campaigns = list(sides)

    @property
    def world(self) -> str:
        return self.campaigns[0].world

    @cached_property
    def differs(self) -> dict[str, list[Any]]:
        """The properties that differ between campaigns, with the value of each campaign."""
        sides = self.campaigns
        found: dict[str, list[Any]] = {}
        if len({side.policy for side in sides}) > 1:
            found["policy"] = [side.policy for side in sides]
        elif len({side.digest for side in sides}) > 1:
            found["version of the policy"] = [(side.digest or "unknown")[:12] for side in sides]
        if len({side.oracles for side in sides}) > 1:
            found["oracle"] = [", then ".join(side.oracles) for side in sides]
        names = dict.fromkeys(name for side in sides for name in side.settings)
        told = {"policy", "oracle"}
        if all(side.records.keys() == sides[0].records.keys() for side in sides):
            told.add(
                POOL
            )  # the states of --pool-from are those of the other campaign, whatever --pool says
        for name in names:
            values = [side.settings.get(name) for side in sides]
            if name not in told and any(value != values[0] for value in values):
                found[WORDS.get(name, name)] = values
        if len({frozenset(side.tasks.values()) for side in sides}) > 1:
            found["tasks"] = [len(side.tasks) for side in sides]
        return found

    @cached_property
    def common_states(self) -> int:
        """The number of states that all campaigns have in common."""
        return self.campaigns[0].common.counts["tested"]

    def changes(self, i: int = 0, j: int = 1) -> list[Change]:
        """How each state that both campaigns have has changed, in the order of the first campaign."""
        before, after = self._side(i), self._side(j)
        return [
            change_of(record, after.records[key])
            for key, record in before.records.items()
            if key in after.records
        ]

    def change_counts(self, i: int = 0, j: int = 1) -> dict[str, int]:
        """The number of states for each word of `CHANGES`."""
        counts = Counter(change.word for change in self.changes(i, j))
        return {word: counts[word] for word in CHANGES}

    def families(self, i: int = 0, j: int = 1) -> Families:
        """The families of bugs that are new, gone or still there, on common states, or on all if there are none."""
        first, second = self._side(i).records, self._side(j).records
        shared = first.keys() & second.keys()
        before, after = (
            Counter(
                record.family for key, record in own.items() if record.is_bug and _in(key, shared)
            )
            for own in (first, second)
        )
        unnamed = before.pop(None, 0), after.pop(None, 0)
        return Families(
            came=_sorted({str(key): n for key, n in after.items() if key not in before}),
            went=_sorted({str(key): n for key, n in before.items() if key not in after}),
            stayed={str(key): (n, after[key]) for key, n in before.most_common() if key in after},
            unnamed=unnamed,
            common=bool(shared),
        )

    @cached_property
    def tests(self) -> list[PairedTest]:
        """A paired test over tasks for each pair of campaigns; p-values are corrected for the number of pairs."""
        measures: dict[str, Callable[[Record], bool]] = {"bugs": lambda record: record.is_bug}
        if self.world == "planning":
            measures["solved"] = lambda record: record.run.outcome == "goal"
        pairs = list(combinations(range(len(self.campaigns)), 2))
        found = []
        for name, holds in measures.items():
            own = [self._test(i, j, name, holds) for i, j in pairs]
            done = [test for test in own if test.p_value is not None]
            corrected = holm([test.p_value or 0.0 for test in done])
            sure = {id(test): value for test, value in zip(done, corrected, strict=True)}
            found += [replace(test, corrected=sure.get(id(test))) for test in own]
        return found

    def _test(self, i: int, j: int, measure: str, holds: Callable[[Record], bool]) -> PairedTest:
        first, second = self._side(i), self._side(j)
        shared = first.records.keys() & second.records.keys()
        before, after = (_by_task(side, shared, holds) for side in (first, second))
        tasks = [task for task in before if task in after]
        pair = (first.label, second.label, measure, len(tasks), bool(shared))
        if len(tasks) < ENOUGH_TASKS:
            text = f"too few tasks ({len(tasks)}; at least {ENOUGH_TASKS} are needed)"
            return PairedTest(*pair, problem=text)
        differences = [after[task] - before[task] for task in tasks]

        def mean(chosen: Iterable[int]) -> float:
            return sum(differences[k] for k in chosen) / len(tasks)

        drawn = [mean(draw) for draw in resamples(len(tasks), SEED)]
        return PairedTest(
            *pair,
            difference=interval(mean(range(len(tasks))), drawn),
            p_value=sign_flip_p(differences, SEED),
        )

    @property
    def remarks(self) -> list[str]:
        """Remarks that a reader of the numbers must know."""
        found = []
        if self.common_states == 0:
            found.append(
                "no state is common to all campaigns: only shares can be compared; test one policy on the states of "
                "the other (misstep test --pool-from DIR) for an exact comparison"
                if self.world == "planning"
                else "no state is common to all campaigns: only shares can be compared"
            )
        if self.world == "model":
            found.append(
                "states of models are those on unsafe runs: a state that is missing in a campaign was not met there"
            )
        for side in self.campaigns:
            if not side.finished:
                found.append(f"{side.label}: the campaign is not finished; its numbers may change")
            if side.counts["flaky"]:
                found.append(
                    f"{side.label}: {side.counts['flaky']} states are FLAKY and have no verdict"
                )
        return found

    def as_dict(self) -> dict[str, Any]:
        pairs = [(0, j) for j in range(1, len(self.campaigns))]
        return {
            "world": self.world,
            "differs": self.differs,
            "campaigns": [side.as_dict() for side in self.campaigns],
            "common_states": self.common_states,
            "changes": [{**self._pair(i, j), "counts": self.change_counts(i, j)} for i, j in pairs],
            "families": [{**self._pair(i, j), **self.families(i, j).as_dict()} for i, j in pairs],
            "tests": [test.as_dict() for test in self.tests],
            "remarks": self.remarks,
        }

    def _pair(self, i: int, j: int) -> dict[str, str]:
        return {"before": self.campaigns[i].label, "after": self.campaigns[j].label}

    def _side(self, number: int) -> Side:
        if isinstance(number, bool) or not isinstance(number, int):
            raise UsageError(f"{number!r:.40} is not a campaign", expected="a number, from 0")
        if not 0 <= number < len(self.campaigns):
            raise UsageError(
                f"no campaign {number}", expected=f"a number from 0 to {len(self.campaigns) - 1}"
            )
        return self.campaigns[number]

    def __str__(self) -> str:
        from misstep.comparison.words import in_words

        return in_words(self)


def compare(*campaigns: Any, labels: Sequence[str] | None = None) -> Comparison:
    """Compare campaigns: counts with exact intervals, changes of common states, families, paired tests.

    Campaigns are objects or paths of folders. `labels` are their names in the result; default: the names of the
    folders.
    """
    return Comparison(open_sides(campaigns, labels))


def _in(key: object, shared: set[Any]) -> bool:
    return not shared or key in shared


def _sorted(counts: dict[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda own: (-own[1], own[0])))


def _by_task(side: Side, shared: set[Any], holds: Callable[[Record], bool]) -> dict[str, float]:
    """For each task, the share of its states for which `holds` is true."""
    seen: Counter[str] = Counter()
    hits: Counter[str] = Counter()
    for key, record in side.records.items():
        if _in(key, shared):
            seen[key[0]] += 1
            hits[key[0]] += holds(record)
    return {task: hits[task] / count for task, count in seen.items()}


__all__ = ["Comparison", "Families", "PairedTest", "compare"]
