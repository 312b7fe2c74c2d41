"""The options that say how commands read a MODEL.jani."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from misstep.cli.arguments import typed
from misstep.cli.defaults import INAPPLICABLE
from misstep.cli.groups import Group
from misstep.cli.output import remark
from misstep.errors import UsageError
from misstep.escaping import escaped

if TYPE_CHECKING:
    from misstep.tasks.jani.task import JaniTask
    from misstep.tasks.jani.task import Silent as SilentEdges

HEADING = "Models (JANI)"
SILENT = ("error", "as-action", "step")

ModelPath = Annotated[
    list[Path],
    typer.Argument(
        metavar="MODEL.jani",
        help="The model: MODEL.jani, MODEL.prism, or a folder with one.",
        show_default=False,
    ),
]
TaskOrModel = Annotated[
    list[Path],
    typer.Argument(
        metavar="TASK...",
        help="MODEL.jani, or DOMAIN.pddl PROBLEM.pddl, or PROBLEM.pddl with domain.pddl beside it or up to three "
        "folders up, or TASK.sas, or a folder with one task or model.",
        show_default=False,
    ),
]
LabelPolicySpec = Annotated[
    str,
    typer.Option(
        "--policy",
        metavar="SPEC",
        help="The policy, for example shipped:beluga or python:FILE.py:NAME; 'misstep list' names all kinds.",
        show_default=False,
    ),
]
Property = Annotated[
    str | None,
    typer.Option(
        "--property",
        rich_help_panel=HEADING,
        metavar="NAME",
        help="The property that says what is unsafe: its name in the model, a FILE, or FILE#NAME. "
        "Default: the first one of the model.",
        show_default=False,
    ),
]
Constants = Annotated[
    list[str] | None,
    typer.Option(
        "--constant",
        rich_help_panel=HEADING,
        metavar="NAME=VALUE",
        help="The value of a constant that the model leaves open.",
        show_default=False,
    ),
]
Inapplicable = Annotated[
    str | None,
    typer.Option(
        "--inapplicable",
        rich_help_panel=HEADING,
        metavar="|".join(INAPPLICABLE),
        help="If the policy chooses a label that does not apply: take its best-valued applicable label, "
        "end its run there, or stop with an error.",
        show_default=False,
    ),
]

Silent = Annotated[
    str,
    typer.Option(
        "--silent",
        rich_help_panel=HEADING,
        metavar="|".join(SILENT),
        help="How to treat an edge without a label: error, as-action (a label τ that the policy can choose) "
        "or step (the environment takes it; the policy is not asked).",
    ),
]
Unsafe = Annotated[
    str | None,
    typer.Option(
        "--unsafe",
        rich_help_panel=HEADING,
        metavar="CONDITION",
        help="The condition for unsafe states, such as 'speed > 3 and not parked'; the model then needs no property.",
        show_default=False,
    ),
]
Goal = Annotated[
    str | None,
    typer.Option(
        "--goal",
        rich_help_panel=HEADING,
        metavar="CONDITION",
        help="The condition for goal states, instead of the goal in the property.",
        show_default=False,
    ),
]
Start = Annotated[
    str | None,
    typer.Option(
        "--start",
        rich_help_panel=HEADING,
        metavar="CONDITION|FILE.json",
        help="The condition for initial states, instead of the one in the property.",
        show_default=False,
    ),
]

_IN_PYTHON: dict[str, SilentEdges] = {
    "error": "refuse",
    "as-action": "as_action",
    "step": "step",
}
MODEL_OPTIONS = (
    "property",
    "constant",
    "inapplicable",
    "silent",
    "unsafe",
    "goal",
    "start",
)


@dataclass(frozen=True)
class Reading(Group, heading=HEADING):
    """How to read a model. Every command that takes models has these options."""

    property: Property = None
    constant: Constants = None
    silent: Silent = SILENT[0]
    unsafe: Unsafe = None
    goal: Goal = None
    start: Start = None


def is_model(paths: list[Path]) -> bool:
    """Whether these paths name a model: its file, or a folder with one."""
    from misstep.tasks import files

    if len(paths) == 1 and paths[0].is_dir():
        return files.is_model(files.task_files(paths[0]))
    return files.is_model(paths)


def read_model(paths: list[Path], how: Reading) -> JaniTask:
    if len(paths) > 1:
        raise UsageError(
            f"{paths[1]} is one file too many",
            expected="one model, with its property in it or named by --property",
        )
    from misstep.tasks.files import task_files
    from misstep.tasks.jani.load import load_jani

    task = load_jani(task_files(paths[0])[0], **reading_options(how))
    for text in task.remarks:
        remark(f"note: {escaped(text)}")
    return task


def reading_options(how: Reading) -> dict[str, Any]:
    """The keywords of `load_jani` that these options stand for."""
    if how.silent not in SILENT:
        raise UsageError(f"--silent {how.silent}", expected=" or ".join(SILENT))
    return {
        "property": how.property,
        "parameters": _parameters(how.constant or ()),
        "silent": _IN_PYTHON[how.silent],
        "unsafe": how.unsafe,
        "goal": how.goal,
        "start": how.start,
    }


def refuse_options(context: typer.Context, names: Iterable[str], expected: str) -> None:
    """Refuse options that have no meaning for this kind of task, instead of ignoring them silently."""
    for option in typed(context, names):
        raise UsageError(f"{option} has no meaning here", expected=expected)


def _parameters(constants: Sequence[str]) -> dict[str, bool | int | float]:
    found: dict[str, bool | int | float] = {}
    for text in constants:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"--constant {text}", expected="NAME=VALUE")
        if name in found:
            raise UsageError(f"--constant {text}: {name} has a value already")
        found[name] = _value(text, value)
    return found


def _value(text: str, value: str) -> bool | int | float:
    if value in ("true", "false"):
        return value == "true"
    for kind in (int, float):
        try:
            found = kind(value)
        except ValueError:
            continue
        if found == 0 and any(digit in value.lower().partition("e")[0] for digit in "123456789"):
            raise UsageError(f"--constant {text}: too small for a double, but not 0")
        return found
    raise UsageError(f"--constant {text}", expected="a number, true or false")


__all__ = [
    "MODEL_OPTIONS",
    "SILENT",
    "Constants",
    "Goal",
    "Inapplicable",
    "LabelPolicySpec",
    "ModelPath",
    "Property",
    "Reading",
    "Silent",
    "Start",
    "TaskOrModel",
    "Unsafe",
    "is_model",
    "read_model",
    "reading_options",
    "refuse_options",
]
