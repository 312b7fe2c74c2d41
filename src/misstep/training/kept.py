"""A selection whose records are kept: one campaign for each policy, in a folder of its own.

The campaigns use the same pools, oracle and order of judging as the test without records (`testing.py`), so the ranking
is the same. A campaign stores a task when all of it is judged, and a selection that was stopped does not repeat it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from misstep.campaigns.campaign import Campaign
from misstep.campaigns.records import Record
from misstep.campaigns.testing import test
from misstep.checking.seal import Sealed
from misstep.errors import (
    FlakyPolicyError,
    InputFileError,
    InputFormatError,
    UndecidedError,
    UsageError,
)
from misstep.tasks.task import Task
from misstep.training.testing import TaskResult, TestSettings

_LONGEST = 100  # characters of a folder's name


def folders(out: Path, names: Sequence[str]) -> list[Path]:
    """The folder of each policy, named after it, so that a policy finds its records again among other policies."""
    found: list[Path] = []
    for name in names:
        short = re.sub(r"[^A-Za-z0-9._=+]+", "-", name).strip("-.")[-_LONGEST:] or "policy"
        folder, number = out / short, 2
        while folder in found:
            folder, number = out / f"{short}-{number}", number + 1
        found.append(folder)
    return found


def test_kept(
    tasks: Sequence[Task],
    policy: Any,
    settings: TestSettings,
    folder: Path,
    progress: Callable[[str, int], None],
) -> list[TaskResult]:
    """Test a policy on all tasks, or read what was found before; `progress` takes a task and how many are done."""
    if folder.is_symlink():  # the folder that the user named is the one around it
        raise InputFileError(
            "this is a symbolic link, which is not followed here",
            where=str(folder),
            expected="the folder of a campaign",
        )
    fuzzing = settings.fuzzing
    tree = {"fuzzing": {"max_iterations": fuzzing.max_iterations}}
    # One chunk for each task, so that every state benefits from all states before it, as in the other test.
    judging = {"chunk": settings.pool_size, "round": 1}
    try:
        campaign = test(
            list(tasks),
            policy,
            out=folder,
            resume=True,
            config={"planning": {**judging, **tree}},
            progress=_Told(progress),
            fuzz=fuzzing.bias,
            pool=fuzzing.max_states,
            fuzz_time="none",
            fault_budget="none",
            seed=settings.seed,
            max_steps=settings.max_steps,
            oracle=settings.oracle,
        )
    except UsageError as error:
        if error.where == str(folder):
            error.what = error.what.replace("its chunk is", "its pool is")
            error.hint = "choose another folder (--out), or give the options of the first time"
        raise
    with campaign:
        _check_written(campaign, folder)
        _check_known(campaign, folder)
        return [_result(campaign, task.name) for task in tasks]


def _check_written(campaign: Campaign, folder: Path) -> None:
    """Refuse records that were changed since they were written: the ranking would rest on them."""
    for problem in Sealed(campaign._content.store.connection).problems:
        raise InputFormatError(
            problem, where=str(folder), hint="remove the folder, or choose another one (--out)"
        )


def _check_known(campaign: Campaign, folder: Path) -> None:
    """Refuse records without verdicts: states that are not known to be bugs would make the policy look better."""
    summary = campaign.summary
    if summary.flaky or summary.contradictions:
        raise FlakyPolicyError(
            "the policy cannot be ranked: it answers differently when it is asked again, or declares so",
            where=str(folder),
            hint="leave it out; 'misstep records' shows where",
        )
    if not summary.finished:
        raise UndecidedError(
            "a limit has ended the test of the policy, so that it cannot be ranked",
            where=str(folder),
            hint="the same command continues",
        )


class _Told:
    """Reports the progress of a campaign as progress of the selection."""

    def __init__(self, report: Callable[[str, int], None]) -> None:
        self._report = report
        self._done = 0

    def __call__(self, phase: str, done: int, total: int | None, bugs: int) -> None:  # noqa: ARG002
        self._report(phase.partition(": ")[0], self._done)

    def tasks(self, done: int, total: int) -> None:  # noqa: ARG002
        self._done = done


def _result(campaign: Campaign, task: str) -> TaskResult:
    records = list(campaign.iter_records(task))
    return TaskResult(
        task,
        len(records),
        bool(records) and records[0].run.outcome == "goal",
        len(records),
        sum(record.run.outcome == "goal" for record in records),
        sum(record.is_bug for record in records),
        sum(_lost(record) for record in records),
        sum(record.effort.expansions + record.effort.evaluations for record in records),
    )


def _lost(record: Record) -> int:
    low = None if record.gap is None else record.gap[0]
    return low if record.is_bug and low is not None else 0


__all__ = ["folders", "test_kept"]
