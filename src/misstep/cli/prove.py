"""`misstep prove`: prove that a policy has no bugs, or find a counterexample; check a certificate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from misstep.cli.arguments import AsJson, check_limits, read_task
from misstep.cli.defaults import PROVE_ASK, PROVE_FROM
from misstep.cli.groups import Group, takes
from misstep.cli.models import (
    HEADING,
    MODEL_OPTIONS,
    Inapplicable,
    Reading,
    TaskOrModel,
    is_model,
    read_model,
    refuse_options,
)
from misstep.cli.output import phase_progress, print_json, print_pairs, remark, say, search_progress
from misstep.errors import ReplayError, UndecidedError, UsageError

if TYPE_CHECKING:
    from misstep.safety.prove import Proof
    from misstep.tasks.jani.task import JaniTask
    from misstep.tasks.task import Task

MAX_CERTIFICATE = 2**32  # bytes
SHOWN_STEPS = 30  # of a run, unless --json is given


@dataclass(frozen=True)
class What(Group, heading="Options"):
    task: TaskOrModel
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            metavar="SPEC",
            help="The policy, for example shipped:beluga or python:FILE.py:NAME; 'misstep list' names all kinds.",
            show_default=False,
        ),
    ] = None
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--certificate",
            metavar="FILE",
            help="Write the certificate of a proof here.",
            show_default=False,
        ),
    ] = None
    check: Annotated[
        Path | None,
        typer.Option(
            "--check",
            metavar="FILE",
            help="Only check this certificate for the task. With --policy, ask that policy in all its "
            "states, too.",
            show_default=False,
        ),
    ] = None
    verify: Annotated[
        bool | None,
        typer.Option(
            "--verify/--no-verify",
            help="Check the certificate at once. Default: up to 100000 states.",
            show_default=False,
        ),
    ] = None
    seed: Annotated[
        int,
        typer.Option(
            metavar="N", help="Seed of the sample of decisions for which the policy is asked again."
        ),
    ] = 0
    as_json: AsJson = False


@dataclass(frozen=True)
class ProveLimits(Group, heading="Limits"):
    time: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Time limit. Default: no limit."),
    ] = None
    memory: Annotated[
        int | None,
        typer.Option(
            metavar="MB", help="Memory limit for states and their data. Default: no limit."
        ),
    ] = None
    max_states: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Give up at this many states. Default: 50 million for a model, 10 million for a planning task.",
        ),
    ] = None


@dataclass(frozen=True)
class OfModels(Reading, heading=HEADING):
    ask: Annotated[
        str,
        typer.Option(
            metavar="|".join(PROVE_ASK),
            help="Ask the policy in all states that it reaches, or only where the proof needs it. auto: all for native "
            "policies; for others needed, if the model has at most a million states.",
        ),
    ] = PROVE_ASK[0]
    leave_out_hopeless: Annotated[
        bool,
        typer.Option(
            "--leave-out-hopeless",
            help="Leave out initial states that no strategy keeps safe; the certificate proves this for each of them.",
        ),
    ] = False
    inapplicable: Inapplicable = None


@dataclass(frozen=True)
class OfTasks(Group, heading="Planning tasks"):
    scope: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="|".join(PROVE_FROM),
            help="Prove that the policy reaches the goal from all reachable states that can reach it, or only from the "
            "initial state.",
        ),
    ] = PROVE_FROM[0]
    keep_unimportant: Annotated[
        bool,
        typer.Option(
            "--keep-unimportant/--drop-unimportant",
            help="Keep variables that do not matter for the goal (a policy may look at them).",
        ),
    ] = True


@takes(What, ProveLimits, OfModels, OfTasks)
def prove_command(
    context: typer.Context,
    what: What,
    limits: ProveLimits,
    models: OfModels,
    tasks: OfTasks,
) -> int:
    """Prove that a policy never gets into an unsafe state of a model, or always reaches the goal of a task.

    It ends with PROVEN and a certificate (exit code 0), with a state from which the policy goes wrong (1), or with
    UNKNOWN and how far it got (10 to 23). A policy that contradicts itself is FLAKY (13).

    Example: misstep prove model.jani --policy shipped:beluga --certificate safe.proof
    """
    check_limits(time=limits.time, memory=limits.memory, max_states=limits.max_states)
    loaded: Task | JaniTask
    if is_model(what.task):
        refuse_options(context, ["scope", "keep_unimportant"], "a planning task")
        loaded = read_model(what.task, models)
    else:
        own = [*MODEL_OPTIONS, "ask", "leave_out_hopeless"]
        refuse_options(context, own, "MODEL.jani as the task")
        loaded = read_task(what.task, tasks.keep_unimportant)
    if what.check is not None:
        return _check(context, what, loaded)
    if what.policy is None:
        raise UsageError("--policy is missing", expected="a policy, or --check FILE")
    if what.certificate is not None:
        from misstep.checking.certificates.container import MAGIC
        from misstep.files import check_target

        check_target(what.certificate, "a certificate", lambda start: start.startswith(MAGIC))
    proof = _proof(what, limits, models, tasks, loaded)
    if proof.certificate is not None and what.certificate is not None:
        from misstep.files import write_bytes

        write_bytes(what.certificate, proof.certificate)
    if what.as_json:
        file = None if proof.certificate is None else what.certificate
        print_json({**proof.as_dict(), "certificate": None if file is None else str(file)})
    else:
        _print(proof, loaded, what.certificate)
    return proof.exit_code


def _proof(
    what: What, limits: ProveLimits, models: OfModels, tasks: OfTasks, loaded: Task | JaniTask
) -> Proof:
    from misstep.faults.prove import prove
    from misstep.oracles.prove import ReachSettings
    from misstep.safety.prove import ProveSettings

    shared: dict[str, Any] = {
        "time_limit": limits.time,
        "memory_limit_mb": limits.memory,
        "check": what.verify,
        "seed": what.seed,
    }
    if limits.max_states is not None:
        shared["max_states"] = limits.max_states
    if loaded.world == "model":
        if models.ask not in PROVE_ASK:
            raise UsageError(f"--ask {models.ask}", expected=", ".join(PROVE_ASK))
        settings: ProveSettings | ReachSettings = ProveSettings(
            ask=models.ask, leave_out=models.leave_out_hopeless, **shared
        )
    else:
        if tasks.scope not in PROVE_FROM:
            raise UsageError(f"--from {tasks.scope}", expected=" or ".join(PROVE_FROM))
        settings = ReachSettings(scope=tasks.scope, **shared)
    with search_progress("proving", "states") as progress:
        return prove(
            loaded, what.policy, settings, inapplicable=models.inapplicable, progress=progress
        )


def _check(context: typer.Context, what: What, loaded: Task | JaniTask) -> int:
    own = ["certificate", "verify", "ask", "leave_out_hopeless"]
    refuse_options(context, own, "a proof, not --check")
    assert what.check is not None
    from misstep.checking.errors import CheckError
    from misstep.faults.prove import check_certificate
    from misstep.files import read_bytes

    content = read_bytes(what.check, MAX_CERTIFICATE, "a certificate")
    try:
        with phase_progress() as report:
            found = check_certificate(
                content,
                loaded,
                what.policy,
                progress=lambda done, total: report("checking", done, total),
            )
    except CheckError as error:
        error.where = error.where or f"--check {what.check}"
        raise
    if what.as_json:
        print_json({**found.as_dict(), "asked_again": what.policy is not None})
    else:
        say(found)
        if found.valid and what.policy is None:
            remark(
                "the policy was not asked; --policy SPEC compares its decisions with the certificate"
            )
    if found.undecided:
        return UndecidedError.exit_code
    return 0 if found.valid else ReplayError.exit_code


def _print(proof: Proof, task: Task | JaniTask, file: Path | None) -> None:
    say(f"{proof.verdict}: {proof.reason or proof.claim}")
    say()
    of_models = task.world == "model"
    numbers = {
        "states explored": proof.states,
        "starts": proof.starts,
        "policy asked": proof.asked,
        "policy asked again": proof.asked_again,
        "method": proof.method,
        "starts that fail" if of_models else "states that fail": proof.failing,
        "hopeless starts" if of_models else "dead ends": proof.hopeless,
        "megabytes": f"{proof.megabytes:,.1f}" if proof.megabytes else None,
    }
    print_pairs({name: own for name, own in numbers.items() if own is not None})
    if proof.finding is not None:
        _print_finding(proof, task)
    if proof.certificate is not None:
        where = f" in {file}" if file is not None else ""
        checked = "not checked yet: misstep prove TASK --check FILE"
        if proof.checked is not None:
            checked = str(proof.checked)
        say(f"\ncertificate of {len(proof.certificate):,} bytes{where}; {checked}")


def _print_finding(proof: Proof, task: Task | JaniTask) -> None:
    finding = proof.finding
    assert finding is not None

    def shown(state: Any) -> str:
        text = task.text(state) if task.world == "model" else ", ".join(task.facts(state))
        return text if len(text) <= 300 else text[:297] + "..."

    say(f"\nfrom {shown(finding.state)}")
    for step in finding.steps[:SHOWN_STEPS]:
        say(f"  {step}")
    if len(finding.steps) > SHOWN_STEPS:
        say(f"  ... and {len(finding.steps) - SHOWN_STEPS} steps more (--json has all)")
    say(f"{finding.outcome} in {shown(finding.states[-1])}")
    could = {True: "yes", False: "no", None: "undecided"}[finding.avoidable]
    say(f"could it be avoided: {could}")
    if finding.plan:
        say("a plan: " + ", ".join(f"({name})" for name in finding.plan[:SHOWN_STEPS]))
