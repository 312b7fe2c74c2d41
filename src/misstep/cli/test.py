"""`misstep test`: find the states where a policy does worse than it could, prove it, and keep it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from shlex import quote
from time import monotonic
from typing import TYPE_CHECKING, Any

import typer

from misstep.cli.arguments import check_limits, domain_of_suite, read_task, typed, user_trusts
from misstep.cli.campaigns import exit_code, keeping, open_folder, print_summary
from misstep.cli.gates import Gates, Prepared
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
from misstep.errors import UsageError
from misstep.policies.options import with_timeout

if TYPE_CHECKING:
    from misstep.campaigns.campaign import Campaign
    from misstep.tasks.load import AnyTask

GROWING = {"pool": "--pool", "runs": "--runs"}
# The user's answer about the policy of a campaign that is continued.
TRUSTING = ("policy", "trust_policy")


@takes(Subject, Planning, Models, Judging, Spending, Gates, Output)
def command(
    context: typer.Context,
    subject: Subject,
    planning: Planning,
    models: Models,
    judging: Judging,
    spending: Spending,
    gates: Gates,
    output: Output,
) -> int:
    """Test a policy: fuzz states, run the policy from them, let oracles judge, check every witness, keep all of it.

    The fuzzer collects states by random walks (of a model, on random runs). An oracle, such as a planner, looks for
    something better than what the policy does there; the plan or strategy that it finds is the witness, which proves
    the bug. The defaults are good to begin with: --policy, --pool (of a model --runs) and -o are all you need.

    The campaign in DIR can be interrupted at any time and continued with --resume. Exit code 1 if bugs were found,
    10 if the policy failed to answer in every run, 20 or 21 if a limit ended the work before a bug was found. With a
    gate (--baseline, --fail-on, --max-bugs): 1 if it fails, and bugs that it allows do not count.

    Example: misstep test domain.pddl problem.pddl --policy heuristic:ff --pool 50 -o found
    """
    began = monotonic()
    spending.check()
    check_limits(timeout=subject.timeout)
    options = settings_given(context, subject, planning, models, judging)
    if output.resume and output.force:
        raise UsageError(
            "both --resume and --force",
            expected="--resume to continue the campaign in DIR, or --force to replace it",
        )
    alone = _resumes_alone(context, subject, output, options)
    if not alone and subject.policy is None and subject.config is None:
        raise UsageError("no policy to test", expected="--policy SPEC", hint="see misstep list")
    prepared = gates.prepare()
    tasks = None if alone else _read_tasks(context, subject, planning, models)
    prepared.check_tasks(tasks)
    with keeping(output.out, f"misstep test --resume --out {quote(str(output.out))}"):
        if alone:
            campaign = _resume(subject, spending, output, prepared, options)
        else:
            campaign = _begin(tasks, subject, spending, output, prepared, options)
    with campaign:
        summary = campaign.summary
        result = prepared.finish(campaign)
    print_summary(summary, monotonic() - began, output.as_json, result)
    return exit_code(summary) if result is None else result.exit_code


def _resume(
    subject: Subject,
    spending: Spending,
    output: Output,
    prepared: Prepared,
    options: dict[str, Any],
) -> Campaign:
    campaign = open_folder(output.out, subject.policy, subject.trust_policy)
    prepared.check_tasks(campaign.tasks if prepared.gate is not None else None)
    limits = spending.limits()
    with campaign_progress() as progress:
        return campaign.resume(
            jobs=spending.jobs,
            batch_size=spending.batch_size,
            limits=limits,
            cluster=spending.cluster,
            progress=progress,
            stop_at_first=prepared.stop_at(campaign.tasks),
            **options,
        )


def _begin(
    tasks: list[AnyTask] | None,
    subject: Subject,
    spending: Spending,
    output: Output,
    prepared: Prepared,
    options: dict[str, Any],
) -> Campaign:
    from misstep.campaigns.testing import test

    stops = prepared.options.stop_at_first
    if tasks is None and subject.pool_from is not None and (prepared.gate is not None or stops):
        with open_folder(subject.pool_from) as lender:
            tasks = lender.tasks
        prepared.check_tasks(tasks)
    limits = spending.limits()
    with campaign_progress() as progress:
        return test(
            tasks,
            with_timeout(subject.policy, subject.timeout),
            out=output.out,
            resume=output.resume,
            config=subject.config,
            pool_from=subject.pool_from,
            jobs=spending.jobs,
            batch_size=spending.batch_size,
            limits=limits,
            cluster=spending.cluster,
            progress=progress,
            trust_policy=user_trusts(subject.trust_policy),
            stop_at_first=prepared.stop_at(tasks or ()),
            force=output.force,
            **options,
        )


def _resumes_alone(
    context: typer.Context, subject: Subject, output: Output, options: dict[str, Any]
) -> bool:
    """Whether the campaign in the folder is continued as it is, or larger; else the whole command was given."""
    has_policy = subject.policy is not None or subject.config is not None
    has_task = subject.task or subject.suite or subject.pool_from
    if not output.resume or (has_policy and has_task):
        return False
    names = [*Subject.names(), *Planning.names(), *Models.names(), *Judging.names()]
    changed = [
        name for name in names if name not in (*GROWING, *TRUSTING) and typed(context, [name])
    ]
    _check_no_campaign(subject.task)
    for option in typed(context, changed):
        raise UsageError(
            f"{option} with --resume",
            expected="--resume and --out alone, with a larger --pool or --runs if it shall grow, "
            "or the whole command again",
        )
    assert set(options) <= set(GROWING)
    return True


def _check_no_campaign(paths: list[Path] | None) -> None:
    """A user who gives the folder of a campaign instead of a task most likely wants to continue it."""
    from misstep.campaigns.create import DATABASE_NAME

    for path in paths or ():
        if (path / DATABASE_NAME).is_file():
            raise UsageError(
                "this is the folder of a campaign, not a task",
                where=str(path),
                expected="a task, a model, or --resume",
                hint=f"misstep test --resume --out {quote(str(path))} continues the campaign, and "
                f"--pool-from {quote(str(path))} tests its states with another policy",
            )


# -- tasks ----------------------------------------------------------------------------------------


def _read_tasks(
    context: typer.Context, subject: Subject, planning: Planning, models: Models
) -> list[AnyTask] | None:
    """What is tested on; None: the tasks of the campaign that lends its states."""

    def read(paths: list[Path]) -> AnyTask:
        if is_model(paths):
            refuse_options(context, Planning.names(), "a planning task")
            return read_model(paths, models)
        refuse_options(context, Models.names(), "MODEL.jani as the task")
        return read_task(paths, planning.keep_unimportant)

    if subject.suite is not None:
        return _read_suite([subject.suite], read, domain_of_suite(subject.task))
    if subject.task:
        from misstep.tasks.suites import is_suite

        _check_no_campaign(subject.task)

        return _read_suite(subject.task, read) if is_suite(subject.task) else [read(subject.task)]
    if subject.pool_from is not None:
        return None
    raise UsageError(
        "no task to test on",
        expected="TASK..., --suite FOLDER, DOMAIN.pddl --suite FOLDER, --pool-from DIR or --resume",
    )


def _read_suite(
    given: list[Path], read: Callable[[list[Path]], AnyTask], domain: Path | None = None
) -> list[AnyTask]:
    from misstep.tasks.suites import suite_files

    tasks = []
    for name, files in suite_files(given, domain):
        loaded = read(list(files))
        loaded.name = name
        tasks.append(loaded)
    return tasks
