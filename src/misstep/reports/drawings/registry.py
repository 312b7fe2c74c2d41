"""The registry of drawings: those of users first, then ours, then the generic ones for every task.

A package offers drawings by the entry point group `misstep.drawings`: each entry is a function as `register` takes it.
They are code of an installed package and loaded only when a drawing is asked for, that is, when a report is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import cast

from misstep.errors import UsageError
from misstep.raised import in_words
from misstep.reports.drawings import generic, variables
from misstep.reports.drawings.drawing import Drawing, Painter, PlugIn, UnknownDomainError
from misstep.reports.drawings.subject import Subject, subject_of
from misstep.tasks.load import AnyTask

GROUP = "misstep.drawings"

# One file a domain. The first that knows a task draws it, so narrow ones stand before wide ones.
BUILT_IN = (
    *("blocks", "gripper", "ferry", "visitall", "sokoban", "floortile", "sliding_tiles"),
    *("logistics", "transport", "miconic", "elevators", "spanner", "satellite", "childsnack"),
    *("rovers", "storage", "scanalyzer"),
    *("lines", "n_puzzle", "blocksworld_cost", "beluga", "poles", "bouncing_ball", "follow_car"),
)
PLAIN = {"planning": ("objects", generic.make), "model": ("variables", variables.make)}

_registered: dict[str, PlugIn] = {}


def register(name: str, plug_in: PlugIn) -> None:
    """Add a drawing: a function that takes a `Subject` and returns a painter for it, or None if it does not know it.

    The last one registered is asked first; one of the same name is replaced.
    """
    if not name or not callable(plug_in):
        raise UsageError(f"a drawing {name!r:.40}", expected="a name and a function of a subject")
    _registered.pop(name, None)
    _registered[name] = plug_in


def forget(name: str) -> None:
    """The opposite of `register`."""
    _registered.pop(name, None)


def drawing_for(task: AnyTask) -> Drawing | None:
    """The drawing for this task; None if there is nothing to draw, for example for a task without facts."""
    subject = subject_of(task)
    title, make_plain = PLAIN[subject.world]
    if not subject.objects and not subject.variables:
        return None
    fallback = cast(Painter, make_plain(subject))
    remark = ""
    for name, plug_in in _plug_ins():
        try:
            painter = plug_in(subject)
        except UnknownDomainError:
            continue
        except Exception as error:
            # A faulty plug-in, or a task that only looks like its domain: the next plug-in may know it.
            remark = f"the drawing {name} failed: {in_words(error)}"
            continue
        if painter is not None:
            return Drawing(name, task, subject, painter, fallback, remark)
    return Drawing(title, task, subject, fallback, fallback, remark)


def _plug_ins() -> Iterator[tuple[str, PlugIn]]:
    yield from reversed(_registered.items())
    yield from _installed()
    for name in BUILT_IN:
        yield name.replace("_", "-"), _built_in(name)


def _built_in(name: str) -> PlugIn:
    return cast(PlugIn, import_module(f"misstep.reports.drawings.{name}").make)


@cache
def _installed() -> tuple[tuple[str, PlugIn], ...]:
    """The drawings of other packages. If one cannot be loaded, the pictures say so."""
    found = []
    for entry in sorted(entry_points(group=GROUP), key=lambda own: own.name):

        def plug_in(subject: Subject, entry=entry) -> Painter | None:  # type: ignore[no-untyped-def]
            return cast(PlugIn, entry.load())(subject)

        found.append((entry.name, plug_in))
    return tuple(found)


__all__ = ["BUILT_IN", "GROUP", "drawing_for", "forget", "register"]
