"""Plan a run: what it would do, and how long that would take.

Costs are seconds for one piece of work of a step on a row. They were measured before and are kept in the definition
(`[costs]`), or come from results in the folder. For a scale that was never measured, the costs of the closest smaller
scale are used, and the plan says "at least"; or else those of a larger scale, and it says "roughly". Limits on single
questions give the worst case.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from misstep.experiments.definition import Definition, Unit
from misstep.experiments.kinds import Json, kind
from misstep.experiments.observations import gather
from misstep.experiments.report import measured_costs
from misstep.experiments.schema import SCALES
from misstep.experiments.sources import NOWHERE, Sources
from misstep.experiments.store import DONE, NAME, open_results

ABOUT, AT_LEAST, ROUGHLY = "about", "at least", "roughly"


@dataclass(frozen=True)
class StepPlan:
    step: str
    units: int
    done: int  # already in the folder
    work: float  # pieces of work that are left
    seconds: float | None  # expected, on one core; None: nothing is known
    longest: float | None  # by the limits of the step, on one core; None: no limit


@dataclass(frozen=True)
class RunPlan:
    experiment: str
    scale: str
    seeds: int
    jobs: int
    steps: tuple[StepPlan, ...]
    costs_from: str
    bound: str  # ABOUT if it was measured at this scale, else AT_LEAST or ROUGHLY

    @property
    def seconds(self) -> float | None:
        """Expected, with so many processes."""
        known = [own.seconds for own in self.steps]
        return None if None in known else sum(own or 0.0 for own in known) / self.jobs

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "seconds": self.seconds}


def plan(
    definition: Definition,
    scale: str,
    seeds: int | None,
    jobs: int,
    folder: Path | None = None,
    sources: Sources = NOWHERE,
) -> RunPlan:
    count = definition.seeds(scale) if seeds is None else seeds
    units = definition.units(scale, count, sources)
    done, measured = _known(folder)
    costs, costs_from, bound = _costs(definition, scale)
    steps = []
    for name in definition.steps:
        own = [unit for unit in units if unit.step == name]
        left = [unit for unit in own if unit.key not in done]
        each = {**costs.get(name, {}), **measured.get(name, {})}
        expected = _expected(left, each)
        work = sum(unit.work for unit in left)
        steps.append(StepPlan(name, len(own), len(own) - len(left), work, expected, _longest(left)))
    return RunPlan(definition.name, scale, count, jobs, tuple(steps), costs_from, bound)


def _known(folder: Path | None) -> tuple[set[str], dict[str, dict[str, float]]]:
    if folder is None or not (folder / NAME).is_file():
        return set(), {}
    with open_results(folder) as store:
        gathered = gather(store)
    done = {key for key, own in gathered.results.items() if own.outcome == DONE}
    return done, measured_costs(gathered)


def _costs(definition: Definition, scale: str) -> tuple[dict[str, Json], str, str]:
    known = definition.top["costs"]
    if scale in known:
        return known[scale], f"measured at the scale {scale}", ABOUT
    place = SCALES.index(scale)
    smaller = [own for own in SCALES[:place] if own in known]
    larger = [own for own in SCALES[place:] if own in known]
    if not smaller and not larger:
        return {}, "not measured yet", ABOUT
    own, than, bound = (
        (smaller[-1], "smaller", AT_LEAST) if smaller else (larger[0], "larger", ROUGHLY)
    )
    from_where = f"measured at the scale {own}, where sizes and budgets are {than}"
    return known[own], from_where, bound


def _expected(units: Sequence[Unit], each: Json) -> float | None:
    """A row that was never measured is assumed to cost as much as the most expensive one."""
    if not units:
        return 0.0
    numbers = [float(own) for own in each.values() if isinstance(own, (int, float))]
    if not numbers:
        return None
    return sum(unit.work * float(each.get(unit.row, max(numbers))) for unit in units)


def longest_first(definition: Definition, scale: str, units: Sequence[Unit]) -> list[Unit]:
    """Sorted so that several workers finish soonest; rows that were never measured come first."""
    costs, _, _ = _costs(definition, scale)

    def expected(unit: Unit) -> float:
        seconds = _expected([unit], costs.get(unit.step, {}))
        return math.inf if seconds is None else seconds

    return sorted(units, key=expected, reverse=True)


def _longest(units: Sequence[Unit]) -> float | None:
    limits = [kind(unit.kind).longest(unit.payload) for unit in units]
    return None if None in limits else sum(own or 0.0 for own in limits)


__all__ = ["ABOUT", "AT_LEAST", "ROUGHLY", "RunPlan", "StepPlan", "longest_first", "plan"]
