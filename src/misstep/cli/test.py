"""`misstep test`: find the states where a policy does worse than it could, prove it, and keep it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import typer

from misstep.cli.arguments import read_task, typed, user_trusts
from misstep.cli.campaigns import exit_code, keeping, open_folder, print_summary
from misstep.cli.groups import takes
from misstep.cli.models import is_model, read_model, refuse_options
from misstep.cli.progress import campaign_progress
from misstep.cli.testing_options import (
    Judging,
    Models,
    Output,
    Planning,
    Spending,
    Subject,
    settings_given,
)
from misstep.errors import InputFileError, UsageError

if TYPE_CHECKING:
    from misstep.tasks.load import AnyTask

GROWING = {"pool": "--pool", "runs": "--runs"}
# The user's word on the policy of a campaign that goes on.
TRUSTING = ("policy", "trust_policy")


@takes(Subject, Planning, Models, Judging, Spending, Output)
def command(
    context: typer.Context,
    subject: Subject,
    planning: Planning,
    models: Models,
    judging: Judging,
    spending: Spending,
    output: Output,
) -> int:
    """Test a policy: fuzz states, run the policy from them, let oracles judge, check every witness, keep all of it.

    The campaign in DIR can be interrupted at any time and continued with --resume. Exit code 1 if bugs were found,
    10 if the policy failed to answer in every run, 20 or 21 if a limit ended the work before a bug was found.

    Example: misstep test domain.pddl problem.pddl --policy heuristic:ff --pool 50 -o found
    """
    began = monotonic()
    spending.check()
    options = settings_given(context, subject, planning, models, judging)
    alone = _resumes_alone(context, subject, output, options)
    tasks: list[AnyTask] | None = None
    if not alone:
        if subject.policy is None and subject.config is None:
            raise UsageError("no policy to test", expected="--policy SPEC", hint="see misstep list")
        tasks = _read_tasks(context, subject, planning, models)
    with keeping(output.out, f"misstep test --resume --out {output.out}"):
        if alone:
            campaign = open_folder(output.out, subject.policy, subject.trust_policy)
            limits = spending.limits()
            with campaign_progress() as progress:
                campaign.resume(
                    jobs=spending.jobs,
                    batch_size=spending.batch_size,
                    limits=limits,
                    progress=progress,
                    **options,
                )
        else:
            from misstep.campaigns.testing import test

            limits = spending.limits()
            with campaign_progress() as progress:
                campaign = test(
                    tasks,
                    subject.policy,
                    out=output.out,
                    resume=output.resume,
                    config=subject.config,
                    pool_from=subject.pool_from,
                    jobs=spending.jobs,
                    batch_size=spending.batch_size,
                    limits=limits,
                    progress=progress,
                    trust_policy=user_trusts(subject.trust_policy),
                    **options,
                )
    with campaign:
        summary = campaign.summary
    print_summary(summary, monotonic() - began, output.as_json)
    return exit_code(summary)


def _resumes_alone(
    context: typer.Context, subject: Subject, output: Output, options: dict[str, Any]
) -> bool:
    """Whether the campaign in the folder goes on as it is, or larger; else the whole command was given."""
    has_policy = subject.policy is not None or subject.config is not None
    has_task = subject.task or subject.suite or subject.pool_from
    if not output.resume or (has_policy and has_task):
        return False
    names = [*Subject.names(), *Planning.names(), *Models.names(), *Judging.names()]
    changed = [
        name for name in names if name not in (*GROWING, *TRUSTING) and typed(context, [name])
    ]
    for option in typed(context, changed):
        raise UsageError(
            f"{option} with --resume",
            expected="--resume and --out alone, with a larger --pool or --runs if it shall grow, "
            "or the whole command again",
        )
    assert set(options) <= set(GROWING)
    return True


# -- tasks ----------------------------------------------------------------------------------------


def _read_tasks(
    context: typer.Context, subject: Subject, planning: Planning, models: Models
) -> list[AnyTask] | None:
    """What is tested on; None: the tasks of the campaign that lends its states."""

    def read(paths: list[Path]) -> AnyTask:
        if is_model(paths):
            refuse_options(context, Planning.names(), "a planning task")
            return read_model(paths, models.property, models.constant)
        refuse_options(context, Models.names(), "MODEL.jani as the task")
        return read_task(paths, planning.keep_unimportant)

    if subject.task and subject.suite:
        raise UsageError("both a task and a suite", expected="one of them")
    if subject.task:
        return [read(subject.task)]
    if subject.suite is not None:
        return _read_suite(subject.suite, read)
    if subject.pool_from is not None:
        return None
    raise UsageError(
        "no task to test on", expected="TASK..., --suite FOLDER, --pool-from DIR or --resume"
    )


def _read_suite(folder: Path, read: Callable[[list[Path]], AnyTask]) -> list[AnyTask]:
    if not folder.is_dir():
        raise InputFileError(
            "no such folder", where=str(folder), expected="a folder with PDDL files or models"
        )
    problems = sorted(
        file
        for file in folder.rglob("*.pddl")
        if not file.stem.endswith("domain") and file.is_file()
    )
    found = sorted(file for file in folder.rglob("*.jani") if file.is_file())
    if problems and found:
        raise InputFileError(
            f"the folder has problems and models, such as {problems[0].name} and {found[0].name}",
            where=str(folder),
            expected="problems, or models",
        )
    if not problems and not found:
        raise InputFileError("the folder has neither problem files nor models", where=str(folder))
    tasks = []
    for file in problems or found:
        loaded = read([file])
        loaded.name = str(file.relative_to(folder).with_suffix(""))
        tasks.append(loaded)
    return tasks
