"""The kinds of policies in specs: the built-in ones, and those that other packages add.

A package adds a kind by an entry point in the group `misstep.policies`. Its name is the kind, and its value is a
function `load(argument, task)`, which gets the text after the colon. It returns a `Policy` for a planning task, or
anything that `load_policy` takes for a model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from importlib import import_module, metadata
from typing import Any, NamedTuple

from misstep.errors import ToolError, UsageError
from misstep.raised import in_words

GROUP = "misstep.policies"
MOST_INSIDE = 50  # policies in a spec, each inside of the one before


class Kind(NamedTuple):
    """A kind of policy: how its spec looks, what it is, and where its loader is."""

    spec: str
    summary: str
    loader: str  # MODULE:FUNCTION, imported when it is needed

    def load(self) -> Callable[..., Any]:
        module, _, function = self.loader.partition(":")
        loader: Callable[..., Any] = getattr(import_module(f"misstep.{module}"), function)
        return loader


def third_party() -> dict[str, metadata.EntryPoint]:
    """Kinds added by other packages."""
    return {point.name: point for point in metadata.entry_points(group=GROUP)}


def third_party_loader(kind: str) -> Callable[[str, Any], Any] | None:
    """None if no package adds the kind."""
    others = third_party()
    if kind not in others:
        return None
    try:
        loader: Callable[[str, Any], Any] = others[kind].load()
    except Exception as error:
        raise ToolError(
            f"the policy kind {kind!r} cannot be loaded: {in_words(error)}",
            where=str(others[kind].value),
        ) from error
    return loader


def unknown_kind(kind: str, spec: str, known: Iterable[str], more: str = "") -> UsageError:
    names = [*known, *third_party()]
    close = get_close_matches(kind, names, 1)
    return UsageError(
        f"there is no policy kind {kind!r}",
        where=f"--policy {spec}",
        expected=", ".join(names) + more,
        hint=f"did you mean {close[0]}?" if close else "see misstep list",
    )


def check_inside(spec: str) -> None:
    """Refuse a spec with more policies inside each other than anybody means."""
    if spec.count("+") > MOST_INSIDE:
        raise UsageError(
            f"more than {MOST_INSIDE} policies inside each other", where=f"policy {spec[:60]}"
        )


__all__ = [
    "GROUP",
    "MOST_INSIDE",
    "Kind",
    "check_inside",
    "third_party",
    "third_party_loader",
    "unknown_kind",
]
