"""Test a new version of a policy on the states of an old campaign: which bugs are fixed, still there, or new.

    again = misstep.open_campaign("found").retest("python:mine.py:policy")
    print(again)                                    # counts, and the worst of what is a bug now
    for change in again.changes: ...

The new policy runs from every recorded state. The witnesses of the old campaign do not depend on the policy, so they
judge first, and an oracle is asked only where they do not decide (`misstep.campaigns.lending`). The result is an
ordinary campaign: it can be replayed, explained, resumed, and tested again with the next version.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from misstep.campaigns.arguments import as_path, check_session, check_truth
from misstep.campaigns.lending import check_same_tasks, lend
from misstep.campaigns.lent import loan_of
from misstep.campaigns.records import radius_text
from misstep.campaigns.settings import ALL, PLANNING, WITNESSES, Settings, check_oracle
from misstep.campaigns.tables import Content
from misstep.campaigns.testing import conduct
from misstep.campaigns.view import read_records
from misstep.campaigns.worst import severity_of
from misstep.comparison.changes import CHANGES, Change, change_of
from misstep.errors import UsageError
from misstep.oracles.trust import given_oracle, require_oracle_trust
from misstep.policies.trust import Trust
from misstep.policies.trust import given as given_by_user

if TYPE_CHECKING:
    from misstep.campaigns.campaign import Campaign
    from misstep.campaigns.limits import Limits, Progress
    from misstep.campaigns.records import Record
    from misstep.campaigns.session import StopAt

StrPath = str | os.PathLike[str]
WORST = 5  # bugs that are shown
BLAMED = 100  # bugs of a task whose faults are looked for, which takes longer than all the rest


@dataclass(frozen=True)
class Retest:
    """How the states of a campaign change under another policy."""

    before: Campaign
    campaign: Campaign  # an ordinary one, of the new policy on the same states
    outline: list[
        Change
    ]  # as `changes`, without what is for people (facts, names): enough to count
    unchanged: bool  # whether the policy is the one of before, by its digest
    finished: bool  # whether the old campaign was

    @cached_property
    def changes(self) -> list[Change]:
        """The change of each recorded state, in order. Both campaigns must still be open."""
        old = {record.id: record for record in self.before.records}
        return list(_changes(old, self.campaign.records))

    @property
    def counts(self) -> dict[str, int]:
        """The number of states for each word, in the order of tables."""
        found = Counter(change.word for change in self.outline)
        return {word: found[word] for word in CHANGES}

    @cached_property
    def bugs(self) -> list[Change]:
        """The current bugs in brief, worst first (`misstep.campaigns.worst`); of equal ones, new bugs first."""
        return sorted((change for change in self.outline if change.is_bug), key=_badness)

    def as_dict(self) -> dict[str, Any]:
        summary = self.campaign.summary
        folders = [own.folder for own in (self.before, self.campaign)]
        before, now = (None if folder is None else str(folder) for folder in folders)
        return {
            "campaign": before,
            "retest": now,
            "before": _named(self.before),
            "policy": _named(self.campaign),
            "unchanged": self.unchanged,
            "finished": {"campaign": self.finished, "retest": summary.finished},
            "states": len(self.outline),
            "counts": self.counts,
            "bugs": {"before": sum(own.was_bug for own in self.outline), "now": len(self.bugs)},
            "judged": {"by witnesses": self.by_witnesses, "by oracles": self.by_oracles},
            "crashes": summary.crashes,
            "timeouts": summary.timeouts,
            "remarks": self.remarks(summary.remarks),
            "changes": [change.as_dict() for change in self.outline],
        }

    @property
    def by_witnesses(self) -> int:
        """The number of states that the witnesses decided without an oracle."""
        return sum(change.after.source in SOURCES for change in self.outline)

    @property
    def by_oracles(self) -> int:
        """The number of states that an oracle decided, and not what is left open or contradicts itself."""
        return sum(
            change.after.verdict not in ("UNKNOWN", "FLAKY") and change.after.source not in SOURCES
            for change in self.outline
        )

    def remarks(self, others: Sequence[str] = ()) -> list[str]:
        said = []
        if self.unchanged:
            said.append("the policy has not changed: it has the digest of the one tested before")
        if not self.finished:
            said.append(
                "the old campaign is not finished; only the states that it has recorded are tested again"
            )
        return [*said, *others]

    def __str__(self) -> str:
        counts = self.counts
        width = max(map(len, counts))
        lines = [
            f"{word:<{width}}  {count:>5}  {CHANGES[word]}"
            for word, count in counts.items()
            if count or word in ("fixed", "still", "new")
        ]
        lines += [f"  {_shown(change)}" for change in self.bugs[:WORST]]
        if len(self.bugs) > WORST:
            lines.append(f"  ... and {len(self.bugs) - WORST} more bugs")
        return "\n".join(lines)


SOURCES = ("witness", "all runs")


def retest(
    before: Campaign,
    policy: Any,
    *,
    out: StrPath | None = None,
    resume: bool = False,
    oracle: str | None = None,
    judge_fixed: bool = False,
    fault_budget: int | str | None = None,
    jobs: int = 1,
    batch_size: int | None = None,
    limits: Limits | Mapping[str, float] | None = None,
    cluster: str | None = None,
    progress: Progress | None = None,
    trust_policy: Trust = False,
    stop_at_first: StopAt = False,
) -> Retest:
    """Run another policy from every recorded state of a campaign, and say how each has changed.

    With `out` the campaign of the new policy is stored in that folder and can be resumed. `oracle` (default: the oracle
    of the old campaign) judges the states that the witnesses do not decide; with `judge_fixed` it also looks for
    something better where the policy is as good as the witness. `stop_at_first` is as in `misstep.test`.
    """
    check_session(jobs, batch_size, limits, progress, cluster)
    check_truth("resume", resume)
    check_truth("judge_fixed", judge_fixed)
    folder = None if out is None else as_path("out", out, "the path of a folder")
    if policy is None:
        raise UsageError("the policy to test is missing", expected="the new version of the policy")
    lender: Content = before._content
    tasks = before.tasks
    if not tasks or lender.policy is None:
        raise UsageError("there are no records to test again", where=lender.store.where)
    if folder is not None and before.folder is not None and _same(folder, before.folder):
        raise UsageError("the retest would replace the campaign", expected="another folder")
    settings = _settings(before.settings, oracle, judge_fixed, fault_budget, lender, trust_policy)
    given_by_user(policy)

    def prepare(content: Content, own: Settings) -> None:
        check_same_tasks(content, lender)
        lend(content, own, lender)
        once.close()

    how = (jobs, batch_size, limits, progress)
    with ExitStack() as once:
        once.enter_context(lender.store.keeping_rows())
        old = dict(_brief(before))  # first, so that unreadable records are reported before any work
        if not old:
            # Without records nothing is tested, which would pass every gate. A safe policy on a model has no records.
            raise UsageError(
                "there are no records to test again",
                where=lender.store.where,
                expected="a campaign that has recorded states",
                hint="'misstep test' tests the new policy from the start",
            )
        campaign = conduct(
            tasks,
            policy,
            settings,
            folder,
            resume,
            prepare,
            how,
            trust_policy,
            stop_at_first=stop_at_first,
            cluster=cluster,
        )
    return _made(before, old, campaign)


def _made(before: Campaign, old: Mapping[str, Record], campaign: Campaign) -> Retest:
    loan = loan_of(campaign._store)
    assert loan is not None
    own = campaign.policy
    unchanged = own is not None and own.digest == loan.digest
    outline = list(_changes(old, dict(_brief(campaign)).values()))
    return Retest(before, campaign, outline, unchanged, loan.finished)


def _settings(
    settings: Settings,
    oracle: str | None,
    judge_fixed: bool,
    fault_budget: int | str | None,
    lender: Content,
    trust: Trust,
) -> Settings:
    """The settings of the old campaign, because they define what a bug is."""
    if oracle is None:
        require_oracle_trust(settings.oracle, trust, lender.store.where)
    given_oracle(oracle or settings.oracle)
    check_oracle(settings.world, oracle or settings.oracle)
    own = replace(
        settings, oracle=oracle or settings.oracle, retest=ALL if judge_fixed else WITNESSES
    )
    if fault_budget is None:
        own = replace(own, blame_most=BLAMED)
    else:
        budget = None if fault_budget == "none" else int(fault_budget)
        own = replace(own, fault_budget=budget, blame_most=None)
    if own.world == PLANNING:  # the witnesses are there for all states
        own = replace(own, planning=replace(own.of_planning, isolate=False))
    return own


def _same(one: os.PathLike[str], other: os.PathLike[str]) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _brief(campaign: Campaign) -> Iterator[tuple[str, Record]]:
    content = campaign._content
    for task in content.task_names():
        for record in read_records(content, task, brief=True):
            yield record.id, record


def _changes(old: Mapping[str, Record], new: Iterable[Record]) -> Iterator[Change]:
    for after in new:
        before = old.get(after.id)
        if before is None:
            continue  # a state that the old campaign had found, and not judged yet
        if before.state != after.state:
            raise UsageError(
                f"the campaign to test again has another state {after.id} by now",
                expected="the campaign as it was when the retest began",
            )
        change = change_of(before, after)
        # All proofs of the old campaign were copied. If an old bug is not proven by them, it has only the word of a
        # folder that anybody may have written, or a derivation that could not be repeated.
        told = after.is_bug or not change.is_bug
        yield change if told else replace(change, word="undecided")


def _badness(change: Change) -> tuple[Any, ...]:
    record = change.after
    return severity_of(record), change.word not in ("new", "worse"), record.task, record.number


def _shown(change: Change) -> str:
    record = change.after
    loss = record.as_row()
    parts = [record.id, change.word, str(record.kind)]
    if record.world == PLANNING:
        low = loss["gap_low"]
        parts.append("never reaches the goal" if low is None else f"loses {low}")
    else:
        known = record.radius
        parts.append("avoidable" if known is None else radius_text(known))
    if record.family:
        parts.append(record.family)
    return "  ".join(parts)


def _named(campaign: Campaign) -> dict[str, str | None]:
    own = campaign.policy
    return {"spec": None, "digest": None} if own is None else own._asdict()


__all__ = ["Retest", "retest"]
