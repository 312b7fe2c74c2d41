"""Recognise successors without a plan, which walks avoid (line 8 of the fuzzers).

    none    none
    hmax    those without a plan even if nothing is ever deleted: the papers' filter
    search  also those from which a small greedy search runs out of states
    exact   all of them, on tasks that can be enumerated

A search that hits its budget proves nothing, so the state counts as alive. The stronger the filter, the fewer states
are tested for nothing: a state without a plan is never a bug.
"""

from __future__ import annotations

from misstep import _core
from misstep.fuzzing.parts import Parts
from misstep.fuzzing.settings import Settings


def make_walks(graph: _core.PolicyGraph, settings: Settings, parts: Parts) -> _core.Walks:
    """Walks that avoid dead ends. P24 also skips goals and states without applicable operators; P22 does not."""
    refined = settings.algorithm == "2024"
    return _core.Walks(
        graph,
        parts.dead_ends,
        expansions=settings.dead_end_expansions,
        space=parts.space,
        skip_goals=refined,
        skip_stuck=refined,
    )


__all__ = ["make_walks"]
