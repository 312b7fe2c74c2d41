"""Strategies that many records share, and the part that each record shows.

A campaign may have thousands of bugs with overlapping strategies, so only a few large strategies are stored. A record
shows the part that is reachable from its state; it is computed on demand. The stored content is read with the records,
so that this works after the campaign is closed.
"""

from __future__ import annotations

from collections.abc import Callable
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
        self._texts: dict[int, dict[int, str]] = {}  # of states of the unpacked ones, as JSON
        self._last: tuple[int, Values, list[int]] | None = None  # strategy and size: asked together
        self._part: Part | None = None  # of the last one

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
                oldest = next(iter(self._unpacked))
                del self._unpacked[oldest]
                self._texts.pop(oldest, None)
            self._unpacked[number] = own
        return self._unpacked[number]

    def part(self, number: int, state: Values) -> Part:
        """The part of a strategy that is reachable from a state."""
        found = self.reachable(number, state)
        if self._part is None:
            shared = self.strategy(number)
            states, labels = shared.states, shared.labels
            self._part = tuple((states[i], labels[i], self.labels[labels[i]]) for i in found)
        return self._part

    def reachable(self, number: int, state: Values) -> list[int]:
        """The states of that part, by their numbers in the strategy."""
        if self._last is None or self._last[:2] != (number, state):
            try:
                found = self.strategy(number).reachable(state)
            except MisstepError as error:
                raise self._damaged(number, str(error)) from error
            if not found:
                raise self._damaged(number, "it does not have a state that rests on it")
            self._last, self._part = (number, state, found), None
        return self._last[2]

    def part_as_json(self, number: int, state: Values, encode: Callable[[object], str]) -> str:
        """The part as JSON. Each state of a strategy is written once, however many records show it."""
        found = self.reachable(number, state)
        shared = self.strategy(number)
        texts = self._texts.setdefault(number, {})
        for i in found:
            if i not in texts:
                label = shared.labels[i]
                texts[i] = encode((shared.states[i], label, self.labels[label]))
        return f"[{', '.join(map(texts.__getitem__, found))}]"

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
        shared, number, state = self.__dict__["_origin"]
        return len(shared.reachable(number, state))

    def strategy_as_json(self, encode: Callable[[object], str]) -> str:
        shared, number, state = self.__dict__["_origin"]
        text: str = shared.part_as_json(number, state, encode)
        return text

    def __reduce__(self) -> tuple[type[Witness], tuple[Any, ...]]:
        """Pickle as a plain witness, independent of the campaign."""
        return Witness, (self.type, None, None, None, None, None, self.strategy, self.size)


__all__ = ["SharedStrategies", "SharedWitness"]
