"""The score of P25: how good a policy is among others, judged by its test on the validation tasks.

It has three equal parts, each relative to the best policy: a, the tasks whose initial state is solved; b, the share of
processed pool states that are solved; and 1 - c, where c is the share of them that are bugs. A part whose best value is
0 counts 0. Numbers are exact fractions, so that ties are ties on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from misstep.training.testing import TaskResult


@dataclass(frozen=True)
class Parts:
    """a, b and 1 - c of one policy."""

    coverage: int
    solved: Fraction
    flawless: Fraction

    @staticmethod
    def of(results: Sequence[TaskResult]) -> Parts:
        scored = [result.as_scored for result in results]
        processed = sum(result.processed for result in scored)
        solved = sum(result.solved for result in scored)
        bugs = sum(result.bugs for result in scored)
        if processed == 0:
            return Parts(sum(r.initial_solved for r in scored), Fraction(0), Fraction(0))
        return Parts(
            sum(result.initial_solved for result in scored),
            Fraction(solved, processed),
            1 - Fraction(bugs, processed),
        )


def scores(parts: Sequence[Parts]) -> list[Fraction]:
    """The score of each policy among these. A further policy may change all scores."""
    if not parts:
        return []
    best = (
        Fraction(max(p.coverage for p in parts)),
        max(p.solved for p in parts),
        max(p.flawless for p in parts),
    )
    return [
        sum(
            (
                part / most if most else Fraction(0)
                for part, most in zip(
                    (Fraction(p.coverage), p.solved, p.flawless), best, strict=True
                )
            ),
            Fraction(0),
        )
        / 3
        for p in parts
    ]


def ranking(parts: Sequence[Parts], expansions: Sequence[int]) -> list[int]:
    """The policies from best to worst. Ties are broken by more tasks, more solved states, fewer bugs, fewer
    successors in the tree, and the later model."""
    values = scores(parts)
    return sorted(
        range(len(parts)),
        key=lambda i: (
            values[i],
            parts[i].coverage,
            parts[i].solved,
            parts[i].flawless,
            -expansions[i],
            i,
        ),
        reverse=True,
    )


__all__ = ["Parts", "ranking", "scores"]
