"""The options of `misstep test`, and of `misstep judge` where they are the same.

Fields that are settings of a campaign have the names that `misstep.test` gives them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from misstep.cli.arguments import (
    AsJson,
    Cluster,
    KeepUnimportant,
    Timeout,
    TrustPolicy,
    check_limits,
)
from misstep.cli.defaults import (
    DISTANCE,
    FAULT_BUDGET,
    LAYERS,
    LOOKAHEAD_CAP,
    MAX_STEPS,
    ON_REVISIT,
    OPEN_EVALUATIONS,
    ORACLE,
    PERMITTED_LIMIT,
    RUNS,
    SAFETY_EVALUATIONS,
    SAFETY_ORACLE,
    SEVERITY,
    SEVERITY_BUDGET,
)
from misstep.cli.groups import Group, given_options
from misstep.cli.models import (
    Inapplicable,
    Reading,
)
from misstep.errors import UsageError
from misstep.fuzzing.settings import DEAD_ENDS, PRESETS

if TYPE_CHECKING:
    from misstep.campaigns.limits import Limits

OF_PRESET = "Default: that of the preset"


@dataclass(frozen=True)
class Subject(Group, heading="What to test"):
    """The policy, the tasks, and where the settings come from."""

    task: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="TASK...",
            help="The task, as for the other commands, or MODEL.jani, or several problems after their DOMAIN.pddl; "
            "left out with --pool-from and --resume. With --suite: the domain of all its problems, or nothing.",
            show_default=False,
        ),
    ] = None
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            metavar="SPEC",
            help="The policy, for example heuristic:ff or python:FILE.py:NAME; 'misstep list' names all kinds.",
        ),
    ] = None
    timeout: Timeout = None
    trust_policy: TrustPolicy = False
    suite: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Test on every problem, or on every .jani model, in this folder and below; also a pattern "
            "('tasks/p0*.pddl') or a list of tasks (tasks.txt).",
        ),
    ] = None
    pool_from: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Test the states of this campaign; its tasks if none are named."
        ),
    ] = None
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Settings in TOML, such as the config.toml of a campaign; options override them.",
        ),
    ] = None
    seed: Annotated[
        int,
        typer.Option(
            min=0, help="Seed of all random choices: the same seed gives the same records."
        ),
    ] = 0
    max_steps: Annotated[
        int, typer.Option(metavar="N", help="Cut runs of the policy after so many steps.")
    ] = MAX_STEPS
    fuzz: Annotated[
        str | None,
        typer.Option(
            metavar="BIAS",
            help="Bias of the fuzzer: none, policy-cost, loop, detour, surface; of a model greedy-inf, greedy-1, "
            "sample-inf, sample-1, uniform-1, probable. Default: detour and greedy-inf.",
        ),
    ] = None


@dataclass(frozen=True)
class Planning(Group, heading="Planning tasks: fuzzing and judging"):
    """What only planning tasks have."""

    preset: Annotated[
        str, typer.Option(metavar="NAME", help="Fuzzer of a paper: " + ", ".join(PRESETS) + ".")
    ] = "p24"
    pool: Annotated[
        int | None,
        typer.Option(
            metavar="N", help=f"Number of states to test on each task. {OF_PRESET} (100)."
        ),
    ] = None
    walk_length: Annotated[
        int | None,
        typer.Option(metavar="N", help=f"Longest walk, in steps (L of the papers). {OF_PRESET}."),
    ] = None
    walks: Annotated[
        int | None,
        typer.Option(
            metavar="W",
            help=f"Walks under way at once, for policies that like large batches. {OF_PRESET} (1).",
        ),
    ] = None
    min_weight: Annotated[
        float | None,
        typer.Option(
            metavar="P", help="Smooth the bias with P once fuzzing is stuck. Default: 0.1."
        ),
    ] = None
    unbiased_share: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            help=f"Probability that a walk ignores the bias of the fuzzer. {OF_PRESET} (0.1).",
        ),
    ] = None
    estimate: Annotated[
        str | None, typer.Option(metavar="ff|h*", help="Distances that the bias uses. Default: ff.")
    ] = None
    state_budget: Annotated[
        str | None,
        typer.Option(
            metavar="N|none",
            help=f"Most steps of the policy to score one candidate. {OF_PRESET} (50).",
        ),
    ] = None
    expansion_budget: Annotated[
        str | None,
        typer.Option(
            metavar="N|none",
            help=f"Most steps of the policy to score all candidates of one step of a walk. {OF_PRESET} (200).",
        ),
    ] = None
    novelty: Annotated[
        int | None,
        typer.Option(
            metavar="0..3",
            help="Keep only states with a new fact (1), pair (2) or triple of facts (3); 0: all. Default: 0.",
        ),
    ] = None
    dead_ends: Annotated[
        str | None,
        typer.Option(
            metavar="FILTER",
            help="Which dead ends the fuzzer avoids: " + ", ".join(DEAD_ENDS) + ". Default: hmax.",
        ),
    ] = None
    patience: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Stop fuzzing after so many rounds without a new state. Default: 10000.",
        ),
    ] = None
    fuzz_time: Annotated[
        str | None,
        typer.Option(
            metavar="SECONDS|none",
            help=f"Stop fuzzing a task after so many seconds, as a safety net. {OF_PRESET} (3600).",
        ),
    ] = None
    require_solved: Annotated[
        bool,
        typer.Option(
            "--require-solved", help="Skip tasks whose initial state the policy does not solve."
        ),
    ] = False
    objective: Annotated[
        str,
        typer.Option(
            metavar="cost|goal",
            help="What counts as a bug: any loss of cost, or only missing the goal.",
        ),
    ] = "cost"
    revisit: Annotated[
        str,
        typer.Option(
            metavar="stop|avoid",
            help="What a run does before a state that it has seen: stop, or avoid it by the next best operator "
            "(for policies that rank operators).",
        ),
    ] = "stop"
    permitted_limit: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="For a policy that permits several operators: number of states to explore from a state.",
        ),
    ] = PERMITTED_LIMIT
    costly_some: Annotated[
        bool,
        typer.Option(
            "--costly-some",
            help="For a policy that permits several operators: count a state as a bug if some permitted run is too "
            "costly, even if another one is not.",
        ),
    ] = False
    isolate: Annotated[
        bool,
        typer.Option("--isolate", help="Judge each state without what is known from the others."),
    ] = False
    keep_unimportant: KeepUnimportant = True


@dataclass(frozen=True)
class Models(Reading, heading="Models (JANI): fuzzing and judging"):
    """What only models have."""

    inapplicable: Inapplicable = None
    runs: Annotated[int, typer.Option(metavar="N", help="Number of runs of the fuzzer.")] = RUNS
    lookahead_cap: Annotated[
        int, typer.Option(metavar="N", help="States of one lookahead of the fuzzer.")
    ] = LOOKAHEAD_CAP
    on_revisit: Annotated[
        str,
        typer.Option(
            metavar="stop|go-on",
            help="What a run of the fuzzer does where it comes back to a state.",
        ),
    ] = ON_REVISIT
    layers: Annotated[
        str,
        typer.Option(
            metavar="new|all",
            help="States of a layer of the lookahead: met there first, or all that many steps away.",
        ),
    ] = LAYERS
    distance: Annotated[
        str,
        typer.Option(
            metavar="model|unsafe",
            help="What guides the fuzzer: the model's own distance, or that to its unsafety condition.",
        ),
    ] = DISTANCE
    radius: Annotated[
        str,
        typer.Option(
            metavar="R", help="Deviations from the policy that may avoid a bug; inf: any."
        ),
    ] = "inf"
    severity: Annotated[
        str,
        typer.Option(
            metavar="none|bugs|all",
            help="For which states to compute the radius: how many deviations avoid unsafe states.",
        ),
    ] = SEVERITY
    severity_budget: Annotated[
        str,
        typer.Option(
            metavar="N|auto",
            help="Effort for the severity of one state, in nodes; auto: about what its verdict took.",
        ),
    ] = SEVERITY_BUDGET
    evaluations: Annotated[
        int,
        typer.Option(metavar="N", help="Largest effort for one question to the oracle, in nodes."),
    ] = SAFETY_EVALUATIONS
    open_evaluations: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Effort for all questions of 250 runs that stay open, in nodes.",
        ),
    ] = OPEN_EVALUATIONS


@dataclass(frozen=True)
class Judging(Group, heading="Judging"):
    """Who judges, and how faults are looked for."""

    oracle: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help=f"The oracles, or p22, p23, p24. Default: {ORACLE}; of a model {SAFETY_ORACLE} (or tarjan, lrtdp, "
            "lao, vi, ipi).",
            show_default=False,
        ),
    ] = None
    fault_budget: Annotated[
        str | None,
        typer.Option(
            metavar="N|none",
            help="Evaluations for finding the faults behind one bug; none: faults are not looked for. "
            f"Default: {FAULT_BUDGET}.",
        ),
    ] = None
    risk: Annotated[
        bool,
        typer.Option(
            "--risk",
            help="Also compute probabilities: of a stochastic policy, to miss the goal; of a model, to get into an "
            "unsafe state, and the least possible one.",
        ),
    ] = False


@dataclass(frozen=True)
class Spending(Group, heading="Limits"):
    """What the work may take. Records do not depend on it, but for what a limit leaves undone."""

    jobs: Annotated[int, typer.Option(metavar="N", help="Number of worker processes.")] = 1
    cluster: Cluster = None
    batch_size: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="The largest number of states in one question to the policy. Default: no limit.",
        ),
    ] = None
    time: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Time limit for all of the work. Default: no limit."),
    ] = None
    task_time: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Time limit for each task. Default: no limit."),
    ] = None
    memory: Annotated[
        int | None,
        typer.Option(
            metavar="MB", help="Memory limit for all worker processes together. Default: no limit."
        ),
    ] = None
    task_memory: Annotated[
        int | None,
        typer.Option(
            metavar="MB", help="Memory limit for the work on one task. Default: no limit."
        ),
    ] = None

    def check(self) -> None:
        values = self.values(self.names())
        cluster = values.pop("cluster")
        check_limits(**values)
        if cluster is not None:
            from misstep.campaigns.arguments import check_cluster

            check_cluster(cluster, self.jobs, self.limits())

    def limits(self) -> Limits:
        from misstep.campaigns.limits import Limits

        return Limits(self.time, self.task_time, self.memory, self.task_memory)


@dataclass(frozen=True)
class Output(Group, heading="Output"):
    """Where the records go."""

    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Folder of the campaign.")
    ] = Path("misstep-campaign")
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on with the campaign in DIR; a larger --pool or --runs lets it grow.",
        ),
    ] = False
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Replace the campaign in DIR, if there is one. A folder with other files in it is never replaced.",
        ),
    ] = False
    as_json: AsJson = False


# How tasks are read, which is decided before there is a campaign.
OF_LOADING = (
    *("property", "constant", "silent", "unsafe", "goal", "start"),
    "keep_unimportant",
)
OF_SUBJECT = ("seed", "max_steps", "fuzz")
# Numbers that may be none.
NULLABLE: dict[str, type[int] | type[float]] = {
    "state_budget": int,
    "expansion_budget": int,
    "fuzz_time": float,
    "fault_budget": int,
}


def settings_given(
    context: typer.Context, subject: Subject, planning: Planning, models: Models, judging: Judging
) -> dict[str, Any]:
    """The settings on the command line, by the names of `misstep.test`."""
    chosen = given_options(context, subject, planning, models, judging)
    for name in (*OF_LOADING, *(set(subject.names()) - set(OF_SUBJECT))):
        chosen.pop(name, None)
    for name, kind in NULLABLE.items():
        if name in chosen:
            chosen[name] = _number_or_none(name, chosen[name], kind)
    numbers = (
        "pool",
        "max_steps",
        "walk_length",
        "patience",
        "runs",
        "lookahead_cap",
        "evaluations",
        "open_evaluations",
    )
    given = {name: chosen[name] for name in (*numbers, *NULLABLE) if name in chosen}
    check_limits(**{name: value for name, value in given.items() if value != "none"})
    return chosen


def _number_or_none(name: str, text: str, kind: type[int] | type[float]) -> int | float | str:
    if text == "none":
        return text
    try:
        return kind(text)
    except ValueError:
        option = "--" + name.replace("_", "-")
        raise UsageError(f"{option} is {text!r}", expected="a positive number or none") from None


__all__ = ["Judging", "Models", "Output", "Planning", "Spending", "Subject", "settings_given"]
