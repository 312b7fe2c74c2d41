"""Export one bug for other tools: a problem or model that starts in its state, and plans from there."""

from __future__ import annotations

from pathlib import Path

from misstep.campaigns.campaign import Campaign
from misstep.campaigns.records import Record, headline
from misstep.errors import UnsupportedError, UsageError
from misstep.escaping import written_out
from misstep.reports.exports.files import write_files
from misstep.reports.exports.model import model_file, options_of
from misstep.reports.exports.names import file_name, shortened
from misstep.reports.exports.problem import pddl_files, sas_file
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.load import AnyTask
from misstep.tasks.task import Task

DOMAIN = "domain.pddl"
_ENDS = frozenset("();\n\r")  # of a name in a plan file


def write_problem(
    campaign: Campaign,
    bug: Record | str | int,
    path: Path | None = None,
    *,
    force: bool = False,
) -> list[Path]:
    """Write a PDDL problem that starts in the state, with `domain.pddl` beside it; for a SAS task, a SAS file.

    By default the files are `TASK-NUMBER/problem.pddl` with its domain, or `TASK-NUMBER.sas`.
    """
    record, task = _of(campaign, bug)
    if not isinstance(task, Task):
        raise UnsupportedError(
            "a state of a model cannot be written as a PDDL problem",
            where=record.id,
            hint="'misstep export model' writes a JANI model that starts there",
        )
    name = _name(record)
    if task.pddl is None:
        own = path or Path(f"{name}.sas")
        return write_files({own: sas_file(task, record.state)}, force=force)
    own = path or Path(name) / "problem.pddl"
    beside = own.with_name(DOMAIN)
    if own == beside:
        raise UsageError(
            f"{own} is the name of the domain file", expected="another name for the problem"
        )
    domain, problem = pddl_files(task, record.state, remark_of(record))
    return write_files({own: problem, beside: domain}, force=force)


def write_model(
    campaign: Campaign,
    bug: Record | str | int,
    path: Path | None = None,
    *,
    force: bool = False,
) -> list[Path]:
    """Write the model with the state as its only start, in one file; by default `TASK-NUMBER.jani`."""
    record, task = _of(campaign, bug)
    if not isinstance(task, JaniTask):
        raise UnsupportedError(
            "a state of a planning task cannot be written as a JANI model",
            where=record.id,
            hint="'misstep export problem' writes a problem that starts there",
        )
    content = model_file(task, record.state, remark_of(record))
    return write_files({path or Path(f"{_name(record)}.jani"): content}, force=force)


def load_options(campaign: Campaign, bug: Record | str | int) -> dict[str, str]:
    """The options that are needed to load the exported model, because a JANI file cannot store them."""
    task = _of(campaign, bug)[1]
    return options_of(task) if isinstance(task, JaniTask) else {}


def plan_text(campaign: Campaign, bug: Record | str | int, *, policy_run: bool = False) -> str:
    """The witness plan, or the policy's run, in the format of the planning competitions."""
    record, task = _of(campaign, bug)
    if not isinstance(task, Task):
        raise UnsupportedError(
            "models have strategies, not plans",
            where=record.id,
            hint=f"'misstep explain DIR {record.id}' shows the strategy",
        )
    if policy_run:
        names, cost = record.run.names, record.run.cost
        what = f"the run of the policy, which ends with: {record.run.outcome}"
    elif record.witness.names is not None:
        names, cost = record.witness.names, record.witness.cost
        what = "the plan that is the witness"
    else:
        proof = "a derivation" if record.witness.type == "derivation" else "nothing"
        raise UnsupportedError(
            f"no plan from this state is stored; the verdict is proven by {proof}",
            where=record.id,
            hint="--policy-run writes the run of the policy",
        )
    for name in names:
        if set(name) & _ENDS:
            raise UnsupportedError(
                f"an operator is called {shortened(name, 60)!r}",
                where=record.id,
                expected="names without ( ) ; and line ends, which the format of plans cannot quote",
                hint=f"'misstep records DIR --json' has the names in the record {record.id}",
            )
    lines = [f"({written_out(name)})" for name in names]
    kind = "unit cost" if not task.metric else "general cost"
    lines += [f"; cost = {cost} ({kind})", f"; {written_out(record.id)}: {what}"]
    return "\n".join(lines) + "\n"


def write_plan(
    campaign: Campaign,
    bug: Record | str | int,
    path: Path,
    *,
    policy_run: bool = False,
    force: bool = False,
) -> list[Path]:
    """Write the witness plan, or the policy's run, to a file."""
    text = plan_text(campaign, bug, policy_run=policy_run)
    return write_files({path: text.encode()}, force=force)


def remark_of(record: Record) -> str:
    """One line that says where an exported file comes from."""
    return shortened(
        written_out(f"Made by misstep from the record {record.id}: {headline(record)}.")
    )


def _of(campaign: Campaign, bug: Record | str | int) -> tuple[Record, AnyTask]:
    record = campaign.record(bug)
    return record, next(task for task in campaign.tasks if task.name == record.task)


def _name(record: Record) -> str:
    return f"{file_name(record.task)}-{record.number}"


__all__ = [
    "load_options",
    "plan_text",
    "remark_of",
    "write_model",
    "write_plan",
    "write_problem",
]
