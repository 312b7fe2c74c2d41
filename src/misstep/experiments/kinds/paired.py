"""Compares arms pair by pair: a pair is a row and a seed, for which both began with the same network.

Tasks of one training are not independent pairs, since they all show what one network has learnt. The test is the one by
which `misstep select` compares policies: random signs of the differences, with Holm's correction over all arms that are
compared with the same one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from misstep.comparison.statistics import holm, interval, resamples, sign_flip_p
from misstep.experiments.expressions import Observation, Value
from misstep.experiments.observations import grouped

SEED = 16  # of resamples and sign patterns
Pair = tuple[Value, Value]


def _share(part: str, whole: str) -> Callable[[Sequence[Observation]], float | None]:
    def value(found: Sequence[Observation]) -> float | None:
        total = _sum(found, whole)
        return 100 * _sum(found, part) / total if total else None

    return value


def _sum(found: Sequence[Observation], name: str) -> float:
    return sum(float(own[name] or 0) for own in found)


def _coverage(found: Sequence[Observation]) -> float | None:
    return 100 * _sum(found, "solved") / len(found) if found else None


Measure = Callable[[Sequence[Observation]], float | None]
# In percent; for the first two more is better, for the others less.
_SHARES: dict[str, Measure] = {
    "tasks solved": _coverage,
    "states solved": _share("solved_states", "states"),
    "bugs": _share("bugs", "states"),
    "cost of plans": _share("cost", "best"),
}


def _at_last(measure: Measure) -> Measure:
    return lambda found: measure([own for own in found if own["last"]])


# Over all rounds, which shows the speed of learning, and after the last round.
MEASURES: dict[str, Measure] = {
    **_SHARES,
    **{f"{name}, last": _at_last(own) for name, own in _SHARES.items()},
}


def compare_arms(
    observations: Sequence[dict[str, Value]],
    references: Sequence[str],
    left_out: Sequence[str] = (),
) -> list[dict[str, Value]]:
    """An observation for each measure, arm and reference: the mean difference, its interval, and p-values."""
    found: list[dict[str, Value]] = []
    for name, measure in MEASURES.items():
        values: dict[Value, dict[Pair, float]] = {}
        for (arm, row, seed), group in grouped(observations, ("arm", "row", "seed")).items():
            value = measure(group)
            if value is not None and arm not in left_out:
                values.setdefault(arm, {})[row, seed] = value
        for reference in references:
            if reference in values:
                found += _against(name, reference, values)
    return found


def _against(
    measure: str, reference: str, values: dict[Value, dict[Pair, float]]
) -> list[dict[str, Value]]:
    rows = []
    for arm, own in values.items():
        pairs = [pair for pair in own if pair in values[reference]]
        if arm == reference or not pairs:
            continue
        differences = [own[pair] - values[reference][pair] for pair in pairs]
        rows.append((arm, differences, sign_flip_p(differences, SEED)))
    corrected = holm([p for *_, p in rows])
    found: list[dict[str, Value]] = []
    for (arm, differences, p), q in zip(rows, corrected, strict=True):
        mean = sum(differences) / len(differences)
        draws = _draws(len(differences))
        spread = interval(mean, [sum(differences[k] for k in draw) / len(draw) for draw in draws])
        found.append(
            {
                "compared": True,
                "measure": measure,
                "arm": arm,
                "against": reference,
                "pairs": len(differences),
                "difference": mean,
                "low": spread.low,
                "high": spread.high,
                "p": p,
                "corrected": q,
            }
        )
    return found


@lru_cache(4)
def _draws(count: int) -> list[list[int]]:
    return resamples(count, SEED)


__all__ = ["MEASURES", "compare_arms"]
