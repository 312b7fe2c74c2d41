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

Property = Annotated[
    str | None,
    typer.Option(
        "--property",
        metavar="NAME",
        help="Of a model: NAME, FILE or FILE#NAME; default: its first.",
        show_default=False,
    ),
]
Constants = Annotated[
    list[str] | None,
    typer.Option(
        "--constant",
        metavar="NAME=VALUE",
        help="Of a model: a constant that it leaves open.",
        show_default=False,
    ),
]
Inapplicable = Annotated[
    str | None,
    typer.Option(
        "--inapplicable",
        metavar="|".join(INAPPLICABLE),
        help="Of a model: where the policy names a label that does not apply, take its best-valued one that does, "
        "end its run there, or stop with an error.",
        show_default=False,
    ),
]

MODEL_OPTIONS = ("property", "constant", "inapplicable")


def is_model(paths: list[Path]) -> bool:
    return paths[0].suffix.lower() == ".jani"


def read_model(paths: list[Path], property: str | None, constants: list[str] | None) -> JaniTask:
    if len(paths) > 1:
        raise UsageError(
            f"{paths[1]} is one file too many",
            expected="one model, with its property in it or named by --property",
        )
    from misstep.tasks.jani.load import load_jani

    return load_jani(paths[0], property, _parameters(constants or []))


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
