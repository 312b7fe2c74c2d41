"""The details of a row of the table: run, witness, faults, verdicts of each oracle, as plain data with ids.

Rows of one task are put into blocks; each block is one piece of the page. States of planning tasks are separate
matrices of small numbers; states of models are part of the data, because they may have values of any kind.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from misstep.campaigns.records import Decision, Fault, Record
from misstep.reports.html.chunks import Chunks
from misstep.reports.html.tasks import TaskBook
from misstep.tasks.jani.task import JaniTask

BLOCK = 2000  # rows of a block
CELLS = 2_000_000  # values of states in a block: less rows where states are large
MOST_STATES = 400  # of a strategy that is shown
MOST_STEPS = 20_000  # steps of runs of models whose possible outcomes are computed


class Details:
    """Writes the blocks of one campaign."""

    def __init__(self, chunks: Chunks, prefix: str) -> None:
        self.chunks = chunks
        self.prefix = prefix
        self.blocks: list[dict[str, Any]] = []
        self._rows: list[dict[str, Any]] = []
        self._states: list[tuple[Any, ...]] = []
        self._task = -1
        self._row = 0
        self._outcomes_left = MOST_STEPS
        # Of models: where in this block each of the fuzzer's runs is written down, and from which step on.
        self._runs: dict[int, tuple[int, int]] = {}

    def add(self, record: Record, task: int, book: TaskBook, verdicts: dict[Any, str]) -> None:
        """Add the next row. `verdicts` are the verdicts on states of a model, to show where safety ends."""
        width = max(1, len(record.state))
        if task != self._task or len(self._rows) >= max(1, min(BLOCK, CELLS // width)):
            self.flush()
            self._task = task
        is_model = book.is_model
        self._rows.append(
            self._model(record, book, verdicts) if is_model else self._planning(record, book)
        )
        self._states.append(record.state)
        self._row += 1

    def flush(self) -> None:
        if not self._rows:
            return
        number = len(self.blocks)
        states: str | None = None
        if all(type(v) is int for v in self._states[0]):
            states = self._add_states(f"late.{self.prefix}.states{number}")
        if states is None:
            for row, own in zip(self._rows, self._states, strict=True):
                row["state"] = list(own)
        self.chunks.add_json(f"late.{self.prefix}.rows{number}", self._rows)
        self.blocks.append(
            {
                "first": self._row - len(self._rows),
                "count": len(self._rows),
                "task": self._task,
                "states": states,
                "width": len(self._states[0]),
            }
        )
        self._rows, self._states = [], []
        self._runs = {}

    def _add_states(self, name: str) -> str | None:
        """The states variable by variable, which compresses best; None: they are no small numbers."""
        try:
            matrix = np.array(self._states, dtype=np.int64)
        except (TypeError, ValueError, OverflowError):
            return None
        if matrix.ndim != 2 or matrix.size == 0 or matrix.min() < 0 or matrix.max() >= 2**32:
            return None
        largest = matrix.max()
        code = "u1" if largest < 2**8 else "u2" if largest < 2**16 else "u4"
        return self.chunks.add_array(name, np.ascontiguousarray(matrix.T).astype(code))

    # -- rows -------------------------------------------------------------------------------------

    def _planning(self, record: Record, book: TaskBook) -> dict[str, Any]:
        witness, walk = record.witness, record.found.walk
        detail = _common(record)
        detail["run"] = list(record.run.operators)
        book.used.update(record.run.operators)
        if witness.operators is not None:
            detail["plan"] = list(witness.operators)
            detail["planCost"] = witness.cost
            book.used.update(witness.operators)
        if witness.steps is not None:
            detail["argument"] = [dict(step) for step in witness.steps]
            detail["bound"] = witness.bound
        if record.is_bug and walk is not None:
            detail["walk"] = list(walk.operators)
            book.used.update(walk.operators)
        for fault in record.faults or ():
            book.used.update(o.operator for o in (fault.decision, fault.better) if o is not None)
        if record.run.permitted is not None:
            own = record.run.permitted
            detail["permitted"] = {"closed": own.closed, "least": own.least, "most": own.most}
        if record.run.risk is not None:
            detail["risk"] = list(record.run.risk)
        return detail

    def _model(self, record: Record, book: TaskBook, verdicts: dict[Any, str]) -> dict[str, Any]:
        detail = _common(record)
        detail["found"] = [record.found.run, record.found.step]
        run, step = record.found.run or 0, record.found.step or 0
        states = record.run.states or ()
        place, first = self._runs.get(run, (-1, step))
        if place >= 0 and first <= step:
            detail["rest"] = [place, step - first]  # of a run that is written down already
        else:
            self._runs[run] = (len(self._rows), step)
            detail["run"] = list(record.run.operators)
            detail["states"] = [list(state) for state in states]
            detail["verdicts"] = [verdicts.get(state) for state in states[:-1]]
            detail["outcomes"] = self._outcomes(record, book.task)
        if record.run.risk is not None and record.run.least_risk is not None:
            detail["risk"] = list(record.run.risk)
            detail["leastRisk"] = list(record.run.least_risk)
        if record.is_bug:
            detail["size"] = record.witness.size
            detail["strategy"] = _strategy(record)
        return detail

    def _outcomes(self, record: Record, task: object) -> list[list[list[Any]]] | None:
        """The possible outcomes of each decision of the run; None if too many steps are shown already."""
        states, labels = record.run.states or (), record.run.operators
        if not isinstance(task, JaniTask) or len(labels) > self._outcomes_left:
            return None
        self._outcomes_left -= len(labels)
        return [
            [list(outcome) for outcome in task.outcomes(state, label)[:12]]
            for state, label in zip(states, labels, strict=False)
        ]


def _strategy(record: Record) -> list[list[Any]] | None:
    """The choices on the run itself, and further ones up to a number."""
    known, states = record.witness.strategy, record.run.states or ()
    if known is None:
        return None
    passed = set(states)
    ordered = sorted(known, key=lambda own: own[0] not in passed)
    return [[state, label] for state, label, _ in ordered[: MOST_STATES + len(states)]]


def _common(record: Record) -> dict[str, Any]:
    detail: dict[str, Any] = {}
    if record.run.message is not None:
        detail["message"] = record.run.message
    if record.faults is not None:
        detail["faults"] = [_fault(fault) for fault in record.faults]
    if len(record.verdicts) > 1:
        detail["opinions"] = [
            [own.oracle, own.verdict, list(own.gap or own.radius or ()), own.source, own.at]
            for own in record.verdicts
        ]
    if record.contradictions:
        detail["contradictions"] = [
            [own.step, own.first.name, own.second.name, own.asked] for own in record.contradictions
        ]
    if record.chooser is not None:
        detail["chooser"] = record.chooser
    if record.is_bug:
        detail["effort"] = [record.effort.expansions, record.effort.evaluations]
    return detail


def _fault(fault: Fault) -> dict[str, Any]:
    return {
        "step": fault.step,
        "did": _id(fault.decision),
        "better": _id(fault.better),
        "loss": list(fault.loss),
        "share": fault.share,
        "again": fault.recurring,
        "outcome": None if fault.outcome is None else list(fault.outcome),
    }


def _id(decision: Decision | None) -> int | None:
    return None if decision is None else decision.operator


__all__ = ["Details"]
