"""Check that a set of states with one label each is safe, as `misstep.checking.closed` does, for all states at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from misstep.checking.arrays.columns import Column, Function, NotForArraysError, spread
from misstep.checking.arrays.moves import Block, Moves
from misstep.checking.arrays.sets import StateSet
from misstep.checking.arrays.terms import condition
from misstep.checking.closed import end_problem
from misstep.checking.errors import CheckError
from misstep.checking.jani import SafetyTask, State
from misstep.checking.jani.nodes import Node, items, optional

SAMPLE = 8  # states that the slow checker looks at as well
SILENT = ("refuse", "as_action")
Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Checked:
    """The error, if there is one, and where the states lead."""

    problem: str | None
    degrees: Numbers | None = None
    targets: Numbers | None = None  # in ascending order for each state, none twice


class ArrayChecker:
    def __init__(self, task: SafetyTask, silent: str = "refuse") -> None:
        if silent not in SILENT:
            raise NotForArraysError(f"silent steps are handled in another way here: {silent}")
        self.task = task
        self.moves = Moves(task.model)
        self._unsafe = self._condition(task.property.get("reach"))
        goal = optional(optional(task.property, "objective"), "goal")
        self._goal = self._condition(False if goal is None else goal)

    def _condition(self, node: Node) -> Function:
        """A `state-condition`, or an expression alone. Locations are left to the slow checker."""
        if optional(node, "op") != "state-condition":
            return condition(node, self.moves.scope(None))
        if items(node, "locations"):
            raise NotForArraysError("a condition on locations is left to the slow checker")
        inner = optional(node, "exp")
        return self._condition(True if inner is None else inner)

    def check(self, columns: Sequence[Column], labels: Numbers) -> Checked:
        """The columns hold the values of the states, one for each variable."""
        with np.errstate(all="ignore"):
            try:
                return self._checked(self._typed(columns, len(labels)), labels)
            except CheckError as error:
                return Checked(str(error))

    # Parts

    def _typed(self, columns: Sequence[Column], count: int) -> list[Column]:
        """The columns in the types of the model; an error if a variable cannot have a value."""
        slots = self.task.model.slots
        if len(columns) != len(slots) or any(len(column) != count for column in columns):
            raise CheckError(f"its states have {len(columns)} values, not {len(slots)}")
        found: list[Column] = []
        for slot, given in zip(slots, columns, strict=True):
            column = given
            if slot.type.base == "real":
                column = column.astype(np.float64) + 0.0
                if not np.isfinite(column).all():
                    raise CheckError(f"{slot.name} is infinite or undefined")
            elif slot.type.base == "bool":
                if not np.isin(column, (0, 1)).all():
                    raise CheckError(f"{slot.name} is neither true nor false")
                column = column.astype(bool)
            else:
                column = column.astype(np.int64)
            for bound, sign in ((slot.type.low, 1), (slot.type.high, -1)):
                if bound is not None and count and (sign * (column - bound) < 0).any():
                    raise CheckError(f"{slot.name} is outside its bounds")
            found.append(np.ascontiguousarray(column))
        return found

    def _checked(self, columns: list[Column], labels: Numbers) -> Checked:
        if len(labels) == 0:
            return Checked("it has no state")
        known = StateSet(columns)
        if (problem := self._open_problem(columns)) is not None:
            return Checked(problem)
        if int(labels.min()) < 0 or int(labels.max()) >= len(self.task.labels):
            return Checked("a label does not exist")
        sources: list[Numbers] = []  # states, and below where they lead
        after: list[list[Column]] = []
        for label in np.unique(labels).tolist():
            rows = np.flatnonzero(labels == label)
            led = np.zeros(len(rows), bool)
            for block in self._blocks([column[rows] for column in columns], label):
                led[block.rows] = True
                sources.append(rows[block.rows])
                after.append(block.after)
            if not led.all():
                state = int(rows[np.flatnonzero(~led)[0]])
                return Checked(f"state {state}: {self.task.labels[label]} does not apply")
        led_to = [np.concatenate(own) for own in zip(*after, strict=True)]
        places = known.places(led_to)
        inside = places >= 0
        ends = [] if inside.all() else [column[~inside] for column in led_to]
        if (problem := self._ends_problem(ends)) is not None:
            return Checked(problem)
        sources_inside = np.concatenate(sources)[inside].astype(np.int64)
        degrees, targets = _sorted_pairs(sources_inside, places[inside], len(labels))
        return Checked(self._sample_problem(columns, labels, degrees, targets), degrees, targets)

    def _blocks(self, columns: list[Column], label: int) -> Iterator[Block]:
        """All steps of a label; the slow checker computes those of doubtful states."""
        blocks, doubt = self.moves.steps(columns, label)
        if not doubt.any():
            yield from blocks
            return
        for block in blocks:
            sure = ~doubt[block.rows]
            if sure.any():
                yield Block(block.rows[sure], [column[sure] for column in block.after])
        for row in np.flatnonzero(doubt).tolist():
            outcomes = self.task.model.outcomes_of(_state(columns, row), label)
            if outcomes:
                after = [
                    np.array(values, column.dtype)
                    for values, column in zip(zip(*outcomes, strict=True), columns, strict=True)
                ]
                yield Block(np.full(len(outcomes), row), after)

    def _open_problem(self, columns: list[Column]) -> str | None:
        """The first state that is unsafe, or an end of runs."""
        for function, slow, what in (
            (self._unsafe, self.task.is_unsafe, "it is unsafe"),
            (self._goal, self.task.is_goal, "it is a goal, where nothing is to be done"),
        ):
            rows = np.flatnonzero(_truth(function, slow, columns))
            if len(rows):
                return f"state {rows[0]}: {what}"
        return None

    def _ends_problem(self, columns: list[Column]) -> str | None:
        """Checks that outcomes outside the strategy are goals or dead ends, and not unsafe."""
        if not columns:
            return None
        columns = _distinct(columns)
        if _truth(self._unsafe, self.task.is_unsafe, columns).any():
            return "a label leads to an unsafe state"
        stuck = ~_truth(self._goal, self.task.is_goal, columns)
        columns = [column[stuck] for column in columns]
        open_rows = np.zeros(len(columns[0]), bool)
        doubtful = np.full(len(columns[0]), self.task.model.disables)
        for label in range(len(self.task.labels)):
            applies, doubt = self.moves.applies(columns, label)
            open_rows |= applies & ~doubt
            doubtful |= doubt
        if (open_rows & ~doubtful).any():
            return "a label leads to a state that has no label in the strategy"
        for row in np.flatnonzero(doubtful).tolist():
            if (problem := end_problem(self.task, _state(columns, row))) is not None:
                return f"a label leads to a state that {problem}"
        return None

    def _sample_problem(
        self, columns: list[Column], labels: Numbers, degrees: Numbers, targets: Numbers
    ) -> str | None:
        """Whether the slow checker has other outcomes for some of the states."""
        offsets = np.concatenate(([0], np.cumsum(degrees)))
        for row in np.unique(np.linspace(0, len(labels) - 1, SAMPLE).astype(int)).tolist():
            outcomes = set(self.task.model.outcomes_of(_state(columns, row), int(labels[row])))
            led = {
                _state(columns, own) for own in targets[offsets[row] : offsets[row + 1]].tolist()
            }
            if not led <= outcomes:
                return f"state {row}: two checkers differ in where it leads"
            for outcome in outcomes - led:
                if (problem := end_problem(self.task, outcome)) is not None:
                    return f"state {row}: its label leads to a state that {problem}"
        return None


def _truth(function: Function, slow: Callable[[State], bool], columns: list[Column]) -> Column:
    """Where a condition holds; in doubtful states the slow checker decides."""
    value, doubt = function(columns)
    found = np.array(spread(value, len(columns[0])))
    if doubt is not False:
        for row in np.flatnonzero(spread(doubt, len(found))).tolist():
            found[row] = slow(_state(columns, row))
    return found


def _state(columns: Sequence[Column], row: int) -> State:
    return tuple(column[row].item() for column in columns)


def _distinct(columns: list[Column]) -> list[Column]:
    """The same states with most duplicates removed; not all of them need be found."""
    order = np.lexsort(columns[::-1]) if len(columns[0]) > 1 else np.zeros(1, int)
    own = [column[order] for column in columns]
    differs = np.zeros(len(order), bool)
    differs[0] = True
    for column in own:
        differs[1:] |= column[1:] != column[:-1]
    return [column[differs] for column in own]


def _sorted_pairs(first: Numbers, second: Numbers, count: int) -> tuple[Numbers, Numbers]:
    """How many states each state leads to, and which."""
    both = np.sort(first * count + second)
    both = both[np.concatenate(([True], both[1:] != both[:-1]))] if len(both) else both
    return np.bincount(both // count, minlength=count), both % count


__all__ = ["ArrayChecker", "Checked"]
