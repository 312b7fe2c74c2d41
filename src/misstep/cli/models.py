"""How commands read a MODEL.jani, declared once."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from misstep.cli.arguments import typed
from misstep.cli.defaults import INAPPLICABLE
from misstep.errors import UsageError

if TYPE_CHECKING:
    from misstep.tasks.jani.task import JaniTask

HEADING = "Models (JANI)"

Property = Annotated[
    str | None,
    typer.Option(
        "--property",
        rich_help_panel=HEADING,
        metavar="NAME",
        help="NAME, FILE or FILE#NAME; default: its first.",
        show_default=False,
    ),
]
Constants = Annotated[
    list[str] | None,
    typer.Option(
        "--constant",
        rich_help_panel=HEADING,
        metavar="NAME=VALUE",
        help="A constant that the model leaves open.",
        show_default=False,
    ),
]
Inapplicable = Annotated[
    str | None,
    typer.Option(
        "--inapplicable",
        rich_help_panel=HEADING,
        metavar="|".join(INAPPLICABLE),
        help="Where the policy names a label that does not apply, take its best-valued one that does, "
        "end its run there, or stop with an error.",
        show_default=False,
    ),
]

MODEL_OPTIONS = ("property", "constant", "inapplicable")


def is_model(paths: list[Path]) -> bool:
    """Whether this names a model: its file, or a folder that has one."""
    from misstep.tasks import files

    if len(paths) == 1 and paths[0].is_dir():
        return files.is_model(files.task_files(paths[0]))
    return files.is_model(paths)


def read_model(paths: list[Path], property: str | None, constants: list[str] | None) -> JaniTask:
    if len(paths) > 1:
        raise UsageError(
            f"{paths[1]} is one file too many",
            expected="one model, with its property in it or named by --property",
        )
    from misstep.tasks.files import task_files
    from misstep.tasks.jani.load import load_jani

    return load_jani(task_files(paths[0])[0], property, _parameters(constants or []))


def refuse_options(context: typer.Context, names: Iterable[str], expected: str) -> None:
    """Options that have no meaning for what is tested; without this they would be ignored in silence."""
    for option in typed(context, names):
        raise UsageError(f"{option} has no meaning here", expected=expected)


def _parameters(constants: list[str]) -> dict[str, bool | int | float]:
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
            return kind(value)
        except ValueError:
            continue
    raise UsageError(f"--constant {text}", expected="a number, true or false")


__all__ = [
    "MODEL_OPTIONS",
    "Constants",
    "Inapplicable",
    "Property",
    "is_model",
    "read_model",
    "refuse_options",
]
