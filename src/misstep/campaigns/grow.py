"""Extend a finished campaign, or reuse the pool of another campaign.

A pool does not depend on oracles, and a longer pool begins with the shorter one. So a finished campaign can be extended
by more states or runs, and the states of one campaign can be used to test another policy. In this code, the campaign
that provides states is the lender.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from misstep.campaigns.planning.stages import PoolStage, pool_key
from misstep.campaigns.rows import StateRow
from misstep.campaigns.settings import PLANNING, Settings
from misstep.campaigns.states import check_walks, text_of_brought
from misstep.campaigns.tables import REMARK, Content
from misstep.errors import UsageError
from misstep.tasks.load import AnyTask
from misstep.tasks.task import Task

LENT = "lent"  # marks a pool that another campaign has made


def grown_settings(settings: Settings, *, pool: int | None, runs: int | None) -> Settings:
    """The same settings with a larger pool or more runs."""
    if settings.world == PLANNING:
        if runs is not None:
            raise UsageError("runs is an option of models", expected="pool")
        if pool is None:
            return settings
        own = settings.of_planning
        _check_larger("pool", own.fuzzing.max_states, pool)
        fuzzing = dataclasses.replace(own.fuzzing, max_states=pool)
        return dataclasses.replace(settings, planning=dataclasses.replace(own, fuzzing=fuzzing))
    if pool is not None:
        raise UsageError("pool is an option of planning tasks", expected="runs")
    if runs is None:
        return settings
    _check_larger("runs", settings.of_model.runs, runs)
    return dataclasses.replace(settings, model=dataclasses.replace(settings.of_model, runs=runs))


def _check_larger(name: str, before: int, now: object) -> None:
    if isinstance(now, bool) or not isinstance(now, int) or now < before:
        raise UsageError(f"{name} is {now!r}", expected=f"{before} or more: a campaign only grows")


def prepare_growth(content: Content, settings: Settings) -> None:
    """Let a campaign continue with larger settings. Blame is computed again, because more is known now."""
    before = Settings.from_dict(content.store.config, content.store.path)
    if settings.world == PLANNING:
        _check_larger(
            "pool",
            before.of_planning.fuzzing.max_states,
            settings.of_planning.fuzzing.max_states,
        )
        for name in content.task_names():
            if LENT in content.findings(name).done(PoolStage.name):
                raise UsageError(
                    f"the pool of {name} was taken from another campaign and cannot grow here",
                    where=content.store.where,
                    hint="extend the other campaign, then take its states with --pool-from",
                )
    else:
        _check_larger("runs", before.of_model.runs, settings.of_model.runs)
    with content.store.unit():
        content.store.set_config(settings.as_dict())
        for name in content.task_names() if settings.world == PLANNING else ():
            findings = content.findings(name)
            for oracle in findings.oracles():
                findings.forget_stage(f"blame {oracle}")
            findings.forget_stage("blamed")
            findings.forget_faults()
    content.store.write_config()


def check_lender(tasks: Sequence[AnyTask], lender: Content) -> None:
    """Raise an error if the other campaign has no states of these tasks."""
    theirs = lender.task_names()
    for task in tasks:
        if task.world != PLANNING:
            raise UsageError(
                "models have no pool to take over, because their states come from the policy's own runs",
                hint="test the other policy with the same seed instead",
            )
        if task.name not in theirs or lender.task(task.name).digest != task.digest:
            raise UsageError(
                f"the other campaign has not tested on {task.name}",
                where=lender.store.where,
                expected="a campaign on the same task",
            )


def lend_pool(content: Content, settings: Settings, lender: Content) -> None:
    """Take the states of another campaign as the pools of this one."""
    for name in content.task_names():
        findings = content.findings(name)
        if findings.state_count():
            continue  # resumed
        rows: list[StateRow] = lender.findings(name).states()
        task = content.task(name)
        assert isinstance(task, Task)
        # Anybody may have written the other campaign.
        _, brought = check_walks(task, rows, lender.store.path)
        with content.store.unit():
            findings.add_states(rows)
            size = settings.of_planning.fuzzing.max_states
            findings.mark_done(PoolStage.name, pool_key(size), 0.0, 0)
            findings.mark_done(PoolStage.name, LENT, 0.0, 0)
            if brought:
                content.add_event(REMARK, text_of_brought(brought), name)


__all__ = ["check_lender", "grown_settings", "lend_pool", "prepare_growth"]
