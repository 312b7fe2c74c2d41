"""Stored results as flat observations: what tables, figures and claims are made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from misstep.errors import InputFormatError
from misstep.experiments.definition import Definition, Unit
from misstep.experiments.expressions import Value
from misstep.experiments.kinds import join, kind
from misstep.experiments.sources import named
from misstep.experiments.store import DONE, ResultStore, Stored

_SCALARS = (str, int, float, type(None))  # a Boolean is an integer


@dataclass(frozen=True)
class Gathered:
    """All stored data of an experiment."""

    definition: Definition
    scale: str
    seeds: int
    units: tuple[Unit, ...]
    results: Mapping[str, Stored]
    observations: Mapping[str, list[dict[str, Value]]]  # by step
    names: Mapping[str, str] = field(default_factory=dict)  # of folders on the machine that ran it

    @property
    def done(self) -> int:
        return sum(own.outcome == DONE for own in self.results.values())

    def missing(self) -> Iterator[tuple[str, str, str]]:
        """Step, row and reason, for each row that lacks something; each reason once."""
        seen = set()
        for unit in self.units:
            own = self.results.get(unit.key)
            if own is not None and own.outcome == DONE:
                continue
            reason = "not done yet" if own is None else str(own.result.get("message"))
            found = (unit.step, unit.row, named(reason, self.names))
            if found not in seen:
                seen.add(found)
                yield found


def gather(store: ResultStore) -> Gathered:
    definition = store.definition()
    units, results, names = store.units(), store.results(), store.names()
    return Gathered(
        definition,
        store.scale,
        store.seeds,
        tuple(units),
        results,
        _observations(definition, units, results, names),
        names,
    )


def _observations(
    definition: Definition,
    units: Sequence[Unit],
    results: Mapping[str, Stored],
    names: Mapping[str, str],
) -> dict[str, list[dict[str, Value]]]:
    found: dict[str, list[dict[str, Value]]] = {name: [] for name in definition.steps}
    for unit in units:
        own = results.get(unit.key)
        if own is None or own.outcome != DONE or unit.step not in found:
            continue
        common = {"row": unit.row, "seed": unit.seed, **definition.tags.get(unit.row, {})}
        try:
            for observation in kind(unit.kind).observations(unit.payload, own.result):
                if not all(isinstance(value, _SCALARS) for value in observation.values()):
                    raise TypeError("a value is not a number or a text")
                found[unit.step].append({**common, **_named(observation, names)})
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputFormatError(
                f"the result of a unit is not what its kind stores ({type(error).__name__})",
                where=unit.title,
                hint="run the experiment again into another folder",
            ) from error
    for name, step in definition.steps.items():
        try:
            join(step["kind"], found[name])
        except (LookupError, TypeError, ValueError) as error:
            raise InputFormatError(
                f"the results of a step do not fit together ({type(error).__name__})",
                where=f"step {name}",
                hint="run the experiment again into another folder",
            ) from error
    return found


def _named(observation: dict[str, Value], names: Mapping[str, str]) -> dict[str, Value]:
    """An observation without the names of folders on the machine where it was made, such as a policy's folder."""
    if not names:
        return observation
    return {
        key: named(own, names) if isinstance(own, str) else own for key, own in observation.items()
    }


def grouped(
    observations: Sequence[dict[str, Value]], columns: Sequence[str]
) -> dict[tuple[Value, ...], list[dict[str, Value]]]:
    """The observations by their values in these columns, in the order in which they come."""
    groups: dict[tuple[Value, ...], list[dict[str, Value]]] = {}
    for own in observations:
        groups.setdefault(tuple(own.get(name) for name in columns), []).append(own)
    return groups


__all__ = ["Gathered", "gather", "grouped"]
