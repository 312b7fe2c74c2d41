"""One campaign of a comparison, with its numbers on all its states and on the states that all campaigns share."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from misstep.binomial import Share, share_of
from misstep.campaigns.campaign import Campaign, open_campaign
from misstep.campaigns.records import KINDS, Opinion, Record
from misstep.campaigns.rows import Values
from misstep.errors import InputFormatError, UsageError

COUNTED = ("tested", "solved", "bugs", *KINDS, "optimal", "unsolvable", "unknown", "flaky")
OF_VERDICT = {
    "BUG": "bugs",
    "OPTIMAL": "optimal",
    "NOT A BUG": "optimal",
    "UNKNOWN": "unknown",
    "FLAKY": "flaky",
}
StateKey = tuple[str, Values]
"""A task, by its content and not by its name, and one of its states."""


@dataclass(frozen=True)
class Numbers:
    """Counts of some records."""

    counts: dict[str, int]
    by_oracle: dict[str, dict[str, int]]

    @property
    def bugs(self) -> Share:
        return share_of(self.counts["bugs"], self.counts["tested"])

    def bugs_by(self, oracle: str) -> Share:
        own = self.by_oracle.get(oracle, {})
        return share_of(own.get("bugs", 0), own.get("tested", 0))

    def as_dict(self) -> dict[str, Any]:
        return {
            "counts": self.counts,
            "bugs": self.bugs.as_dict(),
            "by_oracle": {
                oracle: {"counts": own, "bugs": self.bugs_by(oracle).as_dict()}
                for oracle, own in self.by_oracle.items()
            },
        }


@dataclass(frozen=True)
class Side:
    """One of the campaigns."""

    label: str
    folder: str | None
    world: str
    policy: str
    digest: str | None  # of the policy
    oracles: tuple[str, ...]
    settings: dict[str, Any]  # flat, by dotted names
    tasks: dict[str, str]  # name -> digest
    records: dict[StateKey, Record]
    all: Numbers
    common: Numbers  # on the states that all campaigns have
    finished: bool  # nothing is left to do

    @property
    def counts(self) -> dict[str, int]:
        return self.all.counts

    @property
    def intervals(self) -> dict[str, Share]:
        """Shares of bugs among tested states with exact intervals."""
        return {"all": self.all.bugs, "common": self.common.bugs}

    def as_dict(self) -> dict[str, Any]:
        return {
            "label": self.label,
            "campaign": self.folder,
            "finished": self.finished,
            "policy": self.policy,
            "digest": self.digest,
            "oracles": list(self.oracles),
            "all": self.all.as_dict(),
            "common": self.common.as_dict(),
        }


def numbers_of(records: Iterable[Record]) -> Numbers:
    counts: Counter[str] = Counter()
    by_oracle: dict[str, Counter[str]] = {}
    for record in records:
        counts["tested"] += 1
        counts["solved"] += record.run.outcome == "goal"
        counts["unsolvable" if record.is_unsolvable else OF_VERDICT[record.verdict]] += 1
        if record.is_bug:
            counts[record.kind or "unclassified"] += 1
        for opinion in record.verdicts:
            own = by_oracle.setdefault(opinion.oracle, Counter())
            own["tested"] += 1
            own[_counted_as(opinion)] += 1
    judged = ("tested", "bugs", "optimal", "unsolvable", "unknown", "flaky")
    return Numbers(
        {name: counts[name] for name in COUNTED},
        {oracle: {name: own[name] for name in judged} for oracle, own in by_oracle.items()},
    )


def _counted_as(opinion: Opinion) -> str:
    unsolvable = (
        opinion.verdict == "OPTIMAL" and opinion.bounds is not None and opinion.bounds[0] is None
    )
    return "unsolvable" if unsolvable else OF_VERDICT[opinion.verdict]


def open_sides(given: Sequence[Any], labels: Sequence[str] | None) -> list[Side]:
    """The campaigns, read; folders are opened and closed again."""
    if len(given) < 2:
        raise UsageError(f"{len(given)} campaign(s) to compare", expected="two or more")
    opened: list[Campaign] = []
    ours: list[Campaign] = []
    try:
        for own in given:
            if isinstance(own, Campaign):
                opened.append(own)
            elif isinstance(own, (str, os.PathLike)):
                ours.append(open_campaign(own))
                opened.append(ours[-1])
            else:
                raise UsageError(
                    f"{own!r:.80} is not a campaign",
                    expected="a campaign, or the path of its folder",
                )
        return _sides(opened, _labels(opened, labels))
    finally:
        for campaign in ours:
            campaign.close()


def _sides(campaigns: Sequence[Campaign], labels: Sequence[str]) -> list[Side]:
    worlds = {campaign.settings.world for campaign in campaigns}
    if len(worlds) > 1:
        raise UsageError(
            "campaigns on planning tasks and on models cannot be compared",
            expected="only planning tasks, or only models",
        )
    tasks = [{task.name: task.digest for task in campaign.tasks} for campaign in campaigns]
    check_contents(tasks, labels)
    twice = {
        digest for own in tasks for digest, times in Counter(own.values()).items() if times > 1
    }
    found = []
    for campaign, own in zip(campaigns, tasks, strict=True):
        # The same task may have another name elsewhere; twice in one campaign, names tell them apart.
        key = {name: f"{d} {name}" if d in twice else d for name, d in own.items()}
        found.append({(key[r.task], r.state): r for r in campaign.iter_records()})
    shared = set(found[0]).intersection(*found[1:])
    return [
        _side(campaign, label, own, records, shared)
        for campaign, label, own, records in zip(campaigns, labels, tasks, found, strict=True)
    ]


def _side(
    campaign: Campaign,
    label: str,
    tasks: dict[str, str],
    records: dict[StateKey, Record],
    shared: set[StateKey],
) -> Side:
    settings, identity = campaign.settings, campaign.policy
    whole = numbers_of(records.values())
    return Side(
        label=label,
        folder=None if campaign.folder is None else str(campaign.folder),
        world=settings.world,
        policy=settings.policy if identity is None else identity.spec,
        digest=None if identity is None else identity.digest,
        oracles=tuple(dict.fromkeys((settings.oracle, *whole.by_oracle))),
        settings=_flat(settings.as_dict()),
        tasks=tasks,
        records=records,
        all=whole,
        common=numbers_of(record for key, record in records.items() if key in shared),
        finished=campaign.finished,
    )


def check_contents(tasks: Sequence[Mapping[str, str]], labels: Sequence[str]) -> None:
    """Raise an error if two different tasks have the same name, because their states would be mixed up."""
    first: dict[str, tuple[str, str]] = {}
    for own, label in zip(tasks, labels, strict=True):
        for name, digest in own.items():
            known, where = first.setdefault(name, (digest, label))
            if known != digest:
                raise InputFormatError(
                    f"the task {name} is not the same in {where} and in {label}",
                    where=label,
                    expected="the same content under the same name",
                    hint="its files were changed between the two; test both on the same files, "
                    "or give one of them another name",
                )


def _labels(campaigns: Sequence[Campaign], given: Sequence[str] | None) -> list[str]:
    if given is not None:
        named: list[object] = [] if isinstance(given, str) else list(given)
        if not named or not all(isinstance(name, str) and name for name in named):
            raise UsageError(f"labels is {given!r:.80}", expected="a list of texts")
        if len(named) != len(campaigns) or len(set(named)) != len(named):
            raise UsageError(
                f"{len(named)} labels for {len(campaigns)} campaigns",
                expected="one for each, all different",
            )
        return [str(name) for name in named]
    folders = [campaign.folder for campaign in campaigns]
    for shown in (lambda folder: Path(folder).resolve().name, str):
        names = [
            f"campaign {number}" if folder is None else shown(folder)
            for number, folder in enumerate(folders, 1)
        ]
        if len(set(names)) == len(names):
            return names
    return [f"{name} ({number})" for number, name in enumerate(names, 1)]


def _flat(tree: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in tree.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{before}{name}.")
        else:
            flat[before + name] = value
    return flat


__all__ = ["COUNTED", "Numbers", "Side", "StateKey", "check_contents", "numbers_of", "open_sides"]
