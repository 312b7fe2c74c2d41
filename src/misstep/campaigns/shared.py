"""Strategies that many records share, and the part that each record shows.

A campaign may have thousands of bugs with overlapping strategies, so only a few large strategies are stored. A record
shows the part that is reachable from its state; it is computed on demand. The stored content is read with the records,
so that this works after the campaign is closed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from misstep.campaigns.records import Witness
from misstep.campaigns.rows import Values
from misstep.campaigns.strategies import packed_strategy
from misstep.campaigns.tables import Findings
from misstep.errors import InputFormatError, MisstepError
from misstep.tasks.jani.task import JaniTask

if TYPE_CHECKING:
    from misstep.checking.shared import SharedStrategy

KEPT = 4  # strategies that are unpacked at one time
Part = tuple[tuple[Values, int, str], ...]


class SharedStrategies:
    """Of one task."""

    def __init__(self, task: JaniTask, findings: Findings) -> None:
        self.labels = task.labels
        self.width = len(task.variable_names)
        self.where = findings.store.path
        self._findings = findings
        self._packed: dict[int, tuple[int, bytes]] = {}
        self._unpacked: dict[int, SharedStrategy] = {}
        self._last: tuple[int, Values, Part] | None = None  # strategy and size are asked together

    def witness(self, number: int, state: Values) -> Witness:
        if number not in self._packed:
            self._packed[number] = packed_strategy(self._findings, number)
        return SharedWitness(self, number, state)

    def strategy(self, number: int) -> SharedStrategy:
        """A strategy by its number. The last few are cached, because records that share one are read together."""
        from misstep.checking.shared import read_shared

        if number not in self._unpacked:
            states, content = self._packed[number]
            try:
                own = read_shared(content, states)
            except MisstepError as error:
                raise self._damaged(number, str(error)) from error
            if len(own.columns) != self.width or max(own.labels) >= len(self.labels):
                raise self._damaged(number, "it belongs to another model")
            while len(self._unpacked) >= KEPT:
                del self._unpacked[next(iter(self._unpacked))]
            self._unpacked[number] = own
        return self._unpacked[number]

    def part(self, number: int, state: Values) -> Part:
        """The part of a strategy that is reachable from a state."""
        if self._last is None or self._last[:2] != (number, state):
            shared = self.strategy(number)
            try:
                found = shared.reachable(state)
            except MisstepError as error:
                raise self._damaged(number, str(error)) from error
            if not found:
                raise self._damaged(number, "it does not have a state that rests on it")
            labels = shared.labels
            part = tuple((shared.states[i], labels[i], self.labels[labels[i]]) for i in found)
            self._last = (number, state, part)
        return self._last[2]

    def _damaged(self, number: int, why: str) -> InputFormatError:
        return InputFormatError(f"a damaged row: strategy {number}: {why}", where=self.where)


class SharedWitness(Witness):
    """A witness that computes its strategy on demand."""

    def __init__(self, shared: SharedStrategies, number: int, state: Values) -> None:
        for name in ("operators", "names", "cost", "steps", "bound"):
            object.__setattr__(self, name, None)
        object.__setattr__(self, "type", "strategy")
        object.__setattr__(self, "_origin", (shared, number, state))

    @property
    def strategy(self) -> Part:
        shared, number, state = self.__dict__["_origin"]
        found: Part = shared.part(number, state)
        return found

    @property
    def size(self) -> int:
        return len(self.strategy)

    def __reduce__(self) -> tuple[type[Witness], tuple[Any, ...]]:
        """Pickle as a plain witness, independent of the campaign."""
        return Witness, (self.type, None, None, None, None, None, self.strategy, self.size)


__all__ = ["SharedStrategies", "SharedWitness"]
