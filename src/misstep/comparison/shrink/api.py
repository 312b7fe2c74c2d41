"""Shrink the bugs of a campaign: checks, continuing an earlier search, and the order of the bugs."""

from __future__ import annotations

from functools import partial
from time import monotonic

from misstep.campaigns.arguments import check_number, check_seconds
from misstep.campaigns.campaign import Campaign
from misstep.campaigns.limits import note_of
from misstep.campaigns.records import Record, no_bug_text
from misstep.campaigns.session import source_of
from misstep.comparison.shrink.elsewhere import OnCluster
from misstep.comparison.shrink.examine import OpenExamining, examining_here
from misstep.comparison.shrink.folder import folder_of, read, restore, writing
from misstep.comparison.shrink.judging import Judge, Sought, judging_settings
from misstep.comparison.shrink.legal import DEFAULT_LEGAL, LEGAL
from misstep.comparison.shrink.planning import Budget, PlanningShrink, Progress, digest_of
from misstep.comparison.shrink.search import is_done
from misstep.comparison.shrink.shrunk import Shrunk
from misstep.errors import InputFormatError, UsageError
from misstep.oracles.trust import require_oracle_trust
from misstep.tasks.task import Task

DEFAULT_CANDIDATES = 5000


def shrink_bug(
    campaign: Campaign,
    bug: Record | str | int,
    *,
    legal: str = DEFAULT_LEGAL,
    jobs: int = 1,
    candidates: int | None = DEFAULT_CANDIDATES,
    time_limit: float | None = None,
    again: bool = False,
    progress: Progress | None = None,
    cluster: str | OnCluster | None = None,
) -> Shrunk:
    """Find a small task that shows the fault of a bug; it is stored beside the campaign.

    An interrupted search is continued, and a finished result is returned at once; `again` starts from scratch.
    `cluster` is the address of a cluster that examines candidates, or workers that serve several bugs.
    """
    if isinstance(cluster, str):
        workers = OnCluster(cluster, note_of(progress))
        try:
            return shrink_bug(
                campaign,
                bug,
                legal=legal,
                jobs=jobs,
                candidates=candidates,
                time_limit=time_limit,
                again=again,
                progress=progress,
                cluster=workers,
            )
        finally:
            workers.close()
    check_number("jobs", jobs)
    if cluster is not None and jobs != 1:
        raise UsageError("both jobs and cluster are given", expected="one of them")
    check_seconds("time_limit", time_limit)
    if candidates is not None:
        check_number("candidates", candidates)
    if legal not in LEGAL:
        raise UsageError(f"legal is {legal!r:.40}", expected=" or ".join(LEGAL))
    record = campaign.record(bug)
    _refuse_others(campaign, record)
    ends = None if time_limit is None else monotonic() + time_limit
    with writing(campaign):
        budget = Budget(candidates, ends)
        examining: OpenExamining = partial(examining_here, jobs=jobs)
        if cluster is not None:
            examining = partial(cluster.examining, files=campaign._content.policy_files)
        found = _shrunk(campaign, record, legal, examining, budget, progress, again=again)
        if campaign.folder is None or found.campaign.folder is not None:
            return found
        found.campaign.close()
        stored = read(campaign, record)
        assert stored is not None
        return stored


def _shrunk(
    campaign: Campaign,
    record: Record,
    legal: str,
    examining: OpenExamining,
    budget: Budget,
    progress: Progress | None,
    *,
    again: bool,
) -> Shrunk:
    place = folder_of(campaign, record)
    if place is not None:
        restore(place)
    known = None if again else _known(campaign, record)
    task = campaign._content.task(record.task)
    if not isinstance(task, Task):
        from misstep.comparison.shrink.models import ModelShrink

        model = ModelShrink(campaign, task, record, place, budget, progress, legal=legal)
        is_same = known is not None and known.note.allowed == legal
        if known is not None and is_same and known.minimal and known.note.digest == model.digest:
            return known
        return model.run()
    judge = _judge(campaign, record)
    is_same = (
        known is not None
        and known.note.allowed == legal
        and known.note.digest == digest_of(task, judge)
    )
    if known is not None and is_same and is_done(known.note.position):
        return known
    campaign._ask_again(task).close()  # an error if it has changed
    work = PlanningShrink(
        task,
        record,
        judge,
        place,
        legal=legal,
        examining=examining,
        budget=budget,
        progress=progress,
    )
    return work.run(known if is_same else None)


def _known(campaign: Campaign, record: Record) -> Shrunk | None:
    try:
        return read(campaign, record)
    except InputFormatError:
        return None  # it is made again


def _judge(campaign: Campaign, record: Record) -> Judge:
    settings = campaign.settings
    require_oracle_trust(settings.oracle, campaign._trust, campaign._store.where)
    source = source_of(campaign._content, settings, campaign._policy, campaign._trust)
    return Judge(judging_settings(settings), source, True, Sought.of(record))


def _refuse_others(campaign: Campaign, record: Record) -> None:
    if not record.is_bug:
        why = " (the policy contradicts itself)" if record.verdict == "FLAKY" else ""
        raise UsageError(
            f"{no_bug_text(record)}{why}",
            where=campaign._store.where,
            expected="the id of a bug",
            hint="'misstep records DIR --bugs' lists them",
        )
    if record.faults is None and campaign.settings.fault_budget is not None:
        raise UsageError(
            f"the fault of {record.id} is not known yet: the campaign is not finished",
            where=campaign._store.where,
            hint="wait until it ends, or continue it with 'misstep test --resume'",
        )


def in_order(bugs: list[Record]) -> list[Record]:
    """Bugs in the order of shrinking: one of each family first, large families first, short runs first."""
    families: dict[tuple[str | None, str | None], list[Record]] = {}
    for bug in bugs:
        families.setdefault((bug.family, bug.kind), []).append(bug)
    groups = sorted(families.values(), key=len, reverse=True)
    for group in groups:
        group.sort(key=lambda bug: (len(bug.run.operators), bug.task, bug.number))
    longest = max(map(len, groups), default=0)
    return [group[place] for place in range(longest) for group in groups if place < len(group)]


def shrunk_of(campaign: Campaign, bug: Record | str | int) -> Shrunk | None:
    """The stored result of shrinking a bug, or None. Nothing is run."""
    return read(campaign, campaign.record(bug))


__all__ = ["DEFAULT_CANDIDATES", "in_order", "shrink_bug", "shrunk_of"]
