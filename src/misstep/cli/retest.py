"""`misstep retest`: find out which bugs a new version of the policy has fixed, and which are new."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from misstep.cli.arguments import AsJson, Timeout, TrustPolicy, check_limits, user_trusts
from misstep.cli.campaigns import MOST_REMARKS, Folder, exit_code, keeping, open_folder
from misstep.cli.gates import Gates, Prepared
from misstep.cli.groups import Group, takes
from misstep.cli.output import print_json, remark, say
from misstep.cli.progress import campaign_progress
from misstep.cli.testing_options import Spending
from misstep.errors import InputFileError, Interrupted, UsageError
from misstep.escaping import escaped
from misstep.policies.options import with_timeout

if TYPE_CHECKING:
    from misstep.campaigns.campaign import Campaign
    from misstep.comparison.gates import GateResult
    from misstep.comparison.retest import Retest


@dataclass(frozen=True)
class Request(Group, heading="What to test again"):
    folder: Folder
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy", metavar="SPEC", help="The new version of the policy, or another one."
        ),
    ] = None
    timeout: Timeout = None
    trust_policy: TrustPolicy = False
    oracle: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="The oracle for states that the witnesses of DIR do not decide. Default: the oracle of DIR.",
        ),
    ] = None
    judge_fixed: Annotated[
        bool,
        typer.Option(
            "--judge-fixed",
            help="Where the policy is as good as the witness, let the oracle look for something better.",
        ),
    ] = False
    fault_budget: Annotated[
        str | None,
        typer.Option(
            metavar="N|none",
            help="Evaluations for finding the faults behind one bug, for all bugs. none: faults are not looked for. "
            "Default: as in DIR, for the first 100 bugs of a task.",
        ),
    ] = None


@dataclass(frozen=True)
class Output(Group, heading="Output"):
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR2",
            help="Keep the campaign of the new policy here. Default: only the answer is printed.",
        ),
    ] = None
    resume: Annotated[bool, typer.Option("--resume", help="Continue the retest in DIR2.")] = False
    as_json: AsJson = False


@takes(Request, Spending, Gates, Output)
def retest_command(
    context: typer.Context,  # noqa: ARG001
    request: Request,
    spending: Spending,
    gates: Gates,
    output: Output,
) -> int:
    """Run a new version of a policy from every state of a campaign: which bugs are fixed, still there, or new.

    The witnesses in DIR judge first, and the oracle only where they do not decide. Exit code 1 if there are bugs now;
    the other codes are those of 'misstep test'. With a gate: 1 if it fails; without --baseline it compares with DIR.

    Example: misstep retest found --policy heuristic:add -o again
    """
    began = monotonic()
    spending.check()
    check_limits(timeout=request.timeout)
    if request.policy is None:
        raise UsageError(
            "the policy to test is missing", expected="--policy SPEC", hint="see misstep list"
        )
    if output.resume and output.out is None:
        raise UsageError("--resume without --out", expected="--out DIR2, where the retest was kept")
    _refuse_itself(request, output)
    _refuse_used(output)
    prepared = gates.prepare(retests=True)
    with open_folder(request.folder, trust_policy=request.trust_policy) as campaign:
        prepared.check_tasks(campaign.tasks)
        found = _tested(campaign, request, spending, output, prepared)
        with found.campaign:
            return _print(found, output, monotonic() - began, prepared.finish(found))


def _tested(
    campaign: Campaign,
    request: Request,
    spending: Spending,
    output: Output,
    prepared: Prepared,
) -> Retest:
    from misstep.comparison.retest import retest

    limits = spending.limits()
    with _interruptible(request, output), campaign_progress() as progress:
        return retest(
            campaign,
            with_timeout(request.policy, request.timeout),
            out=output.out,
            resume=output.resume,
            oracle=request.oracle,
            judge_fixed=request.judge_fixed,
            fault_budget=_budget(request.fault_budget),
            jobs=spending.jobs,
            batch_size=spending.batch_size,
            limits=limits,
            cluster=spending.cluster,
            progress=progress,
            trust_policy=user_trusts(request.trust_policy),
            stop_at_first=prepared.stop_at(campaign.tasks, campaign),
        )


@contextmanager
def _interruptible(request: Request, output: Output) -> Iterator[None]:
    """After Ctrl-C, say what is kept (nothing without --out) and which command continues."""
    again = f"misstep retest {quote(str(request.folder))} --policy {quote(str(request.policy))}"
    if output.out is not None:
        with keeping(output.out, f"{again} --out {quote(str(output.out))} --resume", word=False):
            yield
        return
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(
            "stopped by the user; nothing is kept without --out",
            where=str(request.folder),
            hint=f"{again} --out DIR2 can be resumed",
        ) from None


def _refuse_itself(request: Request, output: Output) -> None:
    if output.out is not None and output.out.resolve() == request.folder.resolve():
        raise UsageError(
            "--out names the folder of the campaign that is tested again",
            where=str(output.out),
            expected="another folder",
        )


def _refuse_used(output: Output) -> None:
    """Refuse a folder with a campaign before any work; a later error would name another command."""
    from misstep.campaigns.create import DATABASE_NAME

    if output.out is None or output.resume:
        return
    with suppress(OSError):  # such as a name that is too long; making the folder reports it
        if (output.out / DATABASE_NAME).exists():
            raise InputFileError(
                "--out: there is a campaign in this folder already",
                where=str(output.out),
                expected="a new or empty folder",
                hint="--resume continues a retest that was interrupted",
            )


def _budget(text: str | None) -> int | str | None:
    if text is None or text == "none":
        return text
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(f"--fault-budget is {text!r}", expected="a positive number or none")
    return int(text)


def _print(found: Retest, output: Output, seconds: float, gate: GateResult | None) -> int:
    summary = found.campaign.summary
    code = exit_code(summary) if gate is None else gate.exit_code
    if output.as_json:
        print_json({**found.as_dict(), **({} if gate is None else {"gate": gate.as_dict()})})
        return code
    say(escaped(str(found)))
    if gate is not None:
        say(gate)
    if found.bugs and output.out is not None:
        worst = quote(found.bugs[0].after.id)
        say(f"next: misstep explain {quote(str(output.out))} {worst}")
    elif found.bugs:
        say("next: give --out DIR2 to keep the campaign, then misstep explain DIR2 ID")
    remark(
        f"{seconds:.1f} s; {found.by_witnesses} states judged by witnesses, {found.by_oracles} by the oracle; "
        f"{summary.policy_calls} policy calls"
    )
    said = found.remarks(summary.remarks)
    for text in said[:MOST_REMARKS]:
        remark(f"note: {text}")
    if len(said) > MOST_REMARKS:
        remark(f"... and {len(said) - MOST_REMARKS} more notes (--json has all)")
    return code
