"""The kinds of oracles, by the names they have in specs.

Built-in kinds are listed here with the module that holds them. A package adds one with an entry point in the group
`misstep.oracles`, whose value is a subclass of `Source`; a program adds one with `register`. The parameters of a kind
are those of its constructor: what may be given without a name comes before the `*`.
"""

from __future__ import annotations

import inspect
from importlib import import_module, metadata
from typing import Any, NamedTuple, get_args, get_type_hints

from misstep.errors import ToolError, UsageError
from misstep.oracles.oracle import Source
from misstep.raised import in_words

GROUP = "misstep.oracles"


class Kind(NamedTuple):
    """A kind of oracle: how its spec looks, what it is, and where its class is."""

    spec: str
    summary: str
    where: str


BUILTIN: dict[str, Kind] = {
    "aras": Kind("aras(GENERATED)", "a cheaper plan near the policy's", "neighbourhood:Aras"),
    "astar": Kind("astar", "the cheapest plan, or a proof of optimality", "searches:AStar"),
    "bmo": Kind(
        "bmo(EXPANSIONS)",
        "bounds kept up to date by dominance, with lookahead",
        "metamorphic.oracles:BoundMaintenance",
    ),
    "census": Kind("census(STATES)", "exact, if the whole task is small", "neighbourhood:Census"),
    "ehc": Kind("ehc", "enforced hill-climbing", "searches:EnforcedHillClimbing"),
    "elimination": Kind(
        "elimination", "the run without superfluous operators", "neighbourhood:Elimination"
    ),
    "exact": Kind("exact(STATES)", "exact, if few states are reachable", "neighbourhood:Exact"),
    "gbfs": Kind("gbfs(EXPANSIONS)", "greedy best-first search", "searches:GreedyBestFirst"),
    "lmcut": Kind("lmcut", "proofs of optimality, no bugs", "searches:LMCut"),
    "lookahead": Kind(
        "lookahead(DEPTH)", "the policy after a few operators", "neighbourhood:Lookahead"
    ),
    "perfect": Kind(
        "perfect",
        "whether there is a plan at all; knows floortile, matching-blocksworld, spanner",
        "solvability.oracle:Perfect",
    ),
    "smo": Kind(
        "smo(SIZE)",
        "the policy's runs from morphed states, compared by dominance",
        "metamorphic.oracles:StateMorphing",
    ),
    "undo": Kind("undo(EXPANSIONS)", "back along the walk, then the policy", "undoing:Undo"),
}
_REGISTERED: dict[str, type[Source]] = {}


class Parameter(NamedTuple):
    name: str
    type: type  # int, float, bool or str
    default: Any
    has_place: bool  # may be given without its name
    optional: bool  # may be none


def register(kind: type[Source]) -> type[Source]:
    """Make a class of oracles known under its `name`; also usable as a decorator."""
    if kind.name in BUILTIN or _REGISTERED.get(kind.name, kind) is not kind:
        raise UsageError(f"there is an oracle {kind.name!r} already")
    _REGISTERED[kind.name] = kind
    return kind


def is_registered(name: str) -> bool:
    """Whether this program itself has added a kind of that name."""
    return name in _REGISTERED


def has_registered() -> bool:
    """Whether the user's program has registered an oracle, which another process only knows if it runs that program."""
    return bool(_REGISTERED)


def known_oracles() -> list[str]:
    others = [point.name for point in metadata.entry_points(group=GROUP)]
    return sorted({*BUILTIN, *_REGISTERED, *others})


def oracle_kind(name: str) -> type[Source] | None:
    """The class of that name; None if there is none."""
    if name in BUILTIN:
        module, _, attribute = BUILTIN[name].where.partition(":")
        kind: type[Source] = getattr(import_module(f"misstep.oracles.{module}"), attribute)
        return kind
    if name in _REGISTERED:
        return _REGISTERED[name]
    for point in metadata.entry_points(group=GROUP, name=name):
        try:
            kind = point.load()
        except Exception as error:
            raise ToolError(
                f"the oracle {name!r} cannot be loaded: {in_words(error)}",
                where=point.value,
            ) from error
        return kind
    return None


def parameters(kind: type[Source]) -> list[Parameter]:
    hints = get_type_hints(kind.__init__)
    result = []
    for name, parameter in inspect.signature(kind).parameters.items():
        hint = hints[name]
        choices = get_args(hint)
        plain = [choice for choice in choices if choice is not type(None)]
        result.append(
            Parameter(
                name,
                plain[0] if plain else hint,
                parameter.default,
                parameter.kind is not inspect.Parameter.KEYWORD_ONLY,
                len(plain) < len(choices),
            )
        )
    return result


__all__ = [
    "BUILTIN",
    "GROUP",
    "Kind",
    "Parameter",
    "has_registered",
    "is_registered",
    "known_oracles",
    "oracle_kind",
    "parameters",
    "register",
]
