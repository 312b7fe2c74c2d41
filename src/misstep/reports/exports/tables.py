"""Tables of campaigns: records, summaries, and the numbers of the papers, each as titles and rows.

    records    one row a tested state
    summary    counts, a row a task, and one for all tasks of a campaign where there are several
    metrics    recall and severity (P22), coverage (P24), unique pairs and regions (P22), with rows as in the summary
    oracles    recall of each oracle on the states that all have judged (P23)
    coverage   bugs among the states of each campaign, with pools cut to the same size (P24)
    severity   bugs by gap, or of models by radius
    over-time  bugs that were known after so many seconds of work

Rows are computed on demand, so that a large campaign need not fit in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from misstep.campaigns.campaign import Campaign
from misstep.campaigns.metrics import TestedPool, bugs_over_time, oracle_coverage, ratio
from misstep.campaigns.metrics.timeline import Step, growth
from misstep.campaigns.summary import Summary
from misstep.errors import UsageError
from misstep.tasks.parameters import did_you_mean

Cell = str | int | float | bool | None
ALL = "all"  # tasks or oracles together


@dataclass(frozen=True)
class Table:
    name: str
    title: str
    columns: tuple[str, ...]
    rows: Iterator[tuple[Cell, ...]]


class Source:
    """A campaign with its name in tables; derived data are computed once."""

    def __init__(self, label: str, campaign: Campaign) -> None:
        self.label = label
        self.campaign = campaign

    @cached_property
    def metrics(self) -> dict[str, Any]:
        return self.campaign.metrics(regions=True)

    @cached_property
    def summary(self) -> Summary:
        return self.campaign.summary

    @cached_property
    def oracles(self) -> list[str]:
        return self.summary.oracles

    def over_time(self, oracle: str | None = None) -> list[Step]:
        """Bugs over time, of all oracles together or of one."""
        if oracle is None:
            return bugs_over_time(self.campaign.records)
        return growth(
            own.at
            for record in self.campaign.records
            for own in record.verdicts
            if own.oracle == oracle and own.is_bug and record.verdict != "FLAKY"
        )

    @property
    def end(self) -> float:
        """When the last verdict was known, in seconds of work on a task."""
        return max(
            (own.at for record in self.campaign.records for own in record.verdicts), default=0.0
        )


def sources(campaigns: Sequence[Campaign], labels: Sequence[str] | None = None) -> list[Source]:
    """The campaigns with names: the given ones, or as much of the paths of their folders as makes them different."""
    if labels is not None and len(labels) != len(campaigns):
        raise UsageError(
            f"{len(labels)} labels for {len(campaigns)} campaigns", expected="one for each"
        )
    return [
        Source(label, own)
        for label, own in zip(labels or _labels(campaigns), campaigns, strict=True)
    ]


def _labels(campaigns: Sequence[Campaign]) -> list[str]:
    folders = [own.folder and own.folder.resolve() for own in campaigns]
    deepest = max((len(own.parts) for own in folders if own), default=1)
    names: list[str] = []
    for depth in range(1, deepest + 1):
        names = [_last(own, depth, number) for number, own in enumerate(folders, 1)]
        if len(set(names)) == len(names):
            return names
    return [f"{name} ({number})" for number, name in enumerate(names, 1)]


def _last(folder: Path | None, depth: int, number: int) -> str:
    return f"campaign {number}" if folder is None else "/".join(folder.parts[-depth:])


# -- the tables ---------------------------------------------------------------------------------------

_RECORD = (
    *("id", "world", "task", "number", "state", "outcome", "steps", "cost", "verdict", "kind"),
    *("gap_low", "gap_high", "radius_low", "radius_high", "lower_bound", "upper_bound", "witness"),
    *("oracle", "source", "faults", "family", "expansions", "evaluations", "seconds"),
)
_COUNTS = ("states", "tested", "solved", "bugs", "optimal", "unsolvable", "unknown", "flaky")
_SETS = ("pool", "tested", "solved", "bugs", "fails", "costly", "unsafe", "crash", "unclassified")


def _records(given: Sequence[Source]) -> Table:
    def rows() -> Iterator[tuple[Cell, ...]]:
        for source in given:
            for record in source.campaign.iter_records():
                row = record.as_row()
                yield (source.label, *(row[name] for name in _RECORD))

    return Table("records", "Tested states", ("campaign", *_RECORD), rows())


def _summary(given: Sequence[Source]) -> Table:
    def rows() -> Iterator[tuple[Cell, ...]]:
        for source in given:
            own = source.summary
            for task, counts in own.by_task.items():
                yield (source.label, own.policy, task, *(counts[name] for name in _COUNTS))
            if len(own.by_task) != 1:
                total = {**own.as_dict(), "bugs": own.bugs["total"]}
                yield (source.label, own.policy, ALL, *(total[name] for name in _COUNTS))

    return Table("summary", "Verdicts", ("campaign", "policy", "task", *_COUNTS), rows())


def _metrics(given: Sequence[Source]) -> Table:
    columns = (
        *("campaign", "task", *_SETS, "recall_fails", "recall_fails_of_pool", "recall_costly"),
        *("coverage", "unique_pairs", "regions", "largest_region", "max_gap", "mean_gap"),
    )

    def rows() -> Iterator[tuple[Cell, ...]]:
        for source in given:
            found = source.metrics
            for task, own in found["tasks"].items():
                sets = own["sets"]
                share = ratio(sets["bugs"], sets["pool"])
                yield _metrics_row(source.label, task, own, share, own["regions"])
            if len(found["tasks"]) != 1:
                parts = [own["regions"] for own in found["tasks"].values()]
                known = [size for sizes in parts for size in sizes or ()]
                joined = None if any(sizes is None for sizes in parts) else known
                yield _metrics_row(source.label, ALL, found, found["coverage"], joined)

    return Table("metrics", "Numbers of the papers", columns, rows())


def _metrics_row(
    label: str, task: str, own: dict[str, Any], coverage: float | None, regions: list[int] | None
) -> tuple[Cell, ...]:
    recall, severity, sets = own["recall"] or {}, own["severity"] or {}, own["sets"]
    return (
        *(label, task, *(sets.get(name, 0) for name in _SETS)),
        *(recall.get(name) for name in ("fails", "fails_of_pool", "costly")),
        *(coverage, own["unique_pairs"]),
        None if regions is None else len(regions),
        None if regions is None else max(regions, default=0),
        *(severity.get(name) for name in ("max_gap", "mean_gap")),
    )


def _oracles(given: Sequence[Source]) -> Table:
    def rows() -> Iterator[tuple[Cell, ...]]:
        for source in given:
            found = source.metrics["oracles"]
            for oracle, recall in found["recall"].items():
                used = oracle not in found["dropped"]
                yield source.label, oracle, found["states"] if used else None, recall

    columns = ("campaign", "oracle", "joint_states", "recall")
    return Table("oracles", "Recall of oracles", columns, rows())


def _coverage(given: Sequence[Source]) -> Table:
    def rows() -> Iterator[tuple[Cell, ...]]:
        pools = {
            source.label: {
                task: TestedPool(own["sets"]["pool"], tuple(own["bugs"]))
                for task, own in source.metrics["tasks"].items()
            }
            for source in given
        }
        for label, found in oracle_coverage(pools).items():
            yield label, found.states, found.bugs, found.coverage

    columns = ("campaign", "states", "bugs", "coverage")
    return Table("coverage", "Bugs in pools of one size", columns, rows())


def _severity(given: Sequence[Source]) -> Table:
    def rows() -> Iterator[tuple[Cell, ...]]:
        for source in given:
            found = source.metrics["severity"] or {}
            for scale in ("absolute", "relative"):
                for name, count in found.get(scale, {}).items():
                    yield source.label, f"{scale} gap", name, count
            for radius, count in (source.metrics["radius"] or {}).items():
                yield source.label, "radius", radius, count

    return Table("severity", "Severity of bugs", ("campaign", "scale", "bin", "bugs"), rows())


def _over_time(given: Sequence[Source]) -> Table:
    def rows() -> Iterator[tuple[Cell, ...]]:
        for source in given:
            single = source.oracles if len(source.oracles) > 1 else []
            for oracle in (None, *single):
                for seconds, bugs in source.over_time(oracle):
                    yield source.label, oracle or ALL, seconds, bugs

    columns = ("campaign", "oracle", "seconds", "bugs")
    return Table("over-time", "Bugs over time", columns, rows())


TABLES: dict[str, Callable[[Sequence[Source]], Table]] = {
    "records": _records,
    "summary": _summary,
    "metrics": _metrics,
    "oracles": _oracles,
    "coverage": _coverage,
    "severity": _severity,
    "over-time": _over_time,
}


def table(name: str, given: Sequence[Source]) -> Table:
    """The table of that name."""
    if name not in TABLES:
        raise UsageError(
            f"no table {name!r}", expected=", ".join(TABLES), hint=did_you_mean(name, list(TABLES))
        )
    return TABLES[name](given)


__all__ = ["ALL", "TABLES", "Cell", "Source", "Table", "sources", "table"]
