"""Stored strategies as lists of states with labels, to be changed and written back."""

from __future__ import annotations

import sqlite3
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misstep.checking.errors import CheckError
from misstep.checking.jani import SafetyTask
from misstep.checking.shared import read_shared
from misstep.checking.stored import Store, source_of
from misstep.safety.shared import Packed, packed

Pairs = list[tuple[tuple[Any, ...], int]]
KINDS = {"bool": np.bool_, "int": np.int64, "real": np.float64}


def model_of(connection: sqlite3.Connection, id: int = 1) -> SafetyTask:
    return SafetyTask.from_source(
        source_of(next(t for t in Store(connection).tasks() if t.id == id))
    )


def pairs_of(connection: sqlite3.Connection, number: int) -> Pairs:
    content, states = connection.execute(
        "SELECT content, states FROM strategies WHERE number = ?", (number,)
    ).fetchone()
    own = read_shared(content, states)
    return list(zip(own.states, own.labels, strict=True))


def packed_pairs(task: SafetyTask, pairs: Pairs) -> Packed:
    """Packed, with where the states lead, as far as the model says: a forger can compute that as well."""
    numbers = {state: place for place, (state, _) in enumerate(pairs)}
    led = []
    for state, label in pairs:
        try:
            outcomes = task.model.outcomes_of(state, label)
        except (CheckError, IndexError):
            outcomes = []
        led.append(sorted({numbers[own] for own in outcomes if own in numbers}))
    columns: list[NDArray[Any]] = [
        np.array([state[i] for state, _ in pairs], KINDS[slot.type.base])
        for i, slot in enumerate(task.model.slots)
    ]
    return packed(
        columns,
        np.array([label for _, label in pairs], np.int64),
        np.array([len(own) for own in led], np.int64),
        np.array([target for own in led for target in own], np.int64),
    )


def write_pairs(connection: sqlite3.Connection, number: int, pairs: Pairs) -> None:
    """In the place of a strategy."""
    own = packed_pairs(model_of(connection), pairs)
    connection.execute(
        "UPDATE strategies SET states = ?, content = ? WHERE number = ?", (*own, number)
    )


__all__ = ["Pairs", "model_of", "packed_pairs", "pairs_of", "write_pairs"]
