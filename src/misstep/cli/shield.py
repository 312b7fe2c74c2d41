"""`misstep shield`: a decider that watches over a policy on a model, as a file that is a policy."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from misstep.cli.arguments import AsJson, TrustPolicy, check_limits, typed, user_trusts
from misstep.cli.campaigns import open_folder
from misstep.cli.groups import Group, takes
from misstep.cli.models import (
    MODEL_OPTIONS,
    Constants,
    Goal,
    Property,
    Reading,
    Silent,
    Start,
    Unsafe,
    read_model,
)
from misstep.cli.output import print_json, waiting
from misstep.errors import UsageError
from misstep.escaping import escaped

if TYPE_CHECKING:
    from misstep.tasks.jani.task import JaniTask, State

STATES = 1_000_000


@dataclass(frozen=True)
class Request(Group, heading="What to shield"):
    source: Annotated[
        Path,
        typer.Argument(
            metavar="DIR|MODEL.jani", help="The folder of a campaign on one model, or a model."
        ),
    ]
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="The policy to watch over. Default: that of the campaign.",
            show_default=False,
        ),
    ] = None
    trust_policy: TrustPolicy = False


@dataclass(frozen=True)
class Model(Group, heading="Models (JANI)"):
    property: Property = None
    constant: Constants = None
    silent: Silent = "error"
    unsafe: Unsafe = None
    goal: Goal = None
    start: Start = None


@dataclass(frozen=True)
class Deciding(Group, heading="Deciding"):
    oracle: Annotated[
        str, typer.Option(metavar="NAME", help="The decider: localfix, tarjan, lrtdp, lao, ipi.")
    ] = "localfix"
    evaluations: Annotated[
        int, typer.Option(min=1, metavar="N", help="What it may spend on one state.")
    ] = 1_000_000
    starts: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", help="Start states to decide now, to say what the shield is worth."
        ),
    ] = 100
    seed: Annotated[int, typer.Option(min=0, help="Seed of these start states.")] = 0
    table: Annotated[
        bool,
        typer.Option(
            "--table",
            help="Write down what is allowed wherever shielded runs from all start states can get to, so that nothing "
            "is decided while the policy runs. For small models.",
        ),
    ] = False
    states: Annotated[
        int, typer.Option(min=1, metavar="N", help="With --table: its states at most.")
    ] = STATES


@dataclass(frozen=True)
class Output(Group, heading="Output"):
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Where to write the shield.")
    ]
    as_json: AsJson = False


@takes(Request, Model, Deciding, Output)
def shield_command(
    context: typer.Context, request: Request, model: Model, deciding: Deciding, output: Output
) -> int:
    """Write a shield for a policy on a model: it lets pass only what a decider proves to be safe.

    The file is a policy, shield:FILE. In each state it takes the label that the policy likes best among those whose
    outcomes are all decided to be safe, so that from a safe state its runs stay safe for ever. Where no label is
    decided to be safe, since the state is lost or the evaluations ran out, the policy has its way. The file is for this
    model only: another one is refused.

    Example: misstep shield found -o shield.json
    """
    check_limits(evaluations=deciding.evaluations, states=deciding.states)
    if not deciding.table and (asked := typed(context, ["states"])):
        raise UsageError(f"{asked[0]} has no meaning here", expected="--table")
    task, spec = _source(context, request, model)
    from misstep.files import write_bytes
    from misstep.safety.shield import GUARANTEE, DeciderShield

    made = DeciderShield(task.digest, task.name, spec, deciding.oracle, deciding.evaluations)
    told: dict[str, Any] = {
        "shield": str(output.out),
        "model": task.name,
        "digest": task.digest,
        "policy": spec,
        "decider": deciding.oracle,
        "evaluations": deciding.evaluations,
        "starts": _decided(task, made, deciding),
    }
    text = made.to_json()
    if deciding.table:
        text, size = _table(task, made, deciding.states)
        told["table"] = size
    write_bytes(output.out, text.encode())
    told |= {"guarantee": GUARANTEE, "use": f"--policy shield:{output.out}"}
    if output.as_json:
        print_json(told)
    else:
        _print(told)
    return 0


def _source(context: typer.Context, request: Request, model: Model) -> tuple[JaniTask, str]:
    """The model and the policy that are meant."""
    from misstep.policies.trust import given, require_trust
    from misstep.tasks.jani.task import JaniTask

    if request.source.suffix == ".jani" or not request.source.is_dir():
        if request.policy is None:
            raise UsageError("no policy to shield", expected="--policy SPEC")
        given(request.policy)
        how = Reading(
            model.property, model.constant, model.silent, model.unsafe, model.goal, model.start
        )
        return read_model([request.source], how), request.policy
    for option in typed(context, MODEL_OPTIONS):
        raise UsageError(f"{option} has no meaning here", expected="the model of the campaign")
    with open_folder(request.source, request.policy, request.trust_policy) as campaign:
        models = [task for task in campaign.tasks if isinstance(task, JaniTask)]
        spec = request.policy or campaign.settings.policy
        if len(models) != 1:
            raise UsageError(
                f"the campaign has {len(models)} models",
                where=str(request.source),
                expected="a campaign on one model, or a model itself",
            )
        if request.policy is not None:
            given(spec)
        require_trust(spec, user_trusts(request.trust_policy), str(request.source), of_model=True)
        return models[0], spec


def _decided(task: JaniTask, shield: Any, deciding: Deciding) -> dict[str, int]:
    """What the decider says of start states; it does not need the policy for that."""
    from misstep._core import CounterRandom
    from misstep.safety import Budget, Decider, System
    from misstep.safety.jani import jani_transitions

    random = CounterRandom(deciding.seed, 0)
    starts = [task.sample_initial(random) for _ in range(deciding.starts)]
    system: System[State, str] = System(jani_transitions(task, task.new_engine()), "first")
    budget = Budget(evaluations=shield.evaluations, seconds=None)
    decider = Decider(system, shield.decider, budget=budget)
    with waiting("deciding start states"):
        answers = Counter(decider.decide(state).answer.value for state in starts)
    return {name: answers[name] for name in ("safe", "not safe", "unknown")}


def _table(task: JaniTask, shield: Any, states: int) -> tuple[str, int]:
    from dataclasses import replace

    from misstep.errors import BudgetLimitError
    from misstep.policies.load import load_policy
    from misstep.safety import Budget, Decider, OracleShield
    from misstep.safety.jani import system_of

    engine = task.new_engine()
    with waiting("writing down what is allowed"):
        policy = load_policy(shield.policy, task, engine=engine)
        budget = Budget(evaluations=shield.evaluations, seconds=None)
        decider = Decider(system_of(task, policy, engine), shield.decider, budget=budget)
        found = OracleShield(decider).table(task.initial_states(), states)
        policy.close()
    if not found.is_complete:
        raise BudgetLimitError(
            f"shielded runs get to more than {states:,} states",
            where=task.name,
            hint="leave out --table, or give more --states",
        )
    table = replace(found, task=task.digest, policy=shield.policy)
    return table.to_json(), len(table.allowed)


def _print(told: dict[str, Any]) -> None:
    starts = told["starts"]
    rows = [
        ("shield", told["shield"]),
        ("model", f"{escaped(told['model'])}, and no other"),
        ("policy", escaped(told["policy"])),
        ("decider", f"{told['decider']}, {told['evaluations']:,} evaluations for a state"),
        (
            "starts",
            f"{sum(starts.values())} drawn: {starts['safe']} safe, {starts['not safe']} not safe, "
            f"{starts['unknown']} undecided",
        ),
    ]
    if "table" in told:
        rows.append(("table", f"{told['table']:,} states"))
    rows += [
        ("promise", told["guarantee"]),
        ("use", f"--policy shield:{quote(told['shield'])}"),
    ]
    for name, text in rows:
        print(f"{name:8}  {text}")


__all__ = ["shield_command"]
