"""`wl:[--choose=greedy|hill:N] [--statics=auto|all|none] FILE`: rankers in wlplan's format, as policies.

Rankers and heuristics give every state a number; lower is nearer to the goal. The core computes them (core/wl).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from misstep import _core
from misstep.errors import UsageError
from misstep.policies.native import NativePolicy
from misstep.policies.options import split_options
from misstep.policies.wl.layout import STATICS, Layout, layout_of, require_domain
from misstep.policies.wl.model_file import WlModel, read_model
from misstep.tasks.task import Task

MAX_HORIZON = 10_000_000
UNSEEN, ABSENT = -1, -2  # as in core/wl/ranker.h
Lists = tuple[NDArray[np.int32], NDArray[np.int32]]


@dataclass(frozen=True)
class Options:
    """What may stand before the file: `wl:--choose=hill:1000 FILE`."""

    choose: int = 0
    """0: greedy; otherwise how many states hill climbing looks at."""
    statics: str = "auto"
    """Which of the atoms that never change are in the graph: those of predicates seen in training, all, or none."""


class WlPolicy(NativePolicy):
    """Moves to the successor with the lowest value, or towards the nearest state with a lower value."""

    failure = "the ranker gives infinite or undefined numbers"

    def __init__(
        self, task: Task, model: WlModel, options: Options | None = None, where: str = "wl"
    ) -> None:
        self.model = model
        self.options = options or Options()
        require_domain(model, task.lifted, where)
        self.layout = layout_of(
            task, model.predicates, statics=self.options.statics, known=model.initial
        )
        core = _native(task, model, self.layout, self.options.choose)
        super().__init__(task, core, valued=True)
        self.name = where
        self.digest = hashlib.sha256(f"wl {model.digest} {self.options}".encode()).hexdigest()


def _native(task: Task, model: WlModel, layout: Layout, horizon: int) -> _core.NativePolicy:
    def colour(is_a: int | None) -> int:
        return ABSENT if is_a is None else model.initial.get(is_a, UNSEEN)

    facts = [fact for values in layout.facts for fact in values]
    return _core.wl_policy(
        task,
        objects=layout.objects,
        node_colours=np.array([colour(node.is_a) for node in layout.nodes], np.int32),
        node_terms=_lists(node.terms for node in layout.nodes),
        fact_goals=np.array([fact.goal for fact in facts], np.int32),
        fact_colours=np.array([colour(fact.is_a) for fact in facts], np.int32),
        fact_terms=_lists(fact.terms for fact in facts),
        layers=[[(list(key), c) for key, c in layer.items()] for layer in model.layers],
        multiset=model.multiset,
        weights=np.ascontiguousarray(model.weights, np.float64),
        horizon=horizon,
    )


def _lists(items: Iterable[tuple[int, ...]]) -> Lists:
    listed = list(items)
    offsets = np.cumsum([0, *map(len, listed)], dtype=np.int64)
    terms = [term for item in listed for term in item]
    return offsets.astype(np.int32), np.array(terms, np.int32)


def _choose(text: str) -> int:
    name, colon, number = text.partition(":")
    if text == "greedy":
        return 0
    digits = number if colon and number.isascii() and number.isdigit() else ""
    if name == "hill" and 0 < len(digits) < 10 and 0 < int(digits) <= MAX_HORIZON:
        return int(digits)
    raise ValueError(f"greedy, or hill:N with N states to look at, up to {MAX_HORIZON}")


def _statics(text: str) -> str:
    if text not in STATICS:
        raise ValueError(", ".join(STATICS))
    return text


def load(argument: str, task: Task) -> WlPolicy:
    """Loads `wl:[--choose=greedy|hill:N] [--statics=auto|all|none] FILE`."""
    parsers = {"choose": _choose, "statics": _statics}
    options, path = split_options(argument, "wl", parsers)
    if not path:
        raise UsageError("a wl policy without a file", expected="wl:FILE")
    return WlPolicy(task, read_model(Path(path)), Options(**options), path)


__all__ = ["Options", "WlPolicy", "load"]
