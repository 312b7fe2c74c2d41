"""Options in groups: a command takes several dataclasses, and each is a section of its help.

    @dataclass(frozen=True)
    class Limits(Group, heading="Limits"):
        time: Annotated[float | None, typer.Option(metavar="SECONDS", help="...")] = None

    @takes(Limits, Output)
    def command(context: typer.Context, limits: Limits, output: Output) -> int: ...

Each field is an option. Several commands can share a group, and no command needs forty parameters.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, get_type_hints

import typer

from misstep.cli.arguments import typed


class Group:
    """A group of options and arguments, one per field."""

    heading: ClassVar[str] = "Options"

    def __init_subclass__(cls, heading: str) -> None:
        cls.heading = heading

    @classmethod
    def names(cls) -> list[str]:
        return [option.name for option in dataclasses.fields(cls)]  # type: ignore[arg-type]

    def values(self, names: Iterable[str]) -> dict[str, Any]:
        return {name: getattr(self, name) for name in names}


def takes(*groups: type[Group]) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Give a command the options of these groups, in this order."""

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(command)
        def called(context: typer.Context, **given: Any) -> int:
            made = [group(**{name: given[name] for name in group.names()}) for group in groups]
            return command(context, *made)

        # Typer reads the signature.
        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters = [inspect.Parameter("context", keyword, annotation=typer.Context)]
        for group in groups:
            hints = get_type_hints(group, include_extras=True)
            for option in dataclasses.fields(group):  # type: ignore[arg-type]
                for about in hints[option.name].__metadata__:
                    about.rich_help_panel = group.heading
                parameters.append(
                    inspect.Parameter(
                        option.name,
                        keyword,
                        default=_default(option),
                        annotation=hints[option.name],
                    )
                )
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return called

    return decorate


def _default(option: dataclasses.Field[Any]) -> object:
    """The default of an option; an option without one is required."""
    missing = option.default is dataclasses.MISSING
    return inspect.Parameter.empty if missing else option.default


def given_options(context: typer.Context, *groups: Group) -> dict[str, Any]:
    """The values of the options given on the command line, by name; others are left out."""
    chosen: dict[str, Any] = {}
    for group in groups:
        chosen |= group.values(name for name in group.names() if typed(context, [name]))
    return chosen


__all__ = ["Group", "given_options", "takes"]
